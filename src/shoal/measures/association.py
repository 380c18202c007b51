"""How strongly columns say the same: the association matrix that research value can take its weights from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoal.measures.scale import is_numeric, places
from shoal.table.column import Column


def association(columns: Sequence[Column]) -> np.ndarray:
    """Association of every pair of columns, float64 of shape (m, m), from 0 (none) to 1.

    Two columns of numbers: absolute Pearson correlation; two of categories: Cramer's V; one of each: the correlation
    ratio. Missing is a category of its own, and no number. A constant column goes with nothing. Cost: O(m^2 n).
    """
    m = len(columns)
    found = np.eye(m)
    numbers = [places(column)[column.codes] if is_numeric(column) else None for column in columns]
    for i in range(m):
        for j in range(i):
            x, y = numbers[i], numbers[j]
            if x is not None and y is not None:
                value = _pearson(x, y)
            elif x is not None:
                value = _ratio(x, columns[j])
            elif y is not None:
                value = _ratio(y, columns[i])
            else:
                value = _cramer(columns[i], columns[j])
            found[i, j] = found[j, i] = min(max(value, 0.0), 1.0)
    return found


def association_weights(columns: Sequence[Column]) -> np.ndarray:
    """One less the mean association with the other columns: what nothing else tells counts most.

    All equal where every column is told by the others.
    """
    m = len(columns)
    if m < 2:
        return np.ones(m)
    weights = 1.0 - (association(columns).sum(axis=1) - 1.0) / (m - 1)
    weights = np.where(weights > 1e-12, weights, 0.0)
    return weights if weights.any() else np.ones(m)


def _pearson(x: np.ndarray, y: np.ndarray) -> float:
    known = ~(np.isnan(x) | np.isnan(y))
    if not known.any():
        return 0.0
    x, y = x[known] - x[known].mean(), y[known] - y[known].mean()
    scale = float(np.sqrt((x @ x) * (y @ y)))
    return abs(float(x @ y)) / scale if scale > 0 else 0.0


def _ratio(x: np.ndarray, column: Column) -> float:
    """Correlation ratio: root of the share of the numbers' variance that lies between categories."""
    known = ~np.isnan(x)
    if not known.any():
        return 0.0
    x, codes = x[known] - x[known].mean(), column.codes[known]
    total = float(x @ x)
    if total <= 0:
        return 0.0
    counts, sums = np.bincount(codes), np.bincount(codes, weights=x)
    between = float((sums[counts > 0] ** 2 / counts[counts > 0]).sum())
    return float(np.sqrt(between / total))


def _cramer(one: Column, other: Column) -> float:
    """Cramer's V of two columns, without bias correction."""
    n = one.codes.size
    cells, counts = np.unique(one.codes.astype(np.int64) * other.card + other.codes, return_counts=True)
    rows, cols = one.frequencies, other.frequencies
    smaller = min(np.count_nonzero(rows), np.count_nonzero(cols)) - 1
    if smaller < 1:
        return 0.0
    expected = rows[cells // other.card].astype(np.float64) * cols[cells % other.card]
    return float(np.sqrt(max(float((counts**2.0 / expected).sum()) - 1.0, 0.0) / smaller)) if n else 0.0
