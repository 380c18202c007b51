"""Around every request: headers that a browser goes by, and how much a body may have."""

from __future__ import annotations

import re

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shoal.web.errors import API, Refused, answer, plain, too_large, unforeseen
from shoal.web.settings import Settings

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}

# The routes that write their body to a file as it comes; all others have it in memory.
_UPLOAD = re.compile(rf"(/projects/[^/]+/files|{API}/projects/[^/]+/files/[^/]+/[^/]+)")
# Nothing else may stand in the name of a host: an address is put together with it, and read again.
_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:[0-9]{1,5})?")


class Headers:
    """Adds what browsers are told with every answer, also to a fault of ours; only static files may be kept."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app = app
        secure = {"strict-transport-security": "max-age=31536000"} if settings.secure else {}
        self.headers = [(key.encode(), value.encode()) for key, value in {**_HEADERS, **secure}.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        kept = b"max-age=3600" if scope["path"].startswith("/static/") else b"no-store"
        begun = False

        async def sending(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                own = {key for key, _ in message["headers"]}
                added = [*self.headers, (b"cache-control", kept)]
                message["headers"] = [*message["headers"], *(one for one in added if one[0] not in own)]
            await send(message)

        try:
            await self.app(scope, receive, sending)
        except Exception as error:
            response = await run_in_threadpool(unforeseen, Request(scope, receive), error)
            if begun:
                raise
            await response(scope, receive, sending)


class Hosts:
    """Answers only those who ask for one of our own names: a page of others could send a browser here under its own."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app, self.names = app, settings.hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        hosts = [value.decode("latin-1").lower() for key, value in scope["headers"] if key == b"host"]
        found = _HOST.fullmatch(hosts[0]) if len(hosts) == 1 else None
        if found is not None and found["name"] in self.names:
            return await self.app(scope, receive, send)
        response = plain(Request(scope, receive), Refused(400, "unknown-host", "This server has another name."))
        await response(scope, receive, send)


class TooLarge(HTTPException):
    """A body that goes on beyond its limit."""

    def __init__(self, most: int) -> None:
        super().__init__(413, too_large(most).message)


class BodyLimit:
    """Refuses a body of more bytes than a request may send, by what it says and by what comes."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app, self.settings = app, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        (most, beside), seen = self._most(scope), 0
        said = dict(scope["headers"]).get(b"content-length", b"0")
        if not said.isdigit() or int(said) > most + beside:
            refused = too_large(most)
            refused.headers["connection"] = "close"
            response = await run_in_threadpool(answer, Request(scope, receive), refused)
            return await response(scope, receive, send)

        async def receiving() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > most + beside:
                raise TooLarge(most)
            return message

        await self.app(scope, receiving, send)

    def _most(self, scope: Scope) -> tuple[int, int]:
        """How many bytes may come, and how many beside them, such as other fields of the form."""
        uploads = scope["method"] in ("POST", "PUT") and _UPLOAD.fullmatch(scope["path"]) is not None
        return (self.settings.upload_bytes, 1 << 16) if uploads else (self.settings.form_bytes, 0)
