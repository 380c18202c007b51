"""Finding, for groups that fail a model, the group to merge with that costs least."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from shoal.kernels import _native
from shoal.kernels.cores import share_rows
from shoal.kernels.price.cells import Prices
from shoal.kernels.price.extents import make_column_extents

_LEAST = 64  # groups that are worth a thread

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
        _LEAST,
    )
    return nearest


def pair_off(which: np.ndarray, nearest: np.ndarray, groups: int) -> np.ndarray:
    """Number the groups (int32) after the pairs of ``which`` and ``nearest`` (int64) are merged, in O(groups).

    A group takes part in one merger at most; earlier pairs come first.
    """
    number = np.empty(groups, dtype=np.int32)
    _native.pair_off(which, nearest, number)
    return number
