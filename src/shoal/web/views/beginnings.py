"""The beginning of a source that is too large for a page, which has to come at once; jobs read it all."""

from __future__ import annotations

import codecs
import gzip
import os
import shutil
import time
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import AnyStr

import polars as pl

from shoal.errors import InputError
from shoal.io.files import is_typed
from shoal.io.swap import write_whole

LOOKED_AT = 32 << 20
_ROWS = 200_000
_CELLS = 20_000_000  # of Parquet, of which a kilobyte holds any number
_UNPACKED = 4  # times as much as is looked at of a text
FOLDER = ".beginnings"
_WIDE = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_UNUSED = 3600.0  # seconds after which a copy goes
_LONGEST = 1000  # lines of one quoted cell


def beginning(folder: Path, path: Path) -> Path | None:
    """A private copy of the first rows of a large file, below a project's folder; None where it is small.

    Workbooks and files of statistics programs have no beginning that could be read alone.
    """
    known = path.stat()
    packed = path.suffix.lower() == ".gz"
    if path.is_dir() or (is_typed(path) and path.suffix.lower() != ".parquet"):
        return None
    if known.st_size <= (LOOKED_AT // 8 if packed else LOOKED_AT) and not _is_long(path):
        return None
    stamp = f"{known.st_mtime_ns}-{known.st_size}-{known.st_ino}"
    place = folder / FOLDER / stamp / (path.stem if packed else path.name)
    with suppress(FileNotFoundError):
        os.utime(place.parent)  # it is in use, before somebody else finds it old
    if not place.exists():
        _make(path, place, packed)
    _forget(folder / FOLDER)
    return place


def _is_long(path: Path) -> bool:
    """Whether Parquet holds more than its size tells; what cannot be read is told by who reads it."""
    if path.suffix.lower() != ".parquet":
        return False
    try:
        lazy = pl.scan_parquet(path, glob=False, hive_partitioning=False)
        rows, width = lazy.select(pl.len()).collect().item(), len(lazy.collect_schema())
    except (pl.exceptions.PolarsError, OSError):
        return False
    return bool(rows * width > _CELLS)


def refuse_large(path: Path) -> None:
    """Refuse what has no beginning that could be read alone, and is too large for a page."""
    if path.is_dir() or not is_typed(path) or path.suffix.lower() == ".parquet":
        return
    size = path.stat().st_size
    with suppress(zipfile.BadZipFile), zipfile.ZipFile(path) as content:
        size = sum(one.file_size for one in content.infolist())
    if size > _UNPACKED * LOOKED_AT:
        raise InputError(f"'{path.name}' is too large for a page, not for jobs: upload it as CSV or Parquet to see it.")


def _make(path: Path, place: Path, packed: bool) -> None:
    """Write a copy aside, and put it into its place whole: pages that ask at the same moment never see a part of it."""
    root = place.parent.parent
    root.mkdir(mode=0o700, exist_ok=True)
    aside = Path(mkdtemp(prefix=f"{place.parent.name}.", dir=root))
    try:
        _copy(path, aside / place.name, packed)
        aside.rename(place.parent)
    except OSError:
        if not place.exists():  # else another page was quicker
            raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _forget(root: Path) -> None:
    """Remove copies that no page has asked for in a while, and what a server that was killed left of others."""
    for one in root.iterdir():
        with suppress(FileNotFoundError):  # another page removes it
            if time.time() - one.stat().st_mtime > _UNUSED:
                shutil.rmtree(one, ignore_errors=True)


def _copy(path: Path, place: Path, packed: bool) -> None:
    if path.suffix.lower() == ".parquet":
        lazy = pl.scan_parquet(path, glob=False, hive_partitioning=False)
        rows = max(1, min(_ROWS, _CELLS // max(len(lazy.collect_schema()), 1)))
        lazy.head(rows).collect().write_parquet(place)
        place.chmod(0o600)
        return
    try:
        with gzip.open(path) if packed else path.open("rb") as file:
            data = file.read(LOOKED_AT)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise InputError(f"'{path.name}' is damaged and cannot be unpacked: upload it again.") from None
    write_whole(place, whole_lines(data))


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
