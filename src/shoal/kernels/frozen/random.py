"""A counter-based generator: the same key and counter give the same bits on every engine and core.

Threefry-2x64 with 20 rounds (Salmon et al. 2011) needs only additions, rotations and exclusive ors, so that
any engine can reproduce it exactly.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import kernel
from shoal.kernels.cores import share_rows

_PARITY = np.uint64(0x1BD11BDAA9FC1A22)
_ROTATIONS = np.array([16, 42, 12, 31, 16, 32, 24, 21], dtype=np.uint64)
# Above this length a second core pays for its start.
_PARALLEL_FROM = 1 << 16


@kernel(inline="always")
def threefry_pair(key0: np.uint64, key1: np.uint64, counter0: np.uint64, counter1: np.uint64) -> tuple:
    """Both words of Threefry-2x64-20 of (counter0, counter1) under (key0, key1)."""
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
    return x0, x1


@kernel(inline="always")
def threefry(key0: np.uint64, key1: np.uint64, counter0: np.uint64, counter1: np.uint64) -> np.uint64:
    """The first word alone."""
    return threefry_pair(key0, key1, counter0, counter1)[0]


@kernel
def _draw(key: np.ndarray, rows: np.ndarray, draw: np.uint64, out: np.ndarray, start: int, stop: int) -> None:
    for i in range(start, stop):
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
    share_rows(rows.size, lambda start, stop: _draw(key, rows, np.uint64(draw), out, start, stop), _PARALLEL_FROM)
    return out


def draw_uniform(key: np.ndarray, rows: np.ndarray, draw: int = 0) -> np.ndarray:
    """A float64 in [0, 1) for each row key, from the top 53 bits."""
    return (draw_bits(key, rows, draw) >> np.uint64(11)).astype(np.float64) * (1.0 / (1 << 53))


@kernel
def _order_many(bits: np.ndarray, shift: np.uint64) -> np.ndarray:
    """Stable order of random bits: counted and scattered by their top bits, then inserted bucket by bucket."""
    n = bits.size
    starts = np.zeros((np.int64(1) << (np.uint64(64) - shift)) + 1, dtype=np.int64)
    for i in range(n):
        starts[np.int64(bits[i] >> shift) + 1] += 1
    for bucket in range(starts.size - 1):
        starts[bucket + 1] += starts[bucket]
    order = np.empty(n, dtype=np.int64)
    keys = np.empty(n, dtype=np.uint64)
    for i in range(n):
        top = np.int64(bits[i] >> shift)
        order[starts[top]] = i
        keys[starts[top]] = bits[i]
        starts[top] += 1  # where the bucket ends, when all are placed
    first = np.int64(0)
    for bucket in range(starts.size - 1):
        for i in range(first + 1, starts[bucket]):
            key, row = keys[i], order[i]
            at = i
            while at > first and keys[at - 1] > key:
                keys[at], order[at] = keys[at - 1], order[at - 1]
                at -= 1
            keys[at], order[at] = key, row
        first = starts[bucket]
    return order


def order_by_bits(bits: np.ndarray) -> np.ndarray:
    """The stable order of uint64 ``bits`` that are random, so that their top bits spread them evenly."""
    if bits.size < _PARALLEL_FROM:
        return np.argsort(bits, kind="stable")
    return _order_many(bits, np.uint64(66 - bits.size.bit_length()))  # about three to a bucket
