"""The log as a file that ``shoal log verify`` checks, and a check of it where it is, a batch of lines at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from threading import Lock
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session as Db

from shoal.errors import VerificationError
from shoal.io.hash_chain import START, as_line, walk
from shoal.web.errors import Refused
from shoal.web.store.tables import LogEntry

Reading = Callable[[], AbstractContextManager[Db]]
_NAME = "of the server"
_BATCH = 1000  # lines in memory at a time
AT_ONCE = 5000  # lines that a page checks beyond those that were checked before
_BUSY = "Somebody has the whole log checked at this moment: try again when that is done."


def entries(reading: Reading, after: int = 0, until: int | None = None) -> Iterator[dict[str, Any]]:
    """Lines behind one of them, the oldest first; each batch in a session of its own, however slow its reader is."""
    while True:
        chosen = select(LogEntry).where(LogEntry.number > after).order_by(LogEntry.number).limit(_BATCH)
        with reading() as db:
            found = [as_entry(one) for one in db.scalars(chosen)]
        for one in found:
            if until is not None and one["entry"] > until:
                return
            yield one
        if len(found) < _BATCH:
            return
        after = found[-1]["entry"]


def as_entry(one: LogEntry) -> dict[str, Any]:
    """A line as a file has it."""
    return {
        "entry": one.number, "time": one.time, "who": one.who, "event": one.event, "facts": one.facts,
        "previous": one.previous, "hash": one.hash,
    }  # fmt: skip


def exported(reading: Reading) -> Iterator[bytes]:
    """The log as a file, with the lines that it has now."""
    last = _last(reading)
    return (as_line(one) for one in entries(reading, until=last.number))


@dataclass(frozen=True)
class Mark:
    """A line by its number and its hash."""

    number: int = 0
    hash: str = START


def last_of(db: Db) -> Mark:
    """The last line, whose hash is the head, to be kept elsewhere."""
    found = db.execute(select(LogEntry.number, LogEntry.hash).order_by(LogEntry.number.desc()).limit(1)).first()
    return Mark() if found is None else Mark(*found)


def _last(reading: Reading) -> Mark:
    with reading() as db:
        return last_of(db)


@dataclass(frozen=True)
class Checked:
    """How far the chain was followed from its first line, and what is wrong with it, None where nothing is."""

    until: Mark
    last: Mark
    problem: str | None

    @property
    def whole(self) -> bool:
        return self.until == self.last


class Watch:
    """What this process knows of the chain: lines that were checked once need not be read again for every page."""

    def __init__(self) -> None:
        self._known = Mark()
        self._busy = Lock()

    def look(self, reading: Reading, *, every: bool = False) -> Checked:
        """Follow the chain from where it was left, some lines at a time; or all of it, from its first line."""
        if not self._busy.acquire(blocking=False):
            if every:
                raise Refused(429, "too-many", _BUSY, headers={"retry-after": "60"})
            return Checked(self._known, _last(reading), None)  # another page is looking, and nobody waits for it
        try:
            last = _last(reading)  # not before: another page may have seen more lines meanwhile
            known = Mark() if every else self._known
            until = last.number if every else min(last.number, known.number + AT_ONCE)
            try:
                _refuse_dropped(self._known, last)
                for one in walk(entries(reading, known.number, until), _NAME, known.number, known.hash):
                    known = Mark(one["entry"], one["hash"])
            except VerificationError as error:
                return Checked(known, last, str(error))
            self._known = known
            return Checked(known, last, None)
        finally:
            self._busy.release()


def _refuse_dropped(known: Mark, last: Mark) -> None:
    """Refuse a log that was longer when this process looked at it."""
    if last.number < known.number or (last.number == known.number and last != known):
        raise VerificationError(
            f"The log {_NAME} had {known.number:,} lines when it was looked at before, and has others now: lines at "
            "its end were dropped."
        )


def shown_problem(lines: Sequence[LogEntry]) -> str | None:
    """What is wrong with lines that follow each other, the oldest first, None where nothing is."""
    if lines:
        first = lines[0]
        try:
            for _ in walk(map(as_entry, lines), _NAME, first.number - 1, first.previous if first.number > 1 else START):
                pass
        except VerificationError as error:
            return str(error)
    return None
