"""A counter-based generator: the same key and counter give the same bits on every engine and core.

Threefry-2x64 with 20 rounds (Salmon et al. 2011) needs only additions, rotations and exclusive ors, so that
any engine can reproduce it exactly. The code is in native/shared/random.hpp.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels import _native
from shoal.kernels.cores import share_rows

# Above this length a second core pays for its start.
_PARALLEL_FROM = 1 << 16


def draw_bits(key: np.ndarray, rows: np.ndarray, draw: int = 0) -> np.ndarray:
    """Draw 64 random bits for each row key, in O(n): uint64 (n,).

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
    share_rows(rows.size, lambda start, stop: _native.draw_block(key, rows, draw, out, start, stop), _PARALLEL_FROM)
    return out


def draw_uniform(key: np.ndarray, rows: np.ndarray, draw: int = 0) -> np.ndarray:
    """Draw a float64 in [0, 1) for each row key, from the top 53 bits; arguments and cost are those of `draw_bits`."""
    return (draw_bits(key, rows, draw) >> np.uint64(11)).astype(np.float64) * (1.0 / (1 << 53))


def order_by_bits(bits: np.ndarray) -> np.ndarray:
    """Order uint64 ``bits`` stably, in O(n) where they are random: int64 places, those of the smallest bits first."""
    if bits.size < _PARALLEL_FROM:
        return np.argsort(bits, kind="stable")
    order = np.empty(bits.size, dtype=np.int64)
    _native.order_bits(bits, 66 - bits.size.bit_length(), order)  # about three to a bucket
    return order


# ----------------------------------------
# The largest number of places that keys of heaps distinguish (native/shared/heap.hpp).


# A key holds a price of at most 2**38 steps and a place below PLACES.
PLACES = 1 << 24
