"""Optimal microaggregation of one sorted column as a shortest path (Hansen & Mukherjee 2003)."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import kernel


@kernel
def shortest_path(values: np.ndarray, k: int) -> np.ndarray:
    """Group of every one of the ascending values: runs of k to 2k - 1 with the least sum of squared deviations.

    Some best partition into groups of at least k has only such runs, so O(n k) sums decide. Fewer than 2k values are
    one group. Ties go to the shorter last run.
    """
    n = values.size
    cost = np.full(n + 1, np.inf)
    before = np.zeros(n + 1, dtype=np.int64)
    cost[0] = 0.0
    if n < 2 * k:
        return np.zeros(n, dtype=np.int32)
    for end in range(k, n + 1):
        mean = 0.0
        spread = 0.0
        for size in range(1, min(2 * k - 1, end) + 1):
            # One value more at the front of the run: mean and spread by Welford's update.
            x = values[end - size]
            gap = x - mean
            mean += gap / size
            spread += gap * (x - mean)
            if size >= k and cost[end - size] + spread < cost[end]:
                cost[end] = cost[end - size] + spread
                before[end] = end - size
    ids = np.empty(n, dtype=np.int32)
    end = n
    group = 0
    while end > 0:
        for i in range(before[end], end):
            ids[i] = group
        group += 1
        end = before[end]
    return ids
