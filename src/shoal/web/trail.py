"""The server's log: who did what, in lines of which each holds the hash of the one before.

A line is added in the transaction of what it tells, so that neither happens without the other. Facts are identifiers,
names of users, counts and kinds: no cell, no secret.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import select, text
from sqlalchemy.orm import Session as Db

from shoal.io.hash_chain import START, link
from shoal.web.store.trusted import LogEntry

_LOCK = 7_301_447  # of PostgreSQL's advisory locks: one line after the other


def record(db: Db, who: str, event: str, **facts: Any) -> None:
    """Add a line."""
    if db.get_bind().dialect.name == "postgresql":
        db.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
    last = db.execute(select(LogEntry.number, LogEntry.hash).order_by(LogEntry.number.desc()).limit(1)).first()
    number, previous = (0, START) if last is None else last
    made = link(number + 1, previous, who=who, event=event, facts=facts)
    db.add(LogEntry(number=made.pop("entry"), **made))
    db.flush()
