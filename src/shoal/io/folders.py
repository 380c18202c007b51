"""Find the files that a path, a folder or a pattern names, and refuse places among them for our own files.

Below what was named, names that begin with '.' or '_' are hidden, as Spark and Hive have it: such are copies that
editors keep, and what unfinished jobs leave. Nothing else is left out silently, and no file is read twice.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from shoal.errors import InputError
from shoal.io.files import extension_of
from shoal.verify.folder import MANIFEST

ENDINGS = (".parquet", ".csv", ".tsv", ".txt", ".data", ".gz")
_MARKS, _MAGIC, _HIDING = "._", "*?[", "names that begin with '.' or '_' are left out"
_BELOW = ("**", "*")  # the pattern that a folder stands for
# Files of Delta, Hudi and Iceberg tables, and of streams of Spark, whose folders also keep rows of earlier states.
_TABLES = ("_delta_log", ".hoodie", "metadata/snap-*.avro", "_spark_metadata")

Pattern = tuple[str, ...]


class Found(NamedTuple):
    """Files, and how many hidden names were left out (a hidden folder is one)."""

    files: list[Path]
    hidden: int = 0

    @property
    def told(self) -> str:
        """How many there are, in words."""
        files = f"{len(self.files):,} file{'s'[: len(self.files) > 1]}"
        return files + (f", leaving out {self.hidden:,} hidden" if self.hidden else "")


def files_of(path: str | Path) -> list[Path]:
    """Return the files that a path, a folder or a pattern names, all of one kind, each once."""
    return find_files(path).files


def find_files(path: str | Path) -> Found:
    """Find the files that a path, a folder or a pattern names, and count the hidden ones."""
    path = Path(path)
    if path.is_file():
        return Found([path])
    if not path.is_dir() and not is_pattern(path):
        raise InputError(f"There is no file '{path}': check the path.")
    found = _search(path)
    if not found.files and path.is_dir():
        raise InputError(f"The folder '{path}' holds no CSV and no Parquet file ({_HIDING}): check the path.")
    if not found.files:
        raise InputError(f"No file matches '{path}' ({_HIDING}): check the pattern.")
    if len({extension_of(one) == ".parquet" for one in found.files}) > 1:
        raise InputError(f"'{path}' names both Parquet and text files: name those of one kind.")
    return found


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


def name_of(path: str | Path, base: Path) -> str:
    """What a table is called where nobody said: as its file or, of many, their folder, if the path itself names it."""
    path, whole = Path(path), base / path
    if whole.is_file():
        return path.stem
    spelt = len(path.parts) - (len(whole.parts) - len(root_of(whole).parts))
    name = Path(*path.parts[: max(spelt, 0)]).name
    return name if name not in ("", "..") else "table"


def is_hidden(name: str) -> bool:
    """Whether a file is hidden by its name."""
    return name.startswith(tuple(_MARKS))


def is_release(folder: Path) -> bool:
    """Whether a folder holds a manifest of ours, and is therefore public."""
    with suppress(OSError):
        return _has_manifest(folder)
    return False


def _has_manifest(folder: Path) -> bool:
    with suppress(FileNotFoundError, IsADirectoryError):
        return b'"shoal"' in (folder / MANIFEST).read_bytes()
    return False


def _search(path: Path) -> Found:
    """Walk below a folder or a pattern, name by name, so that nothing that cannot be read is passed over."""
    whole, root = path.is_dir(), root_of(path)
    if not root.is_dir():
        return Found([])
    for folder in root.resolve().parents:
        _refuse_table(path, folder)
    waiting = [(root, {_BELOW if whole else path.relative_to(root).parts})]
    known: dict[object, Path] = {}
    files: list[Path] = []
    hidden = 0
    while waiting:
        folder, patterns = waiting.pop()
        for entry, left in _matching(path, folder, patterns):
            place = folder / entry.name
            is_folder, is_file = _kind_of(entry)
            wanted = _is_done(left) and (not whole or place.suffix.lower() in ENDINGS)
            # The folder of a partition is not hidden, whatever its column is called.
            if is_hidden(entry.name) and not (is_folder and entry.name.startswith("_") and "=" in entry.name):
                hidden += is_folder or wanted
            elif is_folder:
                waiting.append((place, _deeper(path, place, left)))
            elif is_file and wanted:
                _refuse_twice(path, place, known)
                _refuse_release(path, place)
                files.append(place)
            elif not is_file and (wanted or entry.is_symlink()):
                words = "is neither a file nor a folder that is there and open to us: mend or remove it"
                raise _refusal(path, place, words)
    return Found(sorted(files), hidden)


def _matching(path: Path, folder: Path, patterns: set[Pattern]) -> Iterator[tuple[os.DirEntry[str], set[Pattern]]]:
    """List what patterns match in a folder, with what is left of the patterns."""
    _refuse_table(path, folder)
    try:
        with os.scandir(folder) as listed:
            entries = sorted(listed, key=lambda entry: entry.name)
    except OSError as error:
        raise _refusal(path, folder, f"cannot be looked into ({error.strerror}): see to its rights") from None
    for entry in entries:
        if left := _left(patterns, entry.name):
            yield entry, left


def _deeper(path: Path, place: Path, left: set[Pattern]) -> set[Pattern]:
    """Return what patterns ask for in a folder, which is no link and not what they end at."""
    if place.is_symlink():
        raise _refusal(path, place, "is a link to a folder: name the folder that it leads to")
    if not (deeper := left - {()}):
        raise _refusal(path, place, "is a folder: name it, or write '**' for files of any depth")
    return deeper


def _refuse_twice(path: Path, place: Path, known: dict[object, Path]) -> None:
    """Refuse a file that was found already: under another name, or packed."""
    stat = place.stat()
    plain = place.with_suffix("") if place.suffix.lower() == ".gz" else place
    for mark in ((stat.st_dev, stat.st_ino or place), plain):
        other = known.setdefault(mark, place)
        if other != place:
            words = f"is {_within(path, other)} once more: remove one, or people count twice"
            raise _refusal(path, place, words)


def _refuse_release(path: Path, place: Path) -> None:
    """Refuse a file that is, or leads to, part of a release or of a table that keeps rows of earlier states."""
    real = place.resolve() if place.is_symlink() else place
    if real is not place:
        for folder in real.parents:
            _refuse_table(path, folder)
    try:
        released = _has_manifest(real.parent)
    except OSError as error:
        words = f"lies beside a '{MANIFEST}' that cannot be read ({error.strerror}): see to its rights"
        raise _refusal(path, place, words) from None
    if released:
        raise _refusal(path, place, "is part of a release, whose people would count again: move it elsewhere")


def _refuse_table(path: Path, folder: Path) -> None:
    """Refuse a folder whose files also hold rows that were changed or deleted."""
    if any(any(folder.glob(mark)) for mark in _TABLES):
        raise InputError(
            f"'{path}' is, or is part of, a Delta, Hudi or Iceberg table or a stream of Spark, whose files also hold "
            "rows that were changed, deleted or never counted: write it out as Parquet, or name it as a 'table' on "
            "Spark."
        )


def _refusal(path: Path, place: Path, words: str) -> InputError:
    return InputError(f"{_within(path, place)} in '{path}' {words}.")


def _within(path: Path, place: Path) -> str:
    """A place below the root of a search, without the values that names of folders hold."""
    parts = [part.partition("=") for part in place.relative_to(root_of(path)).parts]
    return f"'{Path(*(f'{name}=...' if sign else name for name, sign, _ in parts))}'"


def _kind_of(entry: os.DirEntry[str]) -> tuple[bool, bool]:
    """Whether it is a folder, and whether it is a file; neither where a link leads to nothing that may be read."""
    with suppress(OSError):
        return entry.is_dir(), entry.is_file()
    return False, False


def _left(patterns: Iterable[Pattern], name: str) -> set[Pattern]:
    """Return what is left of patterns behind a name that their first parts match."""
    found: set[Pattern] = set()
    for pattern in patterns:
        while pattern[:1] == ("**",):
            found.add(pattern)
            pattern = pattern[1:]
        if pattern and fnmatchcase(name, pattern[0]):
            found.add(pattern[1:])
    return found


def _is_done(left: Iterable[Pattern]) -> bool:
    """Whether one of patterns asks for nothing more."""
    return any(set(pattern) <= {"**"} for pattern in left)


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
        if place.is_relative_to(root.resolve()):
            above, pattern = place.relative_to(root.resolve()).parts, source.relative_to(root).parts
            if any(_matches((*above, name), pattern) for name in names):
                raise InputError(
                    f"{what} '{place}' would hold files that the pattern of the source matches: choose another folder."
                )


def _matches(parts: Sequence[str], pattern: Pattern) -> bool:
    """Whether a pattern matches a path that need not exist."""
    left = {pattern}
    for part in parts:
        left = _left(left, part)
    return _is_done(left)
