"""The log of releases: who released what, and when, in lines that are only ever added.

Its lines are chained (:mod:`shoal.io.chain`), as those of a server's log are, which is read here too.
"""

from __future__ import annotations

import getpass
import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

from shoal.errors import InputError, VerificationError
from shoal.io.chain import START, Journal, as_line, chained, link
from shoal.io.folders import is_release
from shoal.io.locks import locked
from shoal.verify.folder import MANIFEST, read_manifest

SUFFIX = ".log"
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
        number = len(journal.entries) + 1
        entry = link(number, journal.head, who=_who(), event=event, facts=facts, under="release")
        try:
            _add(place, as_line(entry))
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
