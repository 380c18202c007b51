"""Redrawing cells of records: which columns, and what from, both keyed by the record alone.

Values come from alias tables (Walker 1977; Vose 1991): a draw picks one of as many equal slots as there are values,
and the slot keeps it or passes it on. The tables are made in whole numbers, so every value has exactly its share.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels import _native
from shoal.kernels.cores import share_rows

# Above this length a second core pays for its start.
_PARALLEL_FROM = 1 << 16


def alias_table(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Make the slots of one column in O(codes): float64 share that each keeps, and int32 code that gets the rest.

    Parameters
    ----------
    counts
        int64, rows of each code, at least one row in all.
    """
    keep, other = np.empty(counts.size), np.empty(counts.size, dtype=np.int32)
    _native.alias_table(counts, keep, other)
    return keep, other


def redraw_cells(
    codes: np.ndarray, rows: np.ndarray, key: np.ndarray, p: np.ndarray, redraw: int, counts: list[np.ndarray]
) -> None:
    """Choose ``redraw`` distinct columns of every record and draw their values anew, in place, in O(n (m + redraw^2)).

    Parameters
    ----------
    codes
        int32, shape (m, n), C-contiguous: the columns that may be redrawn.
    rows
        uint64, shape (n,): row keys.
    key
        uint64, shape (2,): the stream's key. Turn t of a record takes both words of draw t: column, value.
    p
        float64, shape (m,), all above 0, sum 1; all the same with ``redraw`` above 1, where columns are not put back.
    counts
        int64 rows of each code, one array a column.
    """
    tables = [alias_table(np.ascontiguousarray(column, dtype=np.int64)) for column in counts]
    at = np.cumsum([0, *(column.size for column in counts)], dtype=np.int64)
    slots = (np.concatenate([keep for keep, _ in tables]), np.concatenate([other for _, other in tables]), at)
    bounds = np.cumsum(p)[:-1]
    share_rows(
        rows.size,
        lambda start, stop: _native.redraw_block(codes, rows, key, bounds, redraw, slots, start, stop),
        _PARALLEL_FROM,
    )
