"""Around every request: headers that a browser goes by, and how much a body may have."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shoal.web.errors import Refused, answer
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


class Headers:
    """Adds what browsers are told with every answer; nothing but static files may be kept by anybody."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app = app
        secure = {"strict-transport-security": "max-age=31536000"} if settings.secure else {}
        self.headers = [(key.encode(), value.encode()) for key, value in {**_HEADERS, **secure}.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        kept = b"max-age=3600" if scope["path"].startswith("/static/") else b"no-store"

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = {key for key, _ in message["headers"]}
                added = [*self.headers, (b"cache-control", kept)]
                message["headers"] = [*message["headers"], *(one for one in added if one[0] not in own)]
            await send(message)

        await self.app(scope, receive, sending)


class TooLarge(Exception):
    """A body that goes on beyond its limit."""


class BodyLimit:
    """Refuses a body of more bytes than a request may send, by what it says and by what comes."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app, self.settings = app, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        most = self._most(scope)
        said = dict(scope["headers"]).get(b"content-length", b"0")
        seen, answered = 0, False

        async def receiving() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > most:
                raise TooLarge
            return message

        async def sending(message: Message) -> None:
            nonlocal answered
            answered = True
            await send(message)

        try:
            if not said.isdigit() or int(said) > most:
                raise TooLarge
            await self.app(scope, receiving, sending)
        except TooLarge:
            if not answered:
                await self._refuse(scope, receive, send, most)

    def _most(self, scope: Scope) -> int:
        uploads = scope["path"].rstrip("/").endswith("/files") or "/files/" in scope["path"]
        return self.settings.upload_bytes + (1 << 16) if uploads else self.settings.form_bytes

    async def _refuse(self, scope: Scope, receive: Receive, send: Send, most: int) -> None:
        from starlette.requests import Request

        message = f"That is larger than the {most >> 20:,} MiB that are taken here: send less."
        response = answer(Request(scope, receive), Refused(413, "too-large", message, headers={"connection": "close"}))
        await response(scope, receive, send)
