"""Rows on disk in the order of their random bits, without sorting all of them at once.

The bits are uniform, so their highest ones deal the rows into buckets of about the same size; the buckets come one
after another, each sorted by itself.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import polars as pl

from shoal.data.table import read_part, spilling

_BUCKET = 1 << 19  # rows
_TOGETHER = 8  # parts that are dealt at once, so that there are fewer files


def by_bits(parts: Iterable[pl.DataFrame], n: int, folder: Path) -> Iterator[pl.DataFrame]:
    """Batches of rows ordered by ``b``, then by ``r``.

    Parameters
    ----------
    parts
        Rows by ``r``.
    n
        How many there are in all.
    folder
        A private folder to keep them in meanwhile.
    """
    bits = min(max((n - 1) // _BUCKET, 0).bit_length(), 16)
    folder = Path(tempfile.mkdtemp(dir=folder))
    try:
        for number, dealt in enumerate(_together(parts)):
            bucket = _buckets(dealt["b"].to_numpy(), bits)
            order = np.argsort(bucket, kind="stable")
            rows, ends = dealt[order], np.searchsorted(bucket[order], np.arange((1 << bits) + 1))
            for to in range(1 << bits):
                place, count = folder / f"{to}", int(ends[to + 1] - ends[to])
                if count:
                    with spilling():
                        place.mkdir(0o700, exist_ok=True)
                        rows.slice(int(ends[to]), count).write_ipc(place / f"{number:08d}", compression="uncompressed")
        for to in range(1 << bits):
            place = folder / f"{to}"
            if place.is_dir():
                parts = [read_part(one) for one in sorted(place.iterdir())]
                yield in_order(pl.concat(parts, rechunk=True))
                shutil.rmtree(place)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _buckets(keys: np.ndarray, bits: int) -> np.ndarray:
    """The highest bits, in a type that is sorted by counting."""
    return (keys >> np.uint64(64 - bits)).astype(np.uint16) if bits else np.zeros(keys.size, dtype=np.uint16)


def in_order(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows by ``b``, then by ``r``; they came by ``r``, so that a stable order keeps those of one ``b`` by it."""
    keys = rows["b"].to_numpy()
    order = np.argsort(keys)
    if (np.diff(keys[order]) == 0).any():
        order = np.argsort(keys, kind="stable")
    return rows[order]


def _together(parts: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """The same rows in fewer parts, each in one piece: rows are taken from several in twice the time."""
    waiting: list[pl.DataFrame] = []
    for part in parts:
        waiting.append(part)
        if len(waiting) == _TOGETHER:
            yield pl.concat(waiting, rechunk=True)
            waiting = []
    if waiting:
        yield pl.concat(waiting, rechunk=True)
