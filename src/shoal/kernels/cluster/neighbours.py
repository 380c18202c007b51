"""Near records of every record: windows in several sorted orders, then the neighbours of neighbours."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import kernel
from shoal.kernels.cores import share_rows
from shoal.kernels.frozen.price.cells import FLAT, Prices, cell, helper, whole_of, wide

# Neighbours followed, and taken of each: their number is what the work grows with, squared.
_STEPS = 12
_LEAST = 256  # rows that are worth a thread


@helper
def _pair_cost(p: Prices, codes: np.ndarray, i: int, j: int) -> int:
    """Ticks of the cells that two records would share; ``codes`` are (columns, records)."""
    total = wide(0)
    for column in range(codes.shape[0]):
        a = wide(column)
        low, high = wide(min(codes[a, i], codes[a, j])), wide(max(codes[a, i], codes[a, j]))
        if p.kind[a] != FLAT:
            total += cell(p, a, low, high)
        elif low != high:
            total += whole_of(p, a) if high == p.missing[a] else p.sizes[p.size_at[a] + 2]
    return total


@helper
def _offer(near: np.ndarray, distance: np.ndarray, other: int, d: int) -> None:
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
    codes: np.ndarray, p: Prices, order: np.ndarray, width: int, near: np.ndarray, distance: np.ndarray,
    first: int, last: int,
) -> None:  # fmt: skip
    n = order.size
    for at in range(first, last):
        i = order[at]
        for q in range(max(0, at - width), min(n, at + width + 1)):
            if q != at:
                _offer(near[i], distance[i], order[q], _pair_cost(p, codes, wide(i), wide(order[q])))


def offer_windows(
    codes: np.ndarray, p: Prices, order: np.ndarray, width: int, near: np.ndarray, distance: np.ndarray
) -> None:
    """Offer every record the ``width`` records on either side of it in a sorted order."""
    share_rows(
        order.size, lambda first, last: _offer_windows(codes, p, order, width, near, distance, first, last), _LEAST
    )


@kernel
def _offer_neighbours(
    codes: np.ndarray, p: Prices, before: np.ndarray, near: np.ndarray, distance: np.ndarray, first: int, last: int
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
                    _offer(near[i], distance[i], u, _pair_cost(p, codes, wide(i), wide(u)))


def offer_neighbours(codes: np.ndarray, p: Prices, near: np.ndarray, distance: np.ndarray) -> None:
    """Offer every record the nearest neighbours of its nearest neighbours."""
    before = near.copy()
    share_rows(
        near.shape[0],
        lambda first, last: _offer_neighbours(codes, p, before, near, distance, first, last),
        _LEAST,
    )
