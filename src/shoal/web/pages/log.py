"""The log: its last lines, whether its chain holds, its head to keep elsewhere, and all of it as a file."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from sqlalchemy import select
from starlette.responses import Response, StreamingResponse

from shoal.web.context import Here, needs
from shoal.web.store.trusted import LogEntry
from shoal.web.trust.chain import exported, shown_problem

router = APIRouter()
_PAGE = 100
Read = Annotated[Here, needs("log.read")]


@router.get("/log")
def show_log(
    here: Read, before: Annotated[int | None, Query(ge=1, le=2**62)] = None, check: Literal["all"] | None = None
) -> Response:
    # One more than is shown, which the oldest of them follows.
    chosen = select(LogEntry).order_by(LogEntry.number.desc()).limit(_PAGE + 1)
    if before is not None:
        chosen = chosen.where(LogEntry.number < before)
    checked = here.request.app.state.log.look(here.reading, every=check == "all")
    with here.reading() as db:
        lines = list(db.scalars(chosen))
    problem = shown_problem(lines[::-1]) or checked.problem
    return here.page("log.html", lines=lines[:_PAGE], checked=checked, problem=problem, every=check == "all")


@router.get("/log/file")
def export_log(here: Read) -> Response:
    """All lines as a file that ``shoal log verify`` checks."""
    headers = {"content-disposition": 'attachment; filename="server.log"', "cache-control": "no-store"}
    return StreamingResponse(exported(here.reading), media_type="application/x-ndjson", headers=headers)
