"""Rank swapping: every record changes places with one whose value is near in rank."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import kernel


@kernel
def swap_ranks(window: int, draws: np.ndarray) -> np.ndarray:
    """For every rank the one that it changes places with, itself where no partner is left.

    From the lowest on, a rank without a partner takes the first of those up to ``window`` above it that has none,
    from a place drawn at random on, and from the nearest again after the furthest.

    Parameters
    ----------
    draws
        float64 from 0 to 1, one a rank.
    """
    n = draws.size
    partner = np.full(n, -1, dtype=np.int64)
    for rank in range(n):
        if partner[rank] >= 0:
            continue
        partner[rank] = rank
        span = min(window, n - 1 - rank)
        for step in range(span):
            other = rank + 1 + (min(int(draws[rank] * span), span - 1) + step) % span
            if partner[other] < 0:
                partner[rank] = other
                partner[other] = rank
                break
    return partner
