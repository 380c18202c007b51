"""Bottom-up local recoding (Xu et al. 2006): groups that are too small join the group with which they cost least."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from shoal.kernels import _native
from shoal.kernels.cores import share, share_rows
from shoal.kernels.prices import Prices, make_column_extents


def merge_entries(
    p: Prices, codes: np.ndarray, counts: np.ndarray, starts: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Merge entries (equal records) until no group has fewer than k records; one core or several do the same.

    Cost: O(entries squared times columns) in each part.

    Parameters
    ----------
    codes
        int32 (columns, entries), in the order of their first records within each part.
    counts
        int64, records of each entry.
    starts
        int64, first entry of each part, and their number.

    Returns
    -------
    parent, passes
        int64: an earlier entry of the same group, or itself; passes over the groups of each part.
    """
    parent = np.empty(counts.size, dtype=np.int64)
    passes = np.empty(starts.size - 1, dtype=np.int64)

    def merge(part: int) -> None:
        passes[part] = _native.merge_part(p, codes, counts, starts[part], starts[part + 1], k, parent)

    share(passes.size, merge)
    return parent, passes


def roots(parent: np.ndarray) -> np.ndarray:
    """Find the first entry of each entry's group in O(entries); parents (int64) come before their children."""
    out = np.empty(parent.size, dtype=np.int64)
    _native.find_roots(parent, out)
    return out


# ----------------------------------------
# Finding, for groups that fail a model, the group to merge with that costs least.


_LEAST_GROUPS = 64  # groups that are worth a thread

# Cells of all groups (columns, groups), and int64 their records and the ticks of each group as a whole.
Priced = namedtuple("Priced", "cells size loss")


def price_groups(p: Prices, codes: np.ndarray, ids: np.ndarray, groups: int, weights: np.ndarray | None) -> Priced:
    """Price groups of records, or of cells that have rows as weights, in O(columns times records).

    ``codes`` are int32 (columns, records), ``ids`` the records' groups, ``weights`` int64 or None.
    """
    priced = Priced(make_column_extents(p, groups), np.zeros(groups, dtype=np.int64), np.empty(groups, dtype=np.int64))
    _native.price_groups(p, np.ascontiguousarray(codes), ids.astype(np.int64, copy=False), weights, priced)
    return priced


def nearest_groups(
    p: Prices,
    codes: np.ndarray,
    ids: np.ndarray,
    groups: int,
    which: np.ndarray,
    window: int,
    weights: np.ndarray | None = None,
) -> np.ndarray:
    """Find, for some groups, the group among ``window`` on either side whose joining raises the price least.

    ``which`` is int64, from 0 to ``groups`` - 1. Other arguments are those of `price_groups`. The result is int64, -1
    where there is no other group. Cost: O(columns times ``window``) for each group.
    """
    nearest = np.full(which.size, -1, dtype=np.int64)
    priced = price_groups(p, codes, ids, groups, weights)
    share_rows(
        which.size,
        lambda start, stop: _native.nearest_groups(p, priced, which, window, nearest, start, stop),
        _LEAST_GROUPS,
    )
    return nearest


def pair_off(which: np.ndarray, nearest: np.ndarray, groups: int) -> np.ndarray:
    """Number the groups (int32) after the pairs of ``which`` and ``nearest`` (int64) are merged, in O(groups).

    A group takes part in one merger at most; earlier pairs come first.
    """
    number = np.empty(groups, dtype=np.int32)
    _native.pair_off(which, nearest, number)
    return number


# ----------------------------------------
# Near records of every record: windows in several sorted orders, then the neighbours of neighbours.


_LEAST_ROWS = 256  # rows that are worth a thread


def offer_windows(
    codes: np.ndarray, p: Prices, order: np.ndarray, width: int, near: np.ndarray, distance: np.ndarray
) -> None:
    """Offer every record the ``width`` records on either side of it in a sorted order.

    Lists of neighbours are updated in place, nearest first. Cost: O(records times width times columns).

    Parameters
    ----------
    codes
        int32 (columns, records); copied unless each record's codes are next to each other in memory.
    order
        int32, records as sorted.
    near, distance
        int32 and int64 (records, neighbours): neighbours of each record, -1 for none, and the ticks that they cost.
    """
    records = np.ascontiguousarray(codes.T)
    share_rows(
        order.size,
        lambda first, last: _native.offer_windows(records, p, order, width, near, distance, first, last),
        _LEAST_ROWS,
    )


def offer_neighbours(codes: np.ndarray, p: Prices, near: np.ndarray, distance: np.ndarray) -> None:
    """Offer every record the nearest neighbours of its nearest neighbours; arguments are those of `offer_windows`."""
    records, before = np.ascontiguousarray(codes.T), near.copy()
    share_rows(
        near.shape[0],
        lambda first, last: _native.offer_neighbours(records, p, before, near, distance, first, last),
        _LEAST_ROWS,
    )
