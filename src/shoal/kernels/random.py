"""A counter-based generator: the same key and counter give the same bits on every engine and core.

Threefry-2x64 with 20 rounds (Salmon et al. 2011) needs only additions, rotations and exclusive ors, so that
any engine can reproduce it exactly.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

_PARITY = np.uint64(0x1BD11BDAA9FC1A22)
_ROTATIONS = np.array([16, 42, 12, 31, 16, 32, 24, 21], dtype=np.uint64)
# Above this length a second core pays for its start.
_PARALLEL_FROM = 1 << 16


@njit(cache=True, inline="always")
def threefry(key0: np.uint64, key1: np.uint64, counter0: np.uint64, counter1: np.uint64) -> np.uint64:
    """First word of Threefry-2x64-20 of (counter0, counter1) under (key0, key1)."""
    key2 = key0 ^ key1 ^ _PARITY
    x0 = counter0 + key0
    x1 = counter1 + key1
    for four in range(5):
        for r in range(4):
            rotation = _ROTATIONS[(four % 2) * 4 + r]
            x0 = x0 + x1
            x1 = (x1 << rotation) | (x1 >> (np.uint64(64) - rotation))
            x1 = x1 ^ x0
        step = np.uint64(four + 1)
        which = (four + 1) % 3
        if which == 0:
            x0, x1 = x0 + key0, x1 + key1
        elif which == 1:
            x0, x1 = x0 + key1, x1 + key2
        else:
            x0, x1 = x0 + key2, x1 + key0
        x1 = x1 + step
    return x0


@njit(cache=True)
def _draw(key: np.ndarray, rows: np.ndarray, draw: np.uint64, out: np.ndarray) -> None:
    for i in range(rows.size):
        out[i] = threefry(key[0], key[1], rows[i], draw)


@njit(cache=True, parallel=True)
def _draw_parallel(key: np.ndarray, rows: np.ndarray, draw: np.uint64, out: np.ndarray) -> None:
    for i in prange(rows.size):
        out[i] = threefry(key[0], key[1], rows[i], draw)


def draw_bits(key: np.ndarray, rows: np.ndarray, draw: int = 0) -> np.ndarray:
    """64 random bits for each row key.

    Parameters
    ----------
    key
        uint64, shape (2,): the stream's key.
    rows
        uint64, shape (n,): row keys.
    draw
        Which draw of the stream, from 0.
    """
    out = np.empty(rows.size, dtype=np.uint64)
    (_draw if rows.size < _PARALLEL_FROM else _draw_parallel)(key, rows, np.uint64(draw), out)
    return out


def draw_uniform(key: np.ndarray, rows: np.ndarray, draw: int = 0) -> np.ndarray:
    """A float64 in [0, 1) for each row key, from the top 53 bits."""
    return (draw_bits(key, rows, draw) >> np.uint64(11)).astype(np.float64) * (1.0 / (1 << 53))
