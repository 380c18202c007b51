"""Near records of every record: windows in several sorted orders, then the neighbours of neighbours."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import kernel
from shoal.kernels.cores import share_rows
from shoal.kernels.price.geometry import FLAT, Geometry, price

# Neighbours followed, and taken of each: their number is what the work grows with, squared.
_STEPS = 12
_LEAST = 256  # rows that are worth a thread


@kernel
def pair_price(geo: Geometry, x: np.ndarray, y: np.ndarray) -> float:
    """Weighted price of the cells that two records would share."""
    total = 0.0
    for a in range(x.size):
        if x[a] == y[a] and geo.kind[a] == FLAT:
            continue
        low = min(x[a], y[a])
        high = max(x[a], y[a])
        if geo.kind[a] == FLAT:
            total += geo.weight[a] * (1.0 if high == geo.missing[a] else geo.scale[a])
        else:
            total += geo.weight[a] * price(geo, a, low, high)
    return total


@kernel
def _offer(near: np.ndarray, distance: np.ndarray, other: int, d: float) -> None:
    """Insert a neighbour into one record's list, nearest first; the earlier of two equally near ones stays ahead."""
    last = near.size - 1
    if d >= distance[last]:
        return
    for c in range(near.size):
        if near[c] == other:
            return
    while last > 0 and distance[last - 1] > d:
        distance[last] = distance[last - 1]
        near[last] = near[last - 1]
        last -= 1
    distance[last] = d
    near[last] = other


@kernel
def _offer_windows(
    codes: np.ndarray, geo: Geometry, order: np.ndarray, width: int, near: np.ndarray, distance: np.ndarray,
    first: int, last: int,
) -> None:  # fmt: skip
    n = order.size
    for p in range(first, last):
        i = order[p]
        for q in range(max(0, p - width), min(n, p + width + 1)):
            if q != p:
                _offer(near[i], distance[i], order[q], pair_price(geo, codes[i], codes[order[q]]))


def offer_windows(
    codes: np.ndarray, geo: Geometry, order: np.ndarray, width: int, near: np.ndarray, distance: np.ndarray
) -> None:
    """Offer every record the ``width`` records on either side of it in a sorted order."""
    share_rows(
        order.size, lambda first, last: _offer_windows(codes, geo, order, width, near, distance, first, last), _LEAST
    )


@kernel
def _offer_neighbours(
    codes: np.ndarray, geo: Geometry, before: np.ndarray, near: np.ndarray, distance: np.ndarray, first: int, last: int
) -> None:
    most = min(near.shape[1], _STEPS)
    for i in range(first, last):
        for c in range(most):
            j = before[i, c]
            if j < 0:
                break
            for e in range(most):
                u = before[j, e]
                if u < 0:
                    break
                if u != i:
                    _offer(near[i], distance[i], u, pair_price(geo, codes[i], codes[u]))


def offer_neighbours(codes: np.ndarray, geo: Geometry, near: np.ndarray, distance: np.ndarray) -> None:
    """Offer every record the nearest neighbours of its nearest neighbours."""
    before = near.copy()
    share_rows(
        near.shape[0],
        lambda first, last: _offer_neighbours(codes, geo, before, near, distance, first, last),
        _LEAST,
    )
