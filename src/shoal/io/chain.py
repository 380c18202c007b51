"""Lines that hold the hash of the line before: one JSON object each, only ever added.

A line that was changed, dropped, inserted or moved breaks the chain; lines dropped at the end do not, so whoever wants
to notice that keeps the head, the hash of the last line, somewhere else.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from shoal.errors import VerificationError

START = "0" * 64
_BEFORE, _AFTER = ("entry", "time", "who", "event"), ("previous", "hash")


@dataclass(frozen=True, kw_only=True)
class Journal:
    """The entries of a log whose chain holds, and the hash of the last."""

    entries: list[dict[str, Any]]
    head: str

    def refuse_shorter(self, heads: Iterable[str], name: str) -> None:
        """Refuse a log that does not have a line which was its last at some time."""
        if set(heads) - {START, *(entry["hash"] for entry in self.entries)}:
            raise VerificationError(f"The log '{name}' has no line with the hash given: lines at its end were dropped.")


def link(
    number: int, previous: str, *, who: str, event: str, facts: Mapping[str, Any], under: str = "facts"
) -> dict[str, Any]:
    """The line that follows one with the hash ``previous``.

    Parameters
    ----------
    number
        From 1.
    facts
        What is told of the event, in JSON's types.
    under
        What the facts are called.
    """
    entry: dict[str, Any] = {
        "entry": number,
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "who": who,
        "event": event,
        under: json.loads(json.dumps(facts)),
        "previous": previous,
    }
    return entry | {"hash": hash_of(entry)}


def hash_of(entry: Mapping[str, Any]) -> str:
    """The hash of a line, which is made of everything else in it."""
    content = {key: value for key, value in entry.items() if key != "hash"}
    return hashlib.sha256(as_line(content)).hexdigest()


def as_line(entry: Mapping[str, Any]) -> bytes:
    """An entry as it is written."""
    return json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def chained(content: bytes, name: str, facts: Mapping[str, Sequence[str] | None]) -> Journal:
    """The entries of a log, after checking its chain from the first line to the last.

    Parameters
    ----------
    name
        What messages call it.
    facts
        What facts may be called, and their names in order where these are fixed.
    """
    if content and not content.endswith(b"\n"):
        raise VerificationError(f"The log '{name}' does not end with a whole line: its last line was cut.")
    return follow((_parsed(line, facts) for line in content.splitlines(keepends=True)), name)


def follow(entries: Iterable[dict[str, Any] | None], name: str) -> Journal:
    """The entries of a whole log, after checking that they follow each other."""
    found = list(walk(entries, name))
    return Journal(entries=found, head=found[-1]["hash"] if found else START)


def walk(
    entries: Iterable[dict[str, Any] | None], name: str, after: int = 0, head: str = START
) -> Iterator[dict[str, Any]]:
    """Entries one by one, each checked to follow the one before; None is a line that is no entry.

    Parameters
    ----------
    after, head
        The number and the hash of the line that the first one follows.
    """
    for number, entry in enumerate(entries, after + 1):
        if entry is None:
            raise VerificationError(f"Line {number} of the log '{name}' is not as it was written.")
        if entry["hash"] != hash_of(entry):
            raise VerificationError(f"Line {number} of the log '{name}' was changed: its hash is another.")
        if entry["previous"] != head or entry["entry"] != number:
            raise VerificationError(
                f"Line {number} of the log '{name}' does not follow the one before it: lines were dropped, inserted or "
                "moved."
            )
        head = entry["hash"]
        yield entry


def _parsed(line: bytes, facts: Mapping[str, Sequence[str] | None]) -> dict[str, Any] | None:
    """An entry as it is written, None where a line is none: other spaces or a key twice would hash the same."""
    try:
        found = json.loads(line)
        same = as_line(found) == line
    except (ValueError, RecursionError):
        return None
    if not same or not isinstance(found, dict):
        return None
    for under, names in facts.items():
        if tuple(found) == (*_BEFORE, under, *_AFTER) and isinstance(found[under], dict):
            texts = all(isinstance(found[key], str) for key in (*_BEFORE[1:], *_AFTER))
            fixed = names is None or tuple(found[under]) == tuple(names)
            return found if texts and fixed and type(found["entry"]) is int else None
    return None
