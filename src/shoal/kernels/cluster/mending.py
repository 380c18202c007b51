"""Finding, for groups that fail a model, the group to merge with that costs least."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import kernel
from shoal.kernels.cores import share_rows
from shoal.kernels.count.extents import popcount
from shoal.kernels.price.geometry import FLAT, Geometry, price
from shoal.kernels.price.groups import Groups

_LEAST = 64  # groups that are worth a thread


@kernel
def union_price(groups: Groups, g: int, h: int, geo: Geometry) -> float:
    """Weighted price of two groups' common extent."""
    total = 0.0
    for a in range(geo.kind.size):
        low = min(groups.low[g, a], groups.low[h, a])
        high = max(groups.high[g, a], groups.high[h, a])
        if geo.kind[a] != FLAT:
            total += geo.weight[a] * price(geo, a, low, high)
            continue
        found = 0
        for w in range(geo.word_at[a], geo.word_at[a + 1]):
            found += popcount(groups.bits[g, w] | groups.bits[h, w])
        if found > 1:
            total += geo.weight[a] * (1.0 if high == geo.missing[a] else (found - 1.0) * geo.scale[a])
    return total


@kernel
def _nearest_groups(
    groups: Groups, which: np.ndarray, window: int, geo: Geometry, nearest: np.ndarray, start: int, stop: int
) -> None:
    n = groups.size.size
    for i in range(start, stop):
        g = which[i]
        least = np.inf
        # As wide at the ends of the numbering as in its middle.
        first = max(0, min(g - window, n - 1 - 2 * window))
        for h in range(first, min(n, max(g + window, 2 * window) + 1)):
            if h == g:
                continue
            joined = (groups.size[g] + groups.size[h]) * union_price(groups, g, h, geo)
            rise = joined - groups.size[g] * groups.cost[g] - groups.size[h] * groups.cost[h]
            if rise < least:
                least = rise
                nearest[i] = h


def nearest_groups(groups: Groups, which: np.ndarray, window: int, geo: Geometry) -> np.ndarray:
    """For some groups, the group among the ``window`` on either side of it whose joining raises the price least."""
    nearest = np.full(which.size, -1, dtype=np.int64)
    share_rows(
        which.size, lambda start, stop: _nearest_groups(groups, which, window, geo, nearest, start, stop), _LEAST
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
