"""What a request is answered that cannot be done: one shape for programs, a readable page for people."""

from __future__ import annotations

import errno
import logging
import os
import traceback
from contextlib import suppress
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, OperationalError, SQLAlchemyError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, RedirectResponse, Response

from shoal.errors import GateError, InfeasibleError, InternalError, MissingExtraError, ShoalError, VerificationError

API = "/api/v1"
_log = logging.getLogger("shoal.web")
_STATUS: dict[type[ShoalError], int] = {
    InfeasibleError: 409, GateError: 409, VerificationError: 409, MissingExtraError: 501, InternalError: 500,
}  # fmt: skip
WORDS = {
    400: ("bad-request", "The request cannot be read."),
    404: ("not-found", "There is nothing here, or nothing that you may see."),
    405: ("method-not-allowed", "This address takes no such request."),
}
_UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
_FULL = (507, "disk-full", "The server's disk is full: make room, then try again.")
# How each says it: the system, SQLite (of the database, and of the file by which its processes share their log) and
# PostgreSQL.
_ERRNO, _SQLITE, _SQLSTATE = (errno.ENOSPC, errno.EDQUOT), (13, 4874), "53100"
_INTERNAL = "Something went wrong on the server: try again, and tell whoever runs it if it stays."


class ErrorBody(BaseModel):
    """What went wrong."""

    code: str
    message: str
    where: str | None = None


class ErrorAnswer(BaseModel):
    """The one shape of every error."""

    error: ErrorBody


class Refused(Exception):
    """A request that is refused: ``code`` for programs, one sentence for people, ``where`` for a field of a form."""

    def __init__(
        self, status: int, code: str, message: str, *, where: str | None = None, headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.where = status, code, message, where
        self.headers = headers or {}


class Outdated(Refused):
    """A change of something that somebody else has changed since it was shown."""

    def __init__(self, message: str) -> None:
        super().__init__(409, "conflict", message)


def missing() -> Refused:
    """What is told of things that are not there, and of those that somebody may not see."""
    return Refused(404, *WORDS[404])


def conflict(message: str) -> Refused:
    """Somebody else was quicker."""
    return Refused(409, "conflict", message)


def invalid(message: str, where: str | None = None) -> Refused:
    """A field of a form that has to change."""
    return Refused(422, "invalid", message, where=where)


def too_large(most: int) -> Refused:
    """A body of more bytes than are taken."""
    unit, name = next(((unit, name) for unit, name in _UNITS if most >= unit), (1, "bytes"))
    return Refused(413, "too-large", f"That is larger than the {most / unit:,.4g} {name} taken here: send less.")


def refusal(error: ShoalError) -> Refused:
    """One of Shoal's own errors, whose sentence holds no value of a cell."""
    status = next((status for kind, status in _STATUS.items() if isinstance(error, kind)), 422)
    return Refused(status, type(error).__name__, str(error))


def add_handlers(app: FastAPI) -> None:
    """Answer every error of an application in our own way."""

    @app.exception_handler(Refused)
    def refused(request: Request, error: Refused) -> Response:
        return answer(request, error)

    @app.exception_handler(ShoalError)
    def shoal(request: Request, error: ShoalError) -> Response:
        return answer(request, refusal(error))

    @app.exception_handler(HTTPException)
    def http(request: Request, error: HTTPException) -> Response:
        if is_full(error.__cause__):  # what a form is put into while it is read
            return answer(request, Refused(*_FULL))
        code, message = WORDS.get(error.status_code, WORDS[400])
        if error.status_code == 413:
            code, message = "too-large", error.detail
        return answer(request, Refused(error.status_code, code, message, headers=dict(error.headers or {})))

    @app.exception_handler(RequestValidationError)
    def validation(request: Request, error: RequestValidationError) -> Response:
        return answer(request, _field(error))

    @app.exception_handler(IntegrityError)
    def taken(request: Request, error: IntegrityError) -> Response:
        return answer(request, conflict("Somebody else was quicker: look again, then repeat it if it is still needed."))

    @app.exception_handler(DataError)
    def unfit(request: Request, error: DataError) -> Response:
        message = "Something given cannot be kept, such as a zero byte or a number without end: leave it out."
        return answer(request, invalid(message))

    @app.exception_handler(OperationalError)
    def away(request: Request, error: OperationalError) -> Response:
        if is_full(error):
            return answer(request, Refused(*_FULL))
        _log.error("the database does not answer in %s %s", request.method, _route(request))
        return answer(request, Refused(503, "busy", "The database does not answer: try again in a moment."))

    @app.exception_handler(OSError)
    def system(request: Request, error: OSError) -> Response:
        return answer(request, Refused(*_FULL)) if is_full(error) else unforeseen(request, error)


def is_full(error: BaseException | None) -> bool:
    """Whether something failed for want of room on the disk, be it a file or a row."""
    if isinstance(error, DBAPIError):
        error = error.orig
    return (
        (isinstance(error, OSError) and error.errno in _ERRNO)
        or getattr(error, "sqlite_errorcode", None) in _SQLITE
        or getattr(error, "sqlstate", None) == _SQLSTATE
    )


def unforeseen(request: Request, error: Exception) -> Response:
    """A fault of our own, of which only the kind is told, because the message may hold somebody's values."""
    _log.error("%s in %s %s", type(error).__name__, request.method, _route(request))
    if os.environ.get("SHOAL_DEBUG") == "1":
        traceback.print_exception(error)
    return answer(request, Refused(500, "internal", _INTERNAL))


def _route(request: Request) -> str:
    """The address as the route writes it, without anybody's identifiers."""
    return getattr(request.scope.get("route"), "path", "?")


def _field(error: RequestValidationError) -> Refused:
    """The first field that does not fit, without what was given for it."""
    first: dict[str, Any] = dict(error.errors()[0])
    place = [str(part) for part in first["loc"] if part not in ("body", "query", "path")]
    where = ".".join(place) or None
    named = f"'{where}'" if where else "the request"
    return Refused(422, "invalid", f"Something is wrong with {named}: {first['msg']}.", where=where)


def plain(request: Request, error: Refused) -> Response:
    """The error as JSON."""
    body = {"error": {"code": error.code, "message": error.message, "where": error.where}}
    return JSONResponse(body, error.status, headers=error.headers)


def answer(request: Request, error: Refused) -> Response:
    """The error as JSON for programs, as a page for people."""
    if request.url.path.startswith(API):
        return plain(request, error)
    if "location" in error.headers:
        return RedirectResponse(error.headers["location"], error.status)
    from shoal.web.accounts.sessions import give_back
    from shoal.web.request import render

    with suppress(SQLAlchemyError):  # a database that takes nothing now has not kept the form either
        give_back(request)
    return render(request, "error.html", {"error": error}, status=error.status, headers=error.headers)
