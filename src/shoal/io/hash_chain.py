"""Lines that hold the hash of the line before: one JSON object each, only ever added.

A line that was changed, dropped, inserted or moved breaks the chain; lines dropped at the end do not, so whoever wants
to notice that keeps the head, the hash of the last line, somewhere else.
"""

from __future__ import annotations

import errno
import getpass
import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from shoal.errors import InputError, VerificationError
from shoal.io.atomic import locked, sync
from shoal.io.folders import is_release
from shoal.verify.folder import MANIFEST, read_manifest

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


# ----------------------------------------
# The log of releases: who released what, and when, in lines that are only ever added.
#
# Its lines are chained (:mod:`shoal.io.hash_chain`), as those of a server's log are, which is read here too.


SUFFIX = ".log"
_RELEASED = "released"
_HASH = re.compile("[0-9a-f]{64}")
_FACTS = ("folder", "source", "statement", "kind", "rows", "acknowledged", "data", "manifest", "shoal")


def check_journal(path: str | Path, *, release: str | Path | None = None) -> Path:
    """The absolute path of a log, or why there can be none: it is private, and never inside a release."""
    place = Path(path).resolve()
    if place.suffix != SUFFIX:
        raise InputError(f"The log '{path}' must end in {SUFFIX}: choose another name.")
    if release is not None and place.is_relative_to(Path(release).resolve()):
        raise InputError(f"The log '{path}' lies in the folder of the release, which is public: choose another place.")
    if any(is_release(parent) for parent in place.parents):
        raise InputError(f"The log '{path}' lies inside a release, which is public: choose another place.")
    if not place.parent.is_dir():
        raise InputError(f"There is no folder '{place.parent}' to put '{place.name}' into: make it first.")
    if place.is_dir():
        raise InputError(f"'{path}' is a folder: name a file in it.")
    if not all(os.access(one, os.W_OK) for one in (place, place.parent) if one.exists()):
        raise InputError(f"No line can be added to the log '{path}': it, or its folder, may not be written.")
    return place


def read_journal(path: str | Path, *, head: str | None = None) -> Journal:
    """The entries of a log, after checking its chain from the first line to the last.

    Parameters
    ----------
    head
        The hash that one of its lines must have: that of the last line when it was written down. Or a file of such
        hashes, as a server gives them.
    """
    heads = heads_of(head)
    try:
        content = Path(path).read_bytes()
    except FileNotFoundError:
        raise InputError(f"There is no log '{path}': check the path.") from None
    except OSError as error:
        raise InputError(f"The log '{path}' cannot be read: {error.strerror}.") from None
    journal = chained(content, str(path), {"release": _FACTS, "facts": None})
    for number, entry in enumerate(journal.entries, 1):
        if "release" in entry and not _is_told(entry["release"]):
            raise VerificationError(f"Line {number} of the log '{path}' is not as it was written.")
    journal.refuse_shorter(heads, str(path))
    return journal


def heads_of(given: str | None) -> list[str]:
    """A hash as it is given, or all that stand in a file, one JSON object behind the other."""
    if given is None or _HASH.fullmatch(given):
        return [] if given is None else [given]
    reader, found, at = json.JSONDecoder(), [], 0
    try:
        text = Path(given).read_text("utf-8").strip()
        while at < len(text):
            one, at = reader.raw_decode(text, at)
            found.append(one["head"])
            at = _behind(text, at)
    except OSError as error:
        raise InputError(f"'{given}' is no hash, and no file of heads that can be read: {error.strerror}.") from None
    except (ValueError, TypeError, KeyError, RecursionError):
        found = []
    if not found or not all(isinstance(one, str) and _HASH.fullmatch(one) for one in found):
        raise InputError(f"The file '{given}' holds something else than heads of a log: save what /log/head gives.")
    return found


def _behind(text: str, at: int) -> int:
    """The place behind blanks and ends of lines."""
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def log_release(path: str | Path, folder: str | Path, *, event: str = _RELEASED) -> dict[str, Any]:
    """Add a line about a written release to a log, which is made if there is none; returns the line."""
    place, folder = check_journal(path, release=folder), Path(folder)
    with locked(place):
        return _append(place, _entries(place), _facts(folder, folder), who=_who(), event=event)


