"""Rows on disk in the order of their random bits, without sorting all of them at once.

The bits are uniform, so their highest ones deal the rows into buckets of about the same size; the buckets come one
after another, each sorted by itself.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import polars as pl

from shoal.table.spill import spilling

_BUCKET = 1 << 18  # rows
_TOGETHER = 8  # parts that are dealt at once, so that there are fewer files


def by_bits(parts: Iterable[pl.DataFrame], n: int, folder: Path) -> Iterator[pl.DataFrame]:
    """Batches of rows ordered by ``b``, then by ``r``.

    Parameters
    ----------
    n
        How many there are in all.
    folder
        A private folder to keep them in meanwhile.
    """
    bits = max((n - 1) // _BUCKET, 0).bit_length()
    folder = Path(tempfile.mkdtemp(dir=folder))
    try:
        for number, dealt in enumerate(_together(parts)):
            bucket = pl.Series("bucket", dealt["b"].to_numpy() >> (64 - bits)) if bits else pl.lit(0).alias("bucket")
            for (to,), rows in dealt.with_columns(bucket).partition_by(
                "bucket", as_dict=True, include_key=False
            ).items():
                place = folder / f"{to}"
                with spilling():
                    place.mkdir(0o700, exist_ok=True)
                    rows.write_parquet(place / f"{number}.parquet", compression="lz4")
        for to in range(1 << bits):
            place = folder / f"{to}"
            if place.is_dir():
                files = sorted(place.iterdir())
                yield pl.concat([pl.read_parquet(one, glob=False, hive_partitioning=False) for one in files]).sort(
                    "b", "r"
                )
                shutil.rmtree(place)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _together(parts: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """The same rows in fewer parts."""
    waiting: list[pl.DataFrame] = []
    for part in parts:
        waiting.append(part)
        if len(waiting) == _TOGETHER:
            yield pl.concat(waiting)
            waiting = []
    if waiting:
        yield pl.concat(waiting)
