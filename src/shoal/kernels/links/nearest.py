"""Nearest rows: which of some centres are closest to points of numbers and codes."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import kernel


@kernel
def nearest_rows(
    points: np.ndarray, codes: np.ndarray, centres: np.ndarray, labels: np.ndarray, sizes: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The first of the centres nearest to each point, its squared distance, and the sizes of all that are as near.

    Squared differences of numbers add up, and 1 for every code that differs; a number that is NaN adds nothing.

    Parameters
    ----------
    points, codes
        float64 (points, numbers) and int32 (points, texts).
    centres, labels
        The same of the centres.
    sizes
        float64, one a centre.
    """
    n = points.shape[0]
    first = np.full(n, -1, dtype=np.int32)
    best = np.full(n, np.inf)
    tied = np.zeros(n)
    for i in range(n):
        for c in range(centres.shape[0]):
            # Sums that differ by rounding alone are ties.
            limit = best[i] + 1e-9
            distance = 0.0
            for j in range(labels.shape[1]):
                if codes[i, j] != labels[c, j]:
                    distance += 1.0
            for j in range(centres.shape[1]):
                step = points[i, j] - centres[c, j]
                if step == step:
                    distance += step * step
                if distance > limit:
                    break
            if distance > limit:
                continue
            if distance < best[i] - 1e-9:
                first[i], tied[i] = c, 0.0
            best[i] = min(best[i], distance)
            tied[i] += sizes[c]
    return first, best, tied
