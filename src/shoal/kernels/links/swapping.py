"""Rank swapping: every record changes places with one whose value is near in rank."""

from __future__ import annotations

import numpy as np

from shoal.kernels import _native


def swap_ranks(window: int, draws: np.ndarray) -> np.ndarray:
    """Choose a partner for every rank, in O(n window) at worst: int64 ranks, its own where no partner is left.

    From the lowest on, a rank without a partner takes the first of those up to ``window`` above it that has none,
    from a place drawn at random on, and from the nearest again after the furthest.

    Parameters
    ----------
    draws
        float64 from 0 to 1, one a rank.
    """
    partner = np.empty(draws.size, dtype=np.int64)
    _native.swap_ranks(window, draws, partner)
    return partner
