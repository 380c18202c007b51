"""Tell copied identifiers from those that meet cells by chance.

Chance means: the different identifiers of a column, each with all its rows, are dealt anew to their owners. A hit
counts by its share of the rows of its owner, so an owner is hit once at most. On average, the sum over all groups of so
many owners of the products of their hits is at most that of a Poisson variable of the same mean (Maclaurin's
inequality for the sums of products over owners). With so many hits there are at least the binomial coefficient of such
groups, which bounds the chance of them, in small tables as in large ones.
"""

from __future__ import annotations

import math

# How likely an honest release is refused because of identifiers in cells of their own rows, over all pairs of columns.
LEVEL = 1e-9


def is_excess(hits: float, expected: float, level: float) -> bool:
    """Decide whether so many hits, where so many are expected, are less likely than the level."""
    if hits <= expected or expected <= 0:
        return hits > expected
    # Groups of this many owners bound the chance best.
    group = math.ceil(hits - expected)
    return group * math.log(expected) + math.lgamma(hits - group + 1) - math.lgamma(hits + 1) < math.log(level)
