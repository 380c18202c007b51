"""How strongly columns say the same: the association matrix that research value can take its weights from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from shoal.data.column import Column
from shoal.data.domain import Joint
from shoal.utility.research_labels import is_numeric, places

Joints = Mapping[tuple[str, ...], Joint]


def pairs(columns: Sequence[Column]) -> list[tuple[str, ...]]:
    """Names of every pair of columns, whose joint counts the matrix is made of."""
    return list(combinations([column.name for column in columns], 2))


def association(columns: Sequence[Column], joint: Joints) -> np.ndarray:
    """Association of every pair of columns, float64 of shape (m, m), from 0 (none) to 1.

    Two columns of numbers: absolute Pearson correlation; two of categories: Cramer's V; one of each: the correlation
    ratio. Missing is a category of its own, and no number. A constant column goes with nothing.

    Parameters
    ----------
    joint
        What values every pair of columns has together, and how often (see :func:`pairs`).
    """
    found = np.eye(len(columns))
    for (i, one), (j, other) in combinations(enumerate(columns), 2):
        together = joint[one.name, other.name]
        found[i, j] = found[j, i] = min(max(_pair(one, other, together), 0.0), 1.0)
    return found


def association_weights(columns: Sequence[Column], joint: Joints) -> np.ndarray:
    """One less the mean association with the other columns: what nothing else tells counts most.

    All equal where every column is told by the others.
    """
    m = len(columns)
    if m < 2:
        return np.ones(m)
    weights = 1.0 - (association(columns, joint).sum(axis=1) - 1.0) / (m - 1)
    weights = np.where(weights > 1e-12, weights, 0.0)
    return weights if weights.any() else np.ones(m)


def _pair(one: Column, other: Column, joint: Joint) -> float:
    codes, counts = joint.codes, joint.counts.astype(np.float64)
    x = places(one)[codes[0]] if is_numeric(one) else None
    y = places(other)[codes[1]] if is_numeric(other) else None
    if x is not None and y is not None:
        return _pearson(x, y, counts)
    if x is not None:
        return _ratio(x, codes[1], counts)
    if y is not None:
        return _ratio(y, codes[0], counts)
    return _cramer(one, other, joint)


def _pearson(x: np.ndarray, y: np.ndarray, counts: np.ndarray) -> float:
    known = ~(np.isnan(x) | np.isnan(y))
    if not known.any():
        return 0.0
    counts = counts[known]
    x, y = (place[known] - place[known] @ counts / counts.sum() for place in (x, y))
    scale = float(np.sqrt((x * x @ counts) * (y * y @ counts)))
    return abs(float(x * y @ counts)) / scale if scale > 0 else 0.0


def _ratio(x: np.ndarray, codes: np.ndarray, counts: np.ndarray) -> float:
    """Correlation ratio: root of the share of the numbers' variance that lies between categories."""
    known = ~np.isnan(x)
    if not known.any():
        return 0.0
    codes, counts = codes[known], counts[known]
    x = x[known] - x[known] @ counts / counts.sum()
    total = float(x * x @ counts)
    if total <= 0:
        return 0.0
    rows, sums = np.bincount(codes, weights=counts), np.bincount(codes, weights=x * counts)
    between = float((sums[rows > 0] ** 2 / rows[rows > 0]).sum())
    return float(np.sqrt(between / total))


def _cramer(one: Column, other: Column, joint: Joint) -> float:
    """Cramer's V of two columns, without bias correction."""
    rows, cols = one.frequencies, other.frequencies
    smaller = min(np.count_nonzero(rows), np.count_nonzero(cols)) - 1
    if smaller < 1:
        return 0.0
    expected = rows[joint.codes[0]].astype(np.float64) * cols[joint.codes[1]]
    return float(np.sqrt(max(float((joint.counts**2.0 / expected).sum()) - 1.0, 0.0) / smaller))
