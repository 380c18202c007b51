"""Which files a path, a folder or a pattern stands for; what is hidden in them, and what may not be put among them.

Below what was named, names that begin with '.' or '_' are hidden, as Spark and Hive have it: such are copies that
editors keep, and what unfinished jobs leave. Whoever spells such a name means it. Nothing else is left out without a
word, and what would be read twice is refused.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path
from typing import NamedTuple

from shoal.errors import InputError
from shoal.io.files import extension_of
from shoal.verify.folder import MANIFEST

ENDINGS = (".parquet", ".csv", ".tsv", ".txt", ".data", ".gz")
_MARKS, _MAGIC, _HIDING = "._", "*?[", "names that begin with '.' or '_' are left out"
_BELOW = ("**", "*")  # the pattern that a folder stands for
# What tells a table whose folder also keeps rows of its earlier states, or of attempts to write it that failed.
_TABLES = {
    "Delta": "_delta_log", "Hudi": ".hoodie", "Iceberg": "metadata/snap-*.avro", "Spark's streams": "_spark_metadata"
}  # fmt: skip

Pattern = tuple[str, ...]


class Found(NamedTuple):
    """Files, and how many names were left out: hidden ones (a hidden folder is one), and folders where files end."""

    files: list[Path]
    hidden: int = 0
    folders: int = 0

    @property
    def told(self) -> str:
        """How many there are, in words."""
        left_out = [f"{self.hidden:,} hidden"] if self.hidden else []
        left_out += [_counted(self.folders, "folder")] if self.folders else []
        return _counted(len(self.files), "file") + (f", leaving out {' and '.join(left_out)}" if left_out else "")


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'s'[: count > 1]}"


def files_of(path: str | Path) -> list[Path]:
    """The files that a path, a folder or a pattern names, all of one kind, each once."""
    return found_at(path).files


def found_at(path: str | Path) -> Found:
    """The same, with what is left out."""
    path = Path(path)
    if path.is_file():
        return Found([path])
    if not path.is_dir() and not is_pattern(path):
        raise InputError(f"There is no file '{path}': check the path.")
    search = _Search(path)
    found = sorted(search.files())
    if not found and path.is_dir():
        raise InputError(f"The folder '{path}' holds no CSV and no Parquet file ({_HIDING}): check the path.")
    if not found:
        raise InputError(f"No file matches '{path}' ({_HIDING} unless spelt): check the pattern.")
    if len({extension_of(one) == ".parquet" for one in found}) > 1:
        raise InputError(f"'{path}' names both Parquet and text files: name those of one kind.")
    return Found(found, search.hidden, search.folders)


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


class _Search:
    """A walk below a folder or a pattern, name by name, so that nothing that cannot be looked into is passed by.

    Links to folders are followed where a pattern says how deep files are, and refused in a folder.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._root, self._whole = path, root_of(path), path.is_dir()
        self._known: dict[object, Path] = {}
        self._again: list[tuple[Path, Path]] = []  # folders under another name, with the first one
        self._looked: set[Path] = set()  # folders that are no tables of before
        self._holding: set[Path] = set()  # folders with files below them
        self.hidden = self.folders = 0

    def files(self) -> Iterator[Path]:
        """All files, in no order."""
        if not self._root.is_dir():
            return
        self._refuse_states(self._root.resolve().parents)
        waiting = [(self._root, {_BELOW if self._whole else self._path.relative_to(self._root).parts})]
        while waiting:
            folder, patterns = waiting.pop()
            try:
                found = list(self._seen(folder, self._new(folder, patterns)))
            except OSError as error:
                raise self._refused(folder, f"cannot be looked into ({error.strerror}): see to its rights") from None
            waiting += [(place, left) for place, left in found if left]
            files = [place for place, left in found if not left]
            self._refuse_release(files[:1], folder)
            self._holding.update(parent for place in files for parent in place.parents)
            yield from files
        for folder, other in self._again:
            if other in self._holding:
                raise self._once_more(folder, other)

    def _new(self, folder: Path, patterns: set[Pattern]) -> set[Pattern]:
        """Patterns that were not looked for in a folder yet, under any of its names, so that links in circles end."""
        mark = _mark(folder)
        known = {pattern: self._known.setdefault((mark, pattern), folder) for pattern in patterns}
        self._again += [(folder, other) for other in known.values() if other != folder]
        return {pattern for pattern, other in known.items() if other == folder}

    def _seen(self, folder: Path, patterns: set[Pattern]) -> Iterator[tuple[Path, set[Pattern]]]:
        """Folders to go on in, with what is left of patterns behind them, and files, behind which nothing is."""
        self._refuse_states([folder])
        with os.scandir(folder) as listed:
            entries = sorted(listed, key=lambda entry: entry.name)
        for entry in entries:
            if not (asked := _left(patterns, entry.name, hidden=False)):
                continue
            place, is_link = folder / entry.name, entry.is_symlink()
            is_folder, is_file = _kind_of(entry)
            hidden = _hides(entry.name, is_folder)
            left = _left(patterns, entry.name, hidden=True) if hidden else asked
            wanted = self._is_wanted(place, left)
            if hidden and not left:
                self.hidden += bool(asked - {()}) if is_folder else self._is_wanted(place, asked)
            elif is_folder and (deeper := left - {()}):
                if self._whole and is_link:
                    raise self._refused(place, "is a link to a folder, which only patterns follow: name files by one")
                self._refuse_states([place.resolve(), *place.resolve().parents] if is_link else [])
                yield place, deeper
            elif is_folder:
                self.folders += 1
            elif not is_file and (wanted or is_link):
                raise self._refused(
                    place, "is neither a file nor a folder that is there and open to us: mend or remove it"
                )
            elif is_file and wanted:
                self._refuse_again(place)
                if is_link:  # to a file that is what it is where it lies
                    self._refuse_release([place], place.resolve().parent)
                    self._refuse_states(place.resolve().parents)
                yield place, set()

    def _is_wanted(self, place: Path, left: set[Pattern]) -> bool:
        return _is_done(left) and (not self._whole or place.suffix.lower() in ENDINGS)

    def _refuse_again(self, place: Path) -> None:
        """Refuse a file that was found already: by another name, or packed."""
        plain = place.with_suffix("") if place.suffix.lower() == ".gz" else place
        for mark in (_mark(place), plain):
            other = self._known.setdefault(mark, place)
            if other != place:
                raise self._once_more(place, other)

    def _refuse_release(self, files: Iterable[Path], folder: Path) -> None:
        """Refuse files that are of a folder in which a release is, or may be."""
        for place in files:
            try:
                released = _has_manifest(folder)
            except OSError as error:
                words = f"lies beside a '{MANIFEST}' that cannot be read ({error.strerror}): see to its rights"
                raise self._refused(place, words) from None
            if released:
                raise self._refused(place, "is part of a release, whose people would count again: move it elsewhere")

    def _refuse_states(self, folders: Iterable[Path]) -> None:
        """Refuse tables that keep rows of before they were changed beside those of now."""
        new = [folder for folder in folders if folder not in self._looked]
        self._looked.update(new)
        for folder, (kind, mark) in product(new, _TABLES.items()):
            if any(folder.glob(mark)):
                raise InputError(
                    f"'{self._path}' is, or is part of, a table of {kind}, whose files also hold rows that were "
                    "changed, deleted or never counted: write it out as Parquet, or name it as a 'table' on Spark."
                )

    def _once_more(self, place: Path, other: Path) -> InputError:
        return self._refused(place, f"is {self._told(other)} once more: remove one, or people count twice")

    def _refused(self, place: Path, words: str) -> InputError:
        return InputError(f"{self._told(place)} in '{self._path}' {words}.")

    def _told(self, place: Path) -> str:
        """A place from where the search began, without what folders say of people."""
        parts = [part.partition("=") for part in place.relative_to(self._root).parts]
        return f"'{Path(*(f'{name}=...' if sign else name for name, sign, _ in parts))}'"


