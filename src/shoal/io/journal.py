"""The log of releases: who released what, and when, in lines that are only ever added.

One JSON object a line, which holds the hash of the line before. A line that was changed, dropped, inserted or moved
breaks the chain; lines dropped at the end do not, so whoever wants to notice that keeps the head, the hash of the last
line, somewhere else.
"""

from __future__ import annotations

import getpass
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from shoal.errors import InputError, VerificationError
from shoal.io.locks import locked
from shoal.io.output import is_release
from shoal.verify.folder import MANIFEST, read_manifest

SUFFIX = ".log"
START = "0" * 64
_FIELDS = ("entry", "time", "who", "event", "release", "previous", "hash")
_FACTS = ("folder", "source", "statement", "kind", "rows", "acknowledged", "data", "manifest", "shoal")


@dataclass(frozen=True, kw_only=True)
class Journal:
    """The entries of a log whose chain holds, and the hash of the last."""

    entries: list[dict[str, Any]]
    head: str


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
        The hash that one of its lines must have: that of the last line when it was written down.
    """
    try:
        content = Path(path).read_bytes()
    except FileNotFoundError:
        raise InputError(f"There is no log '{path}': check the path.") from None
    except OSError as error:
        raise InputError(f"The log '{path}' cannot be read: {error.strerror}.") from None
    journal = _chained(content, str(path))
    if head is not None and head not in (START, *(entry["hash"] for entry in journal.entries)):
        raise VerificationError(f"The log '{path}' has no line with the hash given: lines at its end were dropped.")
    return journal


def log_release(path: str | Path, folder: str | Path, *, event: str = "released") -> dict[str, Any]:
    """Add a line about a written release to a log, which is made if there is none; returns the line."""
    place, folder = check_journal(path, release=folder), Path(folder)
    manifest = read_manifest(folder)
    facts = {
        "folder": str(folder.resolve()),
        "source": manifest["source"],
        "statement": manifest["statement"],
        "kind": manifest["kind"],
        "rows": manifest["data"]["rows"],
        "acknowledged": manifest["acknowledged"],
        "data": manifest["data"]["sha256"],
        "manifest": hashlib.sha256((folder / MANIFEST).read_bytes()).hexdigest(),
        "shoal": manifest["shoal"],
    }
    with locked(place):
        journal = read_journal(place) if place.exists() else Journal(entries=[], head=START)
        entry = _entry(journal, event, facts)
        try:
            _add(place, _line(entry))
        except OSError as error:
            raise InputError(
                f"The release in '{folder}' is not in the log '{path}': {error.strerror}. Add it with 'shoal log add'."
            ) from None
    return entry


def _add(place: Path, line: bytes) -> None:
    """Opened for adding alone: no line that stands there can be written over."""
    descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(descriptor, "ab") as file:
        file.write(line)
        file.flush()
        os.fsync(file.fileno())


def _entry(journal: Journal, event: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "entry": len(journal.entries) + 1,
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "who": _who(),
        "event": event,
        "release": dict(facts),
        "previous": journal.head,
    }
    return entry | {"hash": _hash(entry)}


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


def _hash(entry: Mapping[str, Any]) -> str:
    content = {key: value for key, value in entry.items() if key != "hash"}
    return hashlib.sha256(_line(content)).hexdigest()


def _line(entry: Mapping[str, Any]) -> bytes:
    return json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _chained(content: bytes, name: str) -> Journal:
    entries: list[dict[str, Any]] = []
    head = START
    if content and not content.endswith(b"\n"):
        raise VerificationError(f"The log '{name}' does not end with a whole line: its last line was cut.")
    for number, line in enumerate(content.splitlines(keepends=True), 1):
        entry = _parsed(line)
        if entry is None:
            raise VerificationError(f"Line {number} of the log '{name}' is not as it was written.")
        if entry["hash"] != _hash(entry):
            raise VerificationError(f"Line {number} of the log '{name}' was changed: its hash is another.")
        if entry["previous"] != head or entry["entry"] != number:
            raise VerificationError(
                f"Line {number} of the log '{name}' does not follow the one before it: lines were dropped, inserted or "
                "moved."
            )
        head = entry["hash"]
        entries.append(entry)
    return Journal(entries=entries, head=head)


def _parsed(line: bytes) -> dict[str, Any] | None:
    """An entry as it is written, None where a line is none: other spaces or a key twice would hash the same."""
    try:
        found = json.loads(line)
        same = _line(found) == line
    except (ValueError, RecursionError):
        return None
    fits = isinstance(found, dict) and tuple(found) == _FIELDS and isinstance(found["release"], dict)
    if not same or not fits or type(found["entry"]) is not int or tuple(found["release"]) != _FACTS:
        return None
    texts = [found[key] for key in ("time", "who", "event", "previous", "hash")]
    texts += [found["release"][key] for key in ("folder", "statement")]
    return found if all(isinstance(one, str) for one in texts) and type(found["release"]["rows"]) is int else None
