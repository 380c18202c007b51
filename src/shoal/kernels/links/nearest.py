"""Nearest rows: which of some centres are closest to points of numbers and codes."""

from __future__ import annotations

import numpy as np

from shoal.kernels import _native
from shoal.kernels.cores import share_rows

# Pairs of a point and a centre in a block: enough to be worth a call, few enough to be interrupted soon.
_PAIRS = 1 << 20


def nearest_rows(
    points: np.ndarray, codes: np.ndarray, centres: np.ndarray, labels: np.ndarray, sizes: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Find the centres nearest to each point, in O(points times centres times columns).

    Squared differences of numbers add up, and 1 for every code that differs; a number that is NaN adds nothing.

    Parameters
    ----------
    points, codes
        float64 (points, numbers) and int32 (points, texts).
    centres, labels
        The same of the centres.
    sizes
        float64, one a centre.

    Returns
    -------
    tuple
        int32 first of the nearest centres (-1 where there is none), float64 squared distance to it, and float64 sum
        of the sizes of all that are as near.
    """
    n = points.shape[0]
    points, codes, centres, labels = (np.ascontiguousarray(one) for one in (points, codes, centres, labels))
    first, best, tied = np.empty(n, dtype=np.int32), np.empty(n), np.empty(n)
    share_rows(
        n,
        lambda start, stop: _native.nearest_block(
            points, codes, centres, labels, sizes, first, best, tied, start, stop
        ),
        max(1, _PAIRS // max(1, centres.shape[0])),
    )
    return first, best, tied