def _mark(place: Path) -> tuple[int, object]:
    """What a place is, whatever its name."""
    told = place.stat()
    return told.st_dev, told.st_ino or place


def _kind_of(entry: os.DirEntry[str]) -> tuple[bool, bool]:
    """Whether it is a folder, and whether it is a file; neither where a link leads to what nobody may look at."""
    with suppress(OSError):
        return entry.is_dir(), entry.is_file()
    return False, False


def _hides(name: str, is_folder: bool) -> bool:
    # A folder of a partition is none that somebody hides, whatever its column is called.
    return is_hidden(name) and not (is_folder and name.startswith("_") and "=" in name)


def _left(patterns: Iterable[Pattern], name: str, *, hidden: bool) -> set[Pattern]:
    """What is left of patterns behind a name that their first parts take; one that is hidden has to be spelt."""
    found: set[Pattern] = set()
    for pattern in patterns:
        while pattern[:1] == ("**",):
            found |= set() if hidden else {pattern}
            pattern = pattern[1:]
        if pattern and fnmatchcase(name, pattern[0]) and (not hidden or _spells(pattern[0], name)):
            found.add(pattern[1:])
    return found


def _is_done(left: Iterable[Pattern]) -> bool:
    """Whether one of patterns asks for nothing more."""
    return any(set(pattern) <= {"**"} for pattern in left)


def _spells(part: str, name: str) -> bool:
    """Whether a part of a pattern that matches a name says itself what that begins with."""
    return name[0] in (part[: part.find("]", 2) + 1] if part.startswith("[") else part[:1])


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
    """Whether a pattern matches a path that need not exist, hidden or not."""
    left = {pattern}
    for part in parts:
        left = _left(left, part, hidden=False)
    return _is_done(left)