@dataclass(frozen=True, kw_only=True)
class PendingLine:
    """A line about a release that is being published, due in its log once the release is in its place.

    Attributes
    ----------
    log
        The log's absolute path.
    lines
        How many lines the log had when the release was staged: the line is due behind them, once.
    who, facts
        The account that publishes the release, and the facts that the line states.
    """

    log: str
    lines: int
    who: str
    facts: Mapping[str, Any]

    @classmethod
    def stage(cls, log: str | Path, staged: Path, folder: Path) -> PendingLine:
        """Describe a staged release for a log; refuse a log that no line can be added to.

        Parameters
        ----------
        staged, folder
            Where the release is now, and where it is going.
        """
        place = check_journal(log, release=folder)
        return cls(log=str(place), lines=len(_entries(place).entries), who=_who(), facts=_facts(staged, folder))

    def add(self, folder: Path) -> None:
        """Add the line, unless it is there already: a recovery cannot know how far the killed run came.

        Parameters
        ----------
        folder
            The release's folder by its present name; where that was moved, the log may have been moved with it.
        """
        beside = os.path.relpath(self.log, Path(self.facts["folder"]).parent)
        moved = (folder.parent / beside).resolve()
        place = check_journal(moved if moved.exists() else self.log, release=folder)
        with locked(place):
            journal = _entries(place)
            if len(journal.entries) < self.lines:
                raise InputError(
                    f"The release in '{self.facts['folder']}' is not in the log '{place}', which lacks lines that "
                    "it had: restore the log, and run again."
                )
            since = journal.entries[self.lines :]
            if not any(entry["event"] == _RELEASED and entry.get("release") == self.facts for entry in since):
                _append(place, journal, self.facts, who=self.who, event=_RELEASED)


def _entries(place: Path) -> Journal:
    return read_journal(place) if place.exists() else Journal(entries=[], head=START)


def _facts(staged: Path, folder: Path) -> dict[str, Any]:
    """Read the facts that a line states from the manifest of a release."""
    manifest = read_manifest(staged)
    return {
        "folder": str(folder.resolve()),
        "source": manifest["source"],
        "statement": manifest["statement"],
        "kind": manifest["kind"],
        "rows": manifest["data"]["rows"],
        "acknowledged": manifest["acknowledged"],
        "data": manifest["data"]["sha256"],
        "manifest": hashlib.sha256((staged / MANIFEST).read_bytes()).hexdigest(),
        "shoal": manifest["shoal"],
    }


def _append(place: Path, journal: Journal, facts: Mapping[str, Any], *, who: str, event: str) -> dict[str, Any]:
    ordered = {key: facts[key] for key in _FACTS}  # as every line has them; a publication's journal sorts its keys
    entry = link(len(journal.entries) + 1, journal.head, who=who, event=event, facts=ordered, under="release")
    try:
        _add(place, as_line(entry))
    except OSError as error:
        raise InputError(
            f"The release in '{facts['folder']}' is not in the log '{place}': {error.strerror}. "
            "Add it with 'shoal log add'."
        ) from None
    return entry


def _add(place: Path, line: bytes) -> None:
    """Add a line or nothing: what a full disk took of it is cut off again."""
    # For adding alone: no line that stands there can be written over.
    descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        before = os.fstat(descriptor).st_size
        try:
            if os.write(descriptor, line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(descriptor)
        except OSError:
            os.ftruncate(descriptor, before)
            raise
    finally:
        os.close(descriptor)
    sync(place.parent)


def _who() -> str:
    """The account by what the system says, since anybody can set LOGNAME and USER."""
    try:
        import pwd
    except ImportError:  # Windows
        return getpass.getuser()
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # an account without a name
        return f"user {os.getuid()}"


def _is_told(facts: dict[str, Any]) -> bool:
    return all(isinstance(facts[key], str) for key in ("folder", "statement")) and type(facts["rows"]) is int
