"""A growing group: extend it by a record, and price it before doing so."""

from __future__ import annotations

import numpy as np
from numba import njit

from shoal.kernels.geometry import FLAT, Geometry, price, price_set


@njit(cache=True)
def open_group(geo: Geometry, row: np.ndarray, low: np.ndarray, high: np.ndarray, bits: np.ndarray) -> None:
    """Make the extent that of one record."""
    for w in range(bits.size):
        bits[w] = np.uint64(0)
    for a in range(row.size):
        low[a] = row[a]
        high[a] = row[a]
        if geo.kind[a] == FLAT:
            bits[geo.word_at[a] + (row[a] >> 6)] |= np.uint64(1) << np.uint64(row[a] & 63)


@njit(cache=True)
def extend(geo: Geometry, row: np.ndarray, low: np.ndarray, high: np.ndarray, bits: np.ndarray) -> None:
    """Make room in the extent for a record."""
    for a in range(row.size):
        low[a] = min(low[a], row[a])
        high[a] = max(high[a], row[a])
        if geo.kind[a] == FLAT:
            bits[geo.word_at[a] + (row[a] >> 6)] |= np.uint64(1) << np.uint64(row[a] & 63)


@njit(cache=True)
def price_set_with(geo: Geometry, a: int, code: int, high: int, now: float, bits: np.ndarray) -> float:
    """Price of a flat cell after one more value; ``now`` is its price before."""
    if (bits[geo.word_at[a] + (code >> 6)] >> np.uint64(code & 63)) & np.uint64(1):
        return now
    if max(high, code) == geo.missing[a]:
        return 1.0
    return now + geo.scale[a]


@njit(cache=True)
def prices(geo: Geometry, low: np.ndarray, high: np.ndarray, bits: np.ndarray, out: np.ndarray) -> None:
    """Unweighted price of every column of an extent."""
    for a in range(out.size):
        if geo.kind[a] == FLAT:
            out[a] = price_set(geo, a, bits)
        else:
            out[a] = price(geo, a, low[a], high[a])


@njit(cache=True)
def price_with(
    geo: Geometry, row: np.ndarray, low: np.ndarray, high: np.ndarray, bits: np.ndarray, now: np.ndarray
) -> float:
    """Weighted price of the extent after one more record; ``now`` holds the columns' prices before."""
    total = 0.0
    for a in range(row.size):
        x = row[a]
        value = now[a]
        if geo.kind[a] == FLAT:
            value = price_set_with(geo, a, x, high[a], value, bits)
        elif x < low[a] or x > high[a]:
            value = price(geo, a, min(low[a], x), max(high[a], x))
        total += geo.weight[a] * value
    return total
