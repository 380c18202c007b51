"""Intervals of shares."""

from __future__ import annotations

import math

# Two-sided 95 % of the normal distribution.
NORMAL = 1.959963984540054


def wilson(share: float, trials: int) -> tuple[float, float]:
    """95 % Wilson interval of a share of some trials; 0 to 1 without any.

    Examples
    --------
    >>> [round(end, 4) for end in wilson(0.5, 100)]
    [0.4038, 0.5962]
    """
    if trials <= 0:
        return 0.0, 1.0
    square = NORMAL * NORMAL / trials
    centre = (share + square / 2.0) / (1.0 + square)
    half = NORMAL * math.sqrt(share * (1.0 - share) / trials + square / (4.0 * trials)) / (1.0 + square)
    # At 0 and 1 the formula's ends are those numbers but for rounding.
    return (0.0 if share <= 0.0 else centre - half), (1.0 if share >= 1.0 else centre + half)
