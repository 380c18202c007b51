"""Optimal microaggregation of one sorted column as a shortest path (Hansen & Mukherjee 2003)."""

from __future__ import annotations

import numpy as np

from shoal.kernels import _native


def shortest_path(values: np.ndarray, k: int) -> np.ndarray:
    """Group ascending values (float64) into runs of k to 2k - 1 with the least sum of squared deviations.

    Some best partition into groups of at least k has only such runs, so O(n k) sums decide. Fewer than 2k values are
    one group. Ties go to the shorter last run. Returns the int32 group of every value.
    """
    ids = np.empty(values.size, dtype=np.int32)
    _native.shortest_path(values, k, ids)
    return ids
