"""Which files a path, a folder or a pattern stands for; what is hidden in them, and what may not be put among them.

Below what was named, names that begin with '.' or '_' are hidden, as Spark and Hive have it: such are copies that
editors keep, and what unfinished jobs leave. Whoever spells such a name means it.
"""

from __future__ import annotations

import glob
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from shoal.errors import InputError
from shoal.io.files import extension_of

ENDINGS = (".parquet", ".csv", ".tsv", ".txt", ".data", ".gz")
_MARKS, _MAGIC, _HIDING = "._", "*?[", "names that begin with '.' or '_' are left out"


def files_of(path: str | Path) -> list[Path]:
    """The files that a path, a folder or a pattern names, all of one kind."""
    found = _files(Path(path))
    if len({extension_of(one) == ".parquet" for one in found}) > 1:
        raise InputError(f"'{path}' names both Parquet and text files: name those of one kind.")
    return found


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if path.is_dir():
        found = [one for one in path.rglob("*") if one.suffix.lower() in ENDINGS and is_seen(path, one)]
        if not any(one.is_file() for one in found):
            raise InputError(f"The folder '{path}' holds no CSV and no Parquet file ({_HIDING}): check the path.")
        return sorted(one for one in found if one.is_file())
    if is_pattern(path):
        matches = map(Path, glob.glob(str(path), recursive=True, include_hidden=True))
        found = sorted({one for one in matches if is_seen(path, one) and one.is_file()})
        if not found:
            raise InputError(f"No file matches '{path}' ({_HIDING} unless spelt): check the pattern.")
        return found
    raise InputError(f"There is no file '{path}': check the path.")


def is_pattern(path: Path) -> bool:
    """Whether a path that is none of a file or a folder stands for several."""
    return any(mark in str(path) for mark in _MAGIC)


def root_of(path: Path) -> Path:
    """The folder below which a folder or a pattern finds files; that of a file."""
    if path.is_dir():
        return path
    if path.is_file() or not is_pattern(path):
        return path.parent
    at = next(at for at, part in enumerate(path.parts) if is_pattern(Path(part)))
    return Path(*path.parts[:at])


def is_hidden(name: str) -> bool:
    """Whether a file is hidden by its name."""
    return name.startswith(tuple(_MARKS))


def is_seen(path: Path, found: Path) -> bool:
    """Whether nothing hides a file from the folder or the pattern that found it."""
    root = root_of(path)
    spelt = () if path.is_dir() else path.relative_to(root).parts
    *folders, name = found.relative_to(root).parts
    # A folder of a partition is none that somebody hides, whatever its column is called.
    hidden = [one for one in folders if is_hidden(one) and not (one.startswith("_") and "=" in one)]
    return all(_spells(spelt, one) for one in [*hidden, *([name] if is_hidden(name) else [])])


def _spells(pattern: Sequence[str], name: str) -> bool:
    """Whether a part of a pattern matches a name, and says itself what that begins with."""
    begins = (part[: part.find("]") + 1] if part.startswith("[") else part[:1] for part in pattern)
    return any(name[0] in begin and fnmatchcase(name, part) for part, begin in zip(pattern, begins, strict=True))


def refuse_among(place: Path, source: Path, what: str, names: Iterable[str] = ()) -> None:
    """Refuse a folder inside the folder that is the source, or whose files, so called, its pattern would match."""
    place = place.resolve()
    if source.is_dir():
        if place.is_relative_to(source.resolve()):
            raise InputError(
                f"{what} '{place}' is inside the folder of the source, whose files are all read: choose another folder."
            )
    elif not source.exists() and is_pattern(source):
        root = root_of(source)
        pattern = (*root.resolve().parts, *source.relative_to(root).parts)
        if any(_matches((*place.parts, name), pattern) for name in names):
            raise InputError(
                f"{what} '{place}' would hold files that the pattern of the source matches: choose another folder."
            )


def _matches(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Whether a pattern matches a path that need not exist, part by part."""
    if not pattern or not parts:
        return not parts and all(one == "**" for one in pattern)
    if pattern[0] == "**":
        return _matches(parts, pattern[1:]) or _matches(parts[1:], pattern)
    return fnmatchcase(parts[0], pattern[0]) and _matches(parts[1:], pattern[1:])
