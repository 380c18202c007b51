"""Extents of groups: lowest and highest code, or the set of codes as bits."""

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
def group_bits(codes: np.ndarray, ids: np.ndarray, groups: int, card: int) -> np.ndarray:
    """uint64, shape (groups, words): which codes occur in each group."""
    words = max(1, (card + WORD - 1) // WORD)
    bits = np.zeros((groups, words), dtype=np.uint64)
    for i in range(ids.size):
        g = ids[i]
        if g >= 0:
            bits[g, codes[i] >> 6] |= np.uint64(1) << np.uint64(codes[i] & 63)
    return bits


@kernel
def popcount(word: np.uint64) -> int:
    """Number of set bits."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@kernel
def count_bits(bits: np.ndarray) -> np.ndarray:
    """Set bits of every row of ``bits``."""
    out = np.zeros(bits.shape[0], dtype=np.int64)
    for g in range(bits.shape[0]):
        for w in range(bits.shape[1]):
            out[g] += popcount(bits[g, w])
    return out


@kernel
def weigh_bits(bits: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Sum of ``weights`` over the set bits of every row."""
    out = np.zeros(bits.shape[0], dtype=np.float64)
    for g in range(bits.shape[0]):
        for code in range(weights.size):
            if (bits[g, code >> 6] >> np.uint64(code & 63)) & np.uint64(1):
                out[g] += weights[code]
    return out


@kernel
def group_sums(values: np.ndarray, ids: np.ndarray, groups: int) -> np.ndarray:
    """Sum of ``values`` in each group, in row order."""
    out = np.zeros(groups, dtype=np.float64)
    for i in range(ids.size):
        if ids[i] >= 0:
            out[ids[i]] += values[i]
    return out
