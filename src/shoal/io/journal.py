"""The log of releases: who released what, and when, in lines that are only ever added.

Its lines are chained (:mod:`shoal.io.chain`), as those of a server's log are, which is read here too.
"""

from __future__ import annotations

import errno
import getpass
import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import InputError, VerificationError
from shoal.io.chain import START, Journal, as_line, chained, link
from shoal.io.folders import is_release
from shoal.io.locks import locked
from shoal.io.swap import sync
from shoal.verify.folder import MANIFEST, read_manifest

if TYPE_CHECKING:
    from shoal.io.recipes import Recipe

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


def log_of(recipe: Recipe) -> str | None:
    """Return the log that a recipe names, None where it names none."""
    return None if recipe.output.log is None else str(recipe.resolve(recipe.output.log))


def refuse_unlogged(recipe: Recipe) -> None:
    """Refuse, before any work, a log that no line can be added to, or that somebody changed."""
    if (log := log_of(recipe)) is None:
        return
    place = check_journal(log, release=recipe.resolve(recipe.output.folder))
    if place.exists():
        read_journal(place)


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
