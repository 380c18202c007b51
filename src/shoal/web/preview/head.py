"""The beginning of a source that is too large for a page, which has to come at once; jobs read it all."""

from __future__ import annotations

import codecs
import io
import os
import shutil
import time
import zipfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import AnyStr

import numpy as np
import polars as pl

from shoal.errors import InputError
from shoal.io.atomic import write_whole
from shoal.io.files import first_unpacked, is_typed
from shoal.recipe.sniff import SEPARATORS
from shoal.web.preview.cache import apart, remembered

LOOKED_AT = 32 << 20
_ROWS = 200_000
_CELLS = 4_000_000  # of which a megabyte of text holds a million, and a kilobyte of Parquet any number
_UNPACKED = 4  # times as much as is looked at of a text
FOLDER = ".beginnings"
_WIDE = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_UNUSED = 3600.0  # seconds after which a copy goes
_LONGEST = 1000  # lines of one quoted cell
_COUNTED = 1 << 16  # bytes of text whose marks are counted at a time


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """How much of a source a page looks at: bytes as they are unpacked, rows, and cells."""

    bytes: int
    rows: int
    cells: int


def beginning(folder: Path, path: Path) -> Path | None:
    """A private copy of the first rows of a large file, below a project's folder; None where it is small.

    Workbooks and files of statistics programs have no beginning that could be read alone.
    """
    known = path.stat()
    place = folder / FOLDER / _stamp(known) / (path.stem if _is_packed(path) else path.name)
    with suppress(FileNotFoundError):
        os.utime(place.parent)  # it is in use, before somebody finds it old
    _forget(folder / FOLDER)  # also where this file is small: copies of one that was here before it
    if _has_none(path):
        return None
    if not place.exists():
        asked = (str(folder), str(path), str(place), _bounds())
        try:
            if not _is_cut(*asked):
                return None
        finally:
            if not _is_same(path, known):  # and its copies may have been removed before this one was made
                shutil.rmtree(place.parent, ignore_errors=True)
        if not place.exists():  # somebody found it old meanwhile, or replaced the file
            _is_cut.forget(*asked)
            return beginning(folder, path)
    return place


def is_large(folder: Path, path: Path) -> bool:
    """Whether a file has more than its beginning, of which no copy is made."""
    return not _has_none(path) and _is_longer(str(folder), str(path), _stamp(path.stat()), _bounds())


def _stamp(known: os.stat_result) -> str:
    return f"{known.st_mtime_ns}-{known.st_size}-{known.st_ino}"


def _is_same(path: Path, known: os.stat_result) -> bool:
    """Whether a file was neither replaced nor removed; one that is offered may grow all the time."""
    try:
        return os.path.samestat(path.stat(), known)
    except OSError:
        return False


def _has_none(path: Path) -> bool:
    return path.is_dir() or (is_typed(path) and path.suffix.lower() != ".parquet")


def _bounds() -> Bounds:
    return Bounds(bytes=LOOKED_AT, rows=_ROWS, cells=_CELLS)


def forget_copies(folder: Path) -> None:
    """Remove all copies of beginnings in a project's folder, and what a process that was killed left beside them."""
    shutil.rmtree(folder / FOLDER, ignore_errors=True)


def _is_packed(path: Path) -> bool:
    return path.suffix.lower() == ".gz"


@remembered(256)
def _is_cut(folder: str, path: str, place: str, bounds: Bounds) -> bool:
    return apart(make_beginning, Path(path), Path(place), bounds, within=folder)


@remembered(256)
def _is_longer(folder: str, path: str, stamp: str, bounds: Bounds) -> bool:
    return apart(has_more, Path(path), bounds, within=folder)


def refuse_large(folder: Path, path: Path) -> None:
    """Refuse what has no beginning that could be read alone, and says that it is too large for a page."""
    if path.is_dir() or not _has_none(path):
        return
    known = path.stat()
    size, most = known.st_size, _UNPACKED * LOOKED_AT
    if size <= most:
        size = _claimed(str(folder), str(path), known.st_mtime_ns, size)
    if size > most:
        raise InputError(f"'{path.name}' is too large for a page, not for jobs: upload it as CSV or Parquet to see it.")


@remembered(256)
def _claimed(folder: str, path: str, changed: int, size: int) -> int:
    return apart(claimed_size, Path(path), within=folder)


