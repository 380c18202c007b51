"""Individual risk: how likely a match is right when the table is a sample (Benedetti & Franconi 1998).

Of a class with f people in the sample and the share p of its population drawn, F people are in the population. Given
f, F is taken as f plus a negative binomial count with parameters f and p; p is the sampling fraction, or f over the
sum of the class's survey weights. The risk of each of its records is E[1/F | f] (Franconi & Polettini 2004):

- f = 1: (p/q) ln(1/p)
- f = 2: (p/q**2) (p ln p + q)
- f = 3: (p/(2 q**3)) (q (3q - 2) - 2 p**2 ln p)
- any f: (p**f / f) 2F1(f, f; f + 1; q), with q = 1 - p
"""

from __future__ import annotations

import math

import numpy as np

from shoal.kernels.suda import inverse_moments

# Two-sided 95 % of the normal distribution.
Z = 1.959963984540054


def individual_risk(sizes: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of 1/F for every class; O(records).

    Parameters
    ----------
    sizes
        People of each class in the sample.
    shares
        Share of each class's population that is in the sample, above 0 and up to 1.
    """
    sizes, shares = np.asarray(sizes, dtype=np.int64), np.asarray(shares, dtype=np.float64)
    mean, square = inverse_moments(sizes, shares)
    return mean, np.maximum(square - mean * mean, 0.0)


def records_within(sizes: np.ndarray, shares: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Expected number of records whose class has at most h people in the population, h = 0 .. most, and its variance.

    P(F = f) = p**f, and P(F = h + 1) = P(F = h) q h / (h + 1 - f).
    """
    mean, variance = np.zeros(most + 1), np.zeros(most + 1)
    mine = sizes <= most
    f, p = sizes[mine].astype(np.float64), shares[mine]
    chance, within = np.zeros(f.size), np.zeros(f.size)
    for h in range(1, most + 1):
        step = chance * (1.0 - p) * (h - 1) / np.maximum(h - f, 1.0)
        chance = np.where(f == h, p**h, np.where(f < h, step, 0.0))
        within = np.minimum(within + chance, 1.0)
        mean[h] = (f * within).sum()
        variance[h] = (f * f * within * (1.0 - within)).sum()
    return mean, variance


def population_range(size: int, share: float) -> tuple[int, int]:
    """Central 95 % of the population size F of one class."""
    chance = share**size
    if chance == 0.0:  # so many people that their number is all but known
        centre, spread = size / share, Z * math.sqrt(size * (1.0 - share)) / share
        return max(size, math.floor(centre - spread)), math.ceil(centre + spread)
    total, h, low = chance, size, size
    while total < 0.975:
        if total < 0.025:
            low = h + 1
        chance *= (1.0 - share) * h / (h + 1 - size)
        total += chance
        h += 1
        if chance < 1e-18 and h > size / share:
            break
    return low, h
