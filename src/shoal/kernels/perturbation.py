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


# ----------------------------------------
# Rank swapping: every record changes places with one whose value is near in rank.


def swap_ranks(window: int, draws: np.ndarray) -> np.ndarray:
    """Choose a partner for every rank, in O(n window) at worst: int64 ranks, its own where no partner is left.

    From the lowest on, a rank without a partner takes the first of those up to ``window`` above it that has none,
    from a place drawn at random on, and from the nearest again after the furthest.

    Parameters
    ----------
    draws
        float64 from 0 to 1, one a rank.
    """
    partner = np.empty(draws.size, dtype=np.int64)
    _native.swap_ranks(window, draws, partner)
    return partner


# ----------------------------------------
# Pairs of alike records from different areas, for record swapping.


def pair_apart(
    members: np.ndarray,
    starts: np.ndarray,
    area: np.ndarray,
    wanted: np.ndarray,
    draws: np.ndarray,
    partner: np.ndarray,
) -> None:
    """Give every wanted record that has no partner one of its own group, from another area, that has none either.

    From a place drawn at random on, the first that is wanted too is taken, or else the first of all. Cost: O(wanted
    records times records of a group) at worst.

    Parameters
    ----------
    members, starts
        int64, records group after group, and where each group begins, with the number of records at the end.
    area
        int32 area of each record.
    wanted
        uint8 flag a record.
    draws
        float64 from 0 to 1, one a record.
    partner
        int64 partner of each record, itself where it has none; changed in place.
    """
    _native.pair_apart(members, starts, area, wanted, draws, partner)


# ----------------------------------------
# Anatomy's groups: one record each from the l largest buckets, again and again (Xiao & Tao 2006).


def draw_groups(codes: np.ndarray, card: int, l: int) -> np.ndarray:  # noqa: E741
    """Draw groups of l records with different values, in O(n log card): int32 group of every record, -1 for none.

    Records are left when fewer than l buckets are.

    Parameters
    ----------
    codes
        int32, value of each record from 0 to ``card`` - 1, in keyed order: which record of a bucket is drawn, and which
        of equally large buckets, is then as random as that order.
    """
    ids = np.empty(codes.size, dtype=np.int32)
    _native.draw_groups(codes, card, l, ids)
    return ids
