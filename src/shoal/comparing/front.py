"""Which points are worth a look, and which one to take: the Pareto front, and the point nearest to the ideal corner."""

from __future__ import annotations

import numpy as np

# Points of the front this much further from the ideal corner than the nearest are as good as it.
CLOSE = 0.05


def oriented(values: np.ndarray, better: list[str]) -> np.ndarray:
    """The same figures, turned so that smaller is better on every axis."""
    return values * np.array([1.0 if one == "down" else -1.0 for one in better])


def pareto(costs: np.ndarray) -> np.ndarray:
    """Which rows no other row beats: as good on every axis, and better on one.

    Parameters
    ----------
    costs
        float64, shape (points, axes); smaller is better. Rows with a NaN are on no front and beat nobody.
    """
    known = ~np.isnan(costs).any(axis=1)
    filled = np.where(known[:, None], costs, np.inf)
    as_good = (filled[:, None, :] <= filled[None, :, :]).all(axis=2)
    better = (filled[:, None, :] < filled[None, :, :]).any(axis=2)
    beaten = (as_good & better & known[:, None]).any(axis=0)
    return known & ~beaten


def distances(costs: np.ndarray) -> np.ndarray:
    """How far each row is from the corner that is best on every axis, each axis scaled to 0..1 over the rows.

    An axis on which all rows agree tells nothing and adds nothing.
    """
    low, span = costs.min(axis=0), np.ptp(costs, axis=0)
    scaled = np.where(span > 0, (costs - low) / np.where(span > 0, span, 1.0), 0.0)
    return np.sqrt((scaled**2).sum(axis=1))


def ranked(costs: np.ndarray, suppressed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows of a front from the nearest to the ideal corner to the furthest, and their distances in that order.

    Ties go to fewer suppressed, then to the earlier row.
    """
    far = distances(costs)
    # Sums of squares in another order differ in the last bits, and would make ties look decided.
    order = np.lexsort((np.arange(far.size), suppressed, np.round(far, 9)))
    return order, far[order]