def claimed_size(path: Path) -> int:
    """How many bytes a workbook says that it unpacks to, which need not be true; else how many it has."""
    with suppress(zipfile.BadZipFile, OSError), zipfile.ZipFile(path) as content:
        return sum(one.file_size for one in content.infolist())
    return path.stat().st_size


def make_beginning(path: Path, place: Path, bounds: Bounds) -> bool:
    """Whether a file is larger than its bounds, after putting a copy of its beginning into its place.

    It is written aside, and comes into its place whole: pages that ask at the same moment never see a part of it.
    """
    part = _part(path, bounds)
    if part is None:
        return False
    root = place.parent.parent
    root.mkdir(mode=0o700, exist_ok=True)
    aside = Path(mkdtemp(prefix=f"{place.parent.name}.", dir=root))
    try:
        write_whole(aside / place.name, part)
        aside.rename(place.parent)
    except OSError:
        if aside.exists() and not place.exists():  # else copies are removed just now, or another page was quicker
            raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return True


def has_more(path: Path, bounds: Bounds) -> bool:
    """Whether a file is larger than its bounds."""
    return _part(path, bounds) is not None


def _part(path: Path, bounds: Bounds) -> bytes | None:
    return _first_rows(path, bounds) if path.suffix.lower() == ".parquet" else _first_lines(path, bounds)


def _forget(root: Path) -> None:
    """Remove copies that no page has asked for in a while, and what a process that was killed left of others."""
    for one in root.glob("*"):
        with suppress(FileNotFoundError):  # another page removes it
            if time.time() - one.stat().st_mtime > _UNUSED:
                shutil.rmtree(one, ignore_errors=True)


def _first_lines(path: Path, bounds: Bounds) -> bytes | None:
    """The beginning of a text; None where all of it is within its bounds."""
    if _is_packed(path):
        data, whole = first_unpacked(path, bounds.bytes)
    else:
        with path.open("rb") as file:
            data = file.read(bounds.bytes)
            whole = not file.read(1)
    end = within(data, bounds)
    return None if whole and end == len(data) else whole_lines(data[:end])


def _first_rows(path: Path, bounds: Bounds) -> bytes | None:
    """The same of Parquet, whose size tells little; what cannot be read is told by who reads it."""
    made = io.BytesIO()
    try:
        lazy = pl.scan_parquet(path, glob=False, hive_partitioning=False)
        rows, width = lazy.select(pl.len()).collect().item(), len(lazy.collect_schema())
        most = max(1, min(bounds.rows, bounds.cells // max(width, 1)))
        if rows <= most and path.stat().st_size <= bounds.bytes:
            return None
        lazy.head(most).collect().write_parquet(made)
    except pl.exceptions.PolarsError:
        return None
    return made.getvalue()


def within(data: bytes, bounds: Bounds) -> int:
    """Where a text has as many rows, or about as many cells, as a page looks at; its end where it has fewer."""
    marks, rows = np.zeros(256, np.int64), 0
    for at in range(0, len(data), _COUNTED):
        part = np.frombuffer(data, np.uint8, min(_COUNTED, len(data) - at), at)
        marks += np.bincount(part, minlength=256)
        if marks[ord("\n")] > bounds.rows:
            return at + int(np.flatnonzero(part == ord("\n"))[bounds.rows - rows]) + 1
        rows = int(marks[ord("\n")])
        if rows + max(int(marks[ord(mark)]) for mark in SEPARATORS) > bounds.cells:
            return at + part.size
    return len(data)


def whole_lines(data: bytes) -> bytes:
    """The beginning of a text up to the end of a line, of which no quoted cell goes on behind it.

    All of it where it has no line break.
    """
    coding = _WIDE.get(data[:2])
    if coding is None:
        return data[: _end(data, b"\n", b'"')]
    text = data[: len(data) // 2 * 2].decode(coding, "surrogatepass")
    return text[: _end(text, "\n", '"')].encode(coding, "surrogatepass")


def _end(text: AnyStr, line: AnyStr, quote: AnyStr) -> int:
    """Where the last line ends behind which no quoted cell goes on; the last of all where a quote is a stray one."""
    stop = last = text.rfind(line)
    if last < 0:
        return len(text)
    inside = text.count(quote, 0, stop) % 2
    for _ in range(_LONGEST):
        if not inside:
            return stop + 1
        earlier = text.rfind(line, 0, stop)
        if earlier < 0:
            break
        inside ^= text.count(quote, earlier, stop) % 2
        stop = earlier
    return last + 1
