"""Tell copied identifiers from those that meet cells by chance.

Chance means: the different identifiers of a column, each with all its rows, are dealt anew to their owners. A hit
counts by its share of the rows of its owner, so an owner is hit once at most. The moment generating function of the sum
of such hits is nowhere above that of a Poisson variable of the same mean (Maclaurin's inequality for the sums of
products over owners), so Chernoff's bound for that variable holds exactly, and not just in large tables.
"""

from __future__ import annotations

import math

# How likely an honest release is refused because of identifiers in cells of their own rows, over all pairs of columns.
LEVEL = 1e-9


def is_excess(hits: float, expected: float, level: float) -> bool:
    """Decide whether so many hits, where so many are expected, are less likely than the level."""
    if hits <= expected:
        return False
    return expected <= 0 or hits - expected + hits * math.log(expected / hits) < math.log(level)
