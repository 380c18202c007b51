"""A heap of int64 keys in an array, smallest first: for taking a few of many in order."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import kernel

# A price of at most 2**38 ticks and a place below PLACES in one key.
PLACES = 1 << 24
_STEPS = float(1 << 38)


@kernel
def ticks_key(ticks: int, place: int) -> int:
    """Order by ticks, then by place."""
    return max(0, ticks) * PLACES + place


@kernel
def price_key(price: float, place: int) -> int:
    """The same of a price in 0..1: prices that rounding tells apart, and nothing else, are equal."""
    return int(np.round(max(0.0, min(1.0, price)) * _STEPS)) * PLACES + place


@kernel
def _sink(keys: np.ndarray, at: int, size: int) -> None:
    key = keys[at]
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and keys[child + 1] < keys[child]:
            child += 1
        if keys[child] >= key:
            break
        keys[at] = keys[child]
        at = child
    keys[at] = key


@kernel
def make_heap(keys: np.ndarray, size: int) -> None:
    """Order the first ``size`` keys as a heap."""
    for at in range(size // 2 - 1, -1, -1):
        _sink(keys, at, size)


@kernel
def pop(keys: np.ndarray, size: int) -> int:
    """Take the smallest key out; one fewer are left."""
    smallest = keys[0]
    keys[0] = keys[size - 1]
    _sink(keys, 0, size - 1)
    return smallest
