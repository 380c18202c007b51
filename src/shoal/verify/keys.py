"""Rows of whole numbers as one number each: sorting these takes a fraction of the time that hashing rows does."""

from __future__ import annotations

import numpy as np
import polars as pl

# Of a whole number, those that hold what is packed into it.
_BITS = 63
# Those of 128 bits are none that NumPy knows.
_WHOLE = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64)
# Rows in which small numbers are looked for before all others; numbers are small up to so many times those of rows.
_FIRST, _DENSE = 1 << 12, 4


def row_keys(frame: pl.DataFrame) -> np.ndarray | None:
    """One number a row, equal and in order exactly as the rows are; None where they are not all small whole numbers."""
    columns = frame.get_columns()
    if not columns or not all(column.dtype in _WHOLE and not column.null_count() for column in columns):
        return None
    # What does not fit is below 0 then.
    numbers = [column.to_numpy().astype(np.int64, copy=False) for column in columns]
    bits = [int(column.max(initial=0)).bit_length() for column in numbers]
    if sum(bits) > _BITS or min(int(column.min(initial=0)) for column in numbers) < 0:
        return None
    keys = np.zeros(frame.height, dtype=np.int64)
    for column, size in zip(numbers, bits, strict=True):
        keys = keys << size | column
    return keys


def key_runs(ordered: np.ndarray) -> np.ndarray:
    """Where each of the different numbers begins among numbers in order."""
    return np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])) if len(ordered) else np.arange(0)


def as_they_come(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Small numbers, numbered anew as they first come, and where each of the new ones first stands."""
    first = np.full(int(numbers.max()) + 1 if len(numbers) else 0, -1)
    start, size = 0, _FIRST
    # Mostly all of them stand among the first rows, and nobody has to look on.
    while start < len(numbers) and (first < 0).any():
        mine, found = numbers[start : start + size], np.full(len(first), -1)
        # Of several, the last that is written stays.
        found[mine[::-1]] = np.arange(start + len(mine) - 1, start - 1, -1)
        first = np.where(first < 0, found, first)
        start, size = start + size, 8 * size
    used = np.flatnonzero(first >= 0)
    used = used[np.argsort(first[used])]
    new = np.zeros(len(first), dtype=np.int64)
    new[used] = np.arange(len(used))
    return new[numbers], first[used]


def group_keys(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each number that of its group, in the order in which these first come, and where each group first stands."""
    if len(keys) and keys.min() >= 0 and keys.max() < _DENSE * len(keys):
        return as_they_come(keys)
    order = np.argsort(keys)
    begins = key_runs(keys[order])
    first = np.minimum.reduceat(order, begins) if len(keys) else order
    came = np.argsort(first)
    rank = np.empty_like(came)
    rank[came] = np.arange(len(rank))
    groups = np.empty_like(order)
    groups[order] = np.repeat(rank, np.diff(begins, append=len(keys)))
    return groups, first[came]


def count_rows(frame: pl.DataFrame) -> pl.DataFrame:
    """How often each combination of some columns occurs, as ``rows``."""
    keys = row_keys(frame)
    if keys is None:
        return frame.group_by(frame.columns).agg(rows=pl.len().cast(pl.Int64))
    return _summed(frame, keys, np.ones(len(keys), dtype=np.int64))


def add_counts(counted: pl.DataFrame) -> pl.DataFrame:
    """Combinations that were counted, some of them several times, each once; their ``rows`` are the last column."""
    frame = counted.drop("rows")
    keys = row_keys(frame)
    if keys is None:
        return counted.group_by(frame.columns).agg(pl.col("rows").sum())
    return _summed(frame, keys, counted["rows"].to_numpy())


def in_order(counted: pl.DataFrame) -> pl.DataFrame:
    """The same in ascending order of the combinations."""
    frame = counted.drop("rows")
    keys = row_keys(frame)
    if keys is None:
        return counted.sort(frame.columns)
    return counted if (keys[1:] > keys[:-1]).all() else counted[np.argsort(keys)]


def _summed(frame: pl.DataFrame, keys: np.ndarray, rows: np.ndarray) -> pl.DataFrame:
    order = np.argsort(keys)
    begins = key_runs(keys[order])
    total = np.add.reduceat(rows[order], begins) if len(keys) else rows
    return frame[order[begins]].with_columns(rows=pl.Series(total, dtype=pl.Int64))
