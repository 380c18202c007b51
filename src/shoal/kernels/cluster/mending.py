"""Finding, for groups that fail a model, the group to merge with that costs least."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from shoal.kernels.compiled import kernel
from shoal.kernels.cores import share_rows
from shoal.kernels.frozen.partition.weights import times
from shoal.kernels.frozen.price.cells import Prices, wide
from shoal.kernels.frozen.price.extents import extend_all, make_extents, own_cost
from shoal.kernels.frozen.price.many import joint_costs

_LEAST = 64  # groups that are worth a thread


# Cells of all groups, their records, and the ticks of each group as a whole.
Priced = namedtuple("Priced", "cells size loss")


@kernel
def price_groups(p: Prices, codes: np.ndarray, ids: np.ndarray, groups: int, weights: np.ndarray | None) -> Priced:
    """Groups of records or cells, whose ``codes`` are (columns, records)."""
    priced = Priced(make_extents(p, wide(groups)), np.zeros(groups, dtype=np.int64), np.empty(groups, dtype=np.int64))
    for i in range(ids.size):
        priced.size[ids[i]] += times(weights, i)
        extend_all(p, priced.cells, wide(ids[i]), codes, i)
    for g in range(groups):
        priced.loss[g] = priced.size[g] * own_cost(p, priced.cells, wide(g))
    return priced


@kernel
def _nearest_groups(
    p: Prices, priced: Priced, which: np.ndarray, window: int, nearest: np.ndarray, start: int, stop: int
) -> None:
    size, loss = priced.size, priced.loss
    n = size.size
    joint = np.empty(min(n, 2 * window + 1), dtype=np.int64)
    for i in range(start, stop):
        g = wide(which[i])
        # As wide at the ends of the numbering as in its middle.
        first = max(wide(0), min(g - window, n - 1 - 2 * window))
        after = min(n, max(g + window, 2 * window) + 1)
        joint_costs(p, priced.cells, g, first, after, joint)
        best = wide(-1)
        least = wide(0)
        for h in range(first, after):
            rise = (size[g] + size[h]) * joint[h - first] - loss[g] - loss[h]
            if h != g and (best < 0 or rise < least):
                least = rise
                best = wide(h)
        nearest[i] = best


def nearest_groups(
    p: Prices, codes: np.ndarray, ids: np.ndarray, groups: int, which: np.ndarray, window: int,
    weights: np.ndarray | None = None,
) -> np.ndarray:  # fmt: skip
    """For some groups, the group among the ``window`` on either side of it whose joining raises the price least.

    ``codes`` are (columns, records), ``ids`` the records' groups. Cells in the place of records have rows as weights.
    """
    nearest = np.full(which.size, -1, dtype=np.int64)
    priced = price_groups(p, codes, ids, groups, weights)
    share_rows(
        which.size, lambda start, stop: _nearest_groups(p, priced, which, window, nearest, start, stop), _LEAST
    )
    return nearest


@kernel
def pair_off(which: np.ndarray, nearest: np.ndarray, groups: int) -> np.ndarray:
    """New number of each group after the pairs are merged; a group takes part in one merger at most."""
    partner = np.full(groups, -1, dtype=np.int64)
    taken = np.zeros(groups, dtype=np.uint8)
    for i in range(which.size):
        g, h = which[i], nearest[i]
        if h >= 0 and not taken[g] and not taken[h]:
            taken[g] = 1
            taken[h] = 1
            partner[max(g, h)] = min(g, h)
    number = np.empty(groups, dtype=np.int32)
    found = 0
    for g in range(groups):
        if partner[g] >= 0:
            number[g] = number[partner[g]]
        else:
            number[g] = found
            found += 1
    return number
