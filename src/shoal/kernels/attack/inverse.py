"""Moments of 1/F where F is what a sample class of f people was drawn from.

F = f + a negative binomial count with parameters f and p, which is the posterior of Benedetti & Franconi (1998). With
q = 1 - p, I(f) = E[1/F] is the integral of u**(f-1) p / (p + q u) over u from 0 to 1. Hence I(1) = (p/q) ln(1/p) and
I(f+1) = (p/q) (1/f - I(f)), and J(f) = E[1/F**2] obeys J(1) = (p/q) Li2(q), J(f+1) = (p/q) (I(f)/f - J(f)).
"""

from __future__ import annotations

import numpy as np

from shoal.kernels import _native


def inverse_moments(sizes: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute E[1/F] and E[1/F**2] of every class, float64, in O(sum of sizes).

    Parameters
    ----------
    sizes
        int64: people of the class in the sample, at least 1.
    shares
        float64: share p of the class's population that is in the sample, above 0 and up to 1.
    """
    if sizes.min(initial=1) < 1:
        raise ValueError(f"The 'sizes' of inverse_moments must be at least 1. Got {sizes.min()}.")
    inverse, square = np.empty(sizes.size), np.empty(sizes.size)
    _native.inverse_moments(sizes, shares, inverse, square)
    return inverse, square
