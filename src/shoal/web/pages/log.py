"""The log: its last lines, whether its chain holds, its head to keep elsewhere, and all of it as a file."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from sqlalchemy import select
from starlette.responses import Response

from shoal.web.context import Here, needs
from shoal.web.store.trusted import LogEntry
from shoal.web.trust.chain import exported, head_of, problem

router = APIRouter()
_PAGE = 100
Read = Annotated[Here, needs("log.read")]


@router.get("/log")
def show_log(here: Read, before: Annotated[int | None, Query(ge=1, le=2**62)] = None) -> Response:
    chosen = select(LogEntry).order_by(LogEntry.number.desc()).limit(_PAGE)
    if before is not None:
        chosen = chosen.where(LogEntry.number < before)
    with here.reading() as db:
        lines, head, wrong = list(db.scalars(chosen)), head_of(db), problem(db)
    return here.page("log.html", lines=lines, head=head, problem=wrong)


@router.get("/log/file")
def export_log(here: Read) -> Response:
    """All lines as a file that ``shoal log verify`` checks."""
    with here.reading() as db:
        content = exported(db)
    headers = {"content-disposition": 'attachment; filename="server.log"', "cache-control": "no-store"}
    return Response(content, media_type="application/x-ndjson", headers=headers)
