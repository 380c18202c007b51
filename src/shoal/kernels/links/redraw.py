"""Redrawing cells of records: which columns, and what from, both keyed by the record alone.

Values come from alias tables (Walker 1977; Vose 1991): a draw picks one of as many equal slots as there are values,
and the slot keeps it or passes it on. The tables are made in whole numbers, so every value has exactly its share.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import kernel
from shoal.kernels.cores import share_rows
from shoal.kernels.frozen.random import threefry_pair

# Above this length a second core pays for its start.
_PARALLEL_FROM = 1 << 16
_UNIT = 1.0 / (1 << 53)


@kernel
def alias_table(counts: np.ndarray) -> tuple:
    """Slots of one column: the share of itself that each keeps, and the code that gets the rest.

    Parameters
    ----------
    counts
        int64, rows of each code, at least one row in all.
    """
    card = counts.size
    rows = counts.sum()
    # In units of 1 / (rows * card) a slot holds exactly ``rows``.
    left = counts * card
    keep = np.ones(card)
    other = np.arange(card).astype(np.int32)
    small = np.empty(card, dtype=np.int64)
    large = np.empty(card, dtype=np.int64)
    n_small = n_large = 0
    for code in range(card):
        if left[code] < rows:
            small[n_small] = code
            n_small += 1
        else:
            large[n_large] = code
            n_large += 1
    while n_small > 0 and n_large > 0:
        n_small -= 1
        low, high = small[n_small], large[n_large - 1]
        keep[low] = left[low] / rows
        other[low] = high
        left[high] -= rows - left[low]
        if left[high] < rows:
            n_large -= 1
            small[n_small] = high
            n_small += 1
    return keep, other


@kernel
def _choose(u: float, turn: int, bounds: np.ndarray, taken: np.ndarray) -> int:
    """A column for a draw: by ``bounds`` in the first turn, any of those not ``taken`` (ascending) in others."""
    column = 0
    if turn == 0:
        # Adding up comparisons instead of stopping at the first: nobody can predict where that would be.
        for bound in bounds:
            column += u >= bound
        return column
    column = int(u * (bounds.size + 1 - turn))
    for k in range(turn):
        column += column >= taken[k]
    return column


@kernel
def _redraw_block(
    codes: np.ndarray,
    rows: np.ndarray,
    key: np.ndarray,
    bounds: np.ndarray,
    redraw: int,
    tables: tuple,
    start: int,
    stop: int,
) -> None:
    keep, other, at = tables
    size = stop - start
    # Both words of all records first, which vectorises.
    which, what = np.empty(size), np.empty(size)
    taken = np.empty((size, redraw), dtype=np.int64)
    for turn in range(redraw):
        for i in range(size):
            one, two = threefry_pair(key[0], key[1], rows[start + i], np.uint64(turn))
            which[i] = (one >> np.uint64(11)) * _UNIT
            what[i] = (two >> np.uint64(11)) * _UNIT
        for i in range(size):
            column = _choose(which[i], turn, bounds, taken[i])
            k = turn
            while k > 0 and taken[i, k - 1] > column:
                taken[i, k] = taken[i, k - 1]
                k -= 1
            taken[i, k] = column
            first = at[column]
            place = what[i] * (at[column + 1] - first)
            slot = int(place)
            spare = other[first + slot]
            codes[column, start + i] = slot if place - slot < keep[first + slot] else spare


def redraw_cells(
    codes: np.ndarray, rows: np.ndarray, key: np.ndarray, p: np.ndarray, redraw: int, counts: list[np.ndarray]
) -> None:
    """Choose ``redraw`` distinct columns of every record and draw their values anew, in place.

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
    made = [alias_table(np.ascontiguousarray(column, dtype=np.int64)) for column in counts]
    at = np.cumsum([0, *(column.size for column in counts)], dtype=np.int64)
    tables = (np.concatenate([keep for keep, _ in made]), np.concatenate([other for _, other in made]), at)
    bounds = np.cumsum(p)[:-1]
    share_rows(
        rows.size,
        lambda start, stop: _redraw_block(codes, rows, key, bounds, redraw, tables, start, stop),
        _PARALLEL_FROM,
    )
