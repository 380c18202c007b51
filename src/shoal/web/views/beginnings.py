"""The beginning of a source that is too large for a page, which has to come at once; jobs read it all."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import polars as pl

from shoal.io.files import is_typed
from shoal.io.swap import write_whole

LOOKED_AT = 32 << 20
_ROWS = 200_000
FOLDER = ".beginnings"


def beginning(folder: Path, path: Path) -> Path | None:
    """A private copy of the first rows of a large file, below a project's folder; None where it is small.

    Workbooks and files of statistics programs are never so large that it would be worth the while.
    """
    known = path.stat()
    packed = path.suffix.lower() == ".gz"
    if path.is_dir() or known.st_size <= (LOOKED_AT // 8 if packed else LOOKED_AT):
        return None
    parquet = path.suffix.lower() == ".parquet"
    if is_typed(path) and not parquet:
        return None
    place = folder / FOLDER / f"{known.st_mtime_ns}-{known.st_size}" / (path.stem if packed else path.name)
    if place.exists():
        return place
    shutil.rmtree(folder / FOLDER, ignore_errors=True)
    place.parent.mkdir(mode=0o700, parents=True)
    (folder / FOLDER).chmod(0o700)
    if parquet:
        pl.scan_parquet(path).head(_ROWS).collect().write_parquet(place)
        place.chmod(0o600)
        return place
    with gzip.open(path) if packed else path.open("rb") as file:
        write_whole(place, file.read(LOOKED_AT).rpartition(b"\n")[0] + b"\n")
    return place
