"""Moments of 1/F where F is what a sample class of f people was drawn from.

F = f + a negative binomial count with parameters f and p, which is the posterior of Benedetti & Franconi (1998). With
q = 1 - p, I(f) = E[1/F] is the integral of u**(f-1) p / (p + q u) over u from 0 to 1. Hence I(1) = (p/q) ln(1/p) and
I(f+1) = (p/q) (1/f - I(f)), and J(f) = E[1/F**2] obeys J(1) = (p/q) Li2(q), J(f+1) = (p/q) (I(f)/f - J(f)).
"""

from __future__ import annotations

import math

import numpy as np

from shoal.kernels.compiled import kernel

_SMALLEST = 1e-18


@kernel
def _series(f: int, p: float) -> float:
    """I(f) as p times the sum of q**j B(f, j+1): positive terms, few of them for large p or large f."""
    q = 1.0 - p
    term = 1.0 / f
    total = term
    j = 0
    while term > _SMALLEST * total:
        term *= q * (j + 1) / (f + j + 1)
        total += term
        j += 1
    return p * total


@kernel
def _dilogarithm(p: float) -> float:
    """Li2(1 - p) for p up to a half, from Li2(p)."""
    term = 1.0
    total = 0.0
    j = 1
    while term > _SMALLEST:
        term *= p
        total += term / (j * j)
        j += 1
    return math.pi * math.pi / 6.0 - math.log(1.0 - p) * math.log(p) - total


@kernel
def _direct_square(f: int, p: float) -> float:
    """J(f) as a sum over F, for p of a half or more, where F is seldom much above f."""
    q = 1.0 - p
    if q <= 0.0:
        return 1.0 / (float(f) * f)
    start = f * math.log(p) - math.lgamma(f)
    mean = f / p
    total = 0.0
    h = f
    while True:
        chance = math.exp(start + math.lgamma(h) - math.lgamma(h - f + 1.0) + (h - f) * math.log(q))
        total += chance / (float(h) * h)
        if h > mean and chance < _SMALLEST:
            return total
        h += 1


@kernel
def _recursion(f: int, p: float) -> tuple:
    """I(f) and J(f) step by step, which is stable for p below a half: an error shrinks by p/q each time."""
    ratio = p / (1.0 - p)
    inverse = -ratio * math.log(p)
    square = ratio * _dilogarithm(p)
    for i in range(1, f):
        square = ratio * (inverse / i - square)
        inverse = ratio * (1.0 / i - inverse)
    return inverse, square


@kernel
def inverse_moments(sizes: np.ndarray, shares: np.ndarray) -> tuple:
    """E[1/F] and E[1/F**2] for every class.

    Parameters
    ----------
    sizes
        int64: people of the class in the sample, at least 1.
    shares
        float64: share p of the class's population that is in the sample, above 0 and up to 1.
    """
    inverse = np.empty(sizes.size)
    square = np.empty(sizes.size)
    for k in range(sizes.size):
        f, p = sizes[k], shares[k]
        if p >= 0.5:
            inverse[k], square[k] = _series(f, p), _direct_square(f, p)
        else:
            inverse[k], square[k] = _recursion(f, p)
            if f >= 10:
                inverse[k] = _series(f, p)
    return inverse, square
