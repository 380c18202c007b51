"""The log as a file that ``shoal log verify`` checks, and a check of it where it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session as Db

from shoal.errors import VerificationError
from shoal.io.chain import START, Journal, as_line, follow
from shoal.web.store.trusted import LogEntry


def entries(db: Db) -> Iterator[dict[str, Any]]:
    """All lines, the oldest first."""
    for one in db.scalars(select(LogEntry).order_by(LogEntry.number).execution_options(yield_per=1000)):
        yield {
            "entry": one.number, "time": one.time, "who": one.who, "event": one.event, "facts": one.facts,
            "previous": one.previous, "hash": one.hash,
        }  # fmt: skip


def exported(db: Db) -> bytes:
    """The log as a file."""
    return b"".join(as_line(one) for one in entries(db))


def checked(db: Db, head: str | None = None) -> Journal:
    """The log, after checking its chain; ``head`` is the hash of a line that it must have."""
    journal = follow(entries(db), "of the server")
    journal.refuse_shorter(head, "of the server")
    return journal


def head_of(db: Db) -> str:
    """The hash of the last line, to be kept elsewhere."""
    return db.scalar(select(LogEntry.hash).order_by(LogEntry.number.desc()).limit(1)) or START


def problem(db: Db) -> str | None:
    """What is wrong with the chain, None where nothing is."""
    try:
        checked(db)
    except VerificationError as error:
        return str(error)
    return None
