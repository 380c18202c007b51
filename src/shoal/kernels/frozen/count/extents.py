"""Extents of groups: lowest and highest code."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import kernel

WORD = 64


@kernel
def group_ranges(codes: np.ndarray, ids: np.ndarray, groups: int) -> tuple:
    """Lowest and highest of ``codes`` in each group; rows with a negative id are left out."""
    low = np.full(groups, np.iinfo(np.int32).max, dtype=np.int32)
    high = np.full(groups, -1, dtype=np.int32)
    for i in range(ids.size):
        g = ids[i]
        if g >= 0:
            low[g] = min(low[g], codes[i])
            high[g] = max(high[g], codes[i])
    return low, high


@kernel
def popcount(word: np.uint64) -> int:
    """Number of set bits."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@kernel
def group_sums(values: np.ndarray, ids: np.ndarray, groups: int) -> np.ndarray:
    """Sum of ``values`` in each group, in row order."""
    out = np.zeros(groups, dtype=np.float64)
    for i in range(ids.size):
        if ids[i] >= 0:
            out[ids[i]] += values[i]
    return out
