"""MDAV: clusters of k around the records that lie furthest out (Domingo-Ferrer & Torra 2005)."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from shoal.kernels import _native
from shoal.kernels.cores import share_rows

# spots: (a, n) float64 coordinates; codes: (b, n) int32 categories, card (int64) of each column; tree (int32) and cost
# (float64), from tree_at (int64, b + 1) on: level x code matrices of a column's ancestors and of the squared distance
# of two categories that share that node first.
Records = namedtuple("Records", "spots codes tree cost tree_at card")


def mdav(data: Records, k: int) -> np.ndarray:
    """Group records: sizes from k to 2k - 1, or one group where there are fewer than 2k; int32 group of every record.

    While at least 3k are left: r is furthest from the centroid and takes the k - 1 nearest to it, then s, furthest
    from r among the rest, takes the k - 1 nearest to it. Of 2k to 3k - 1, r takes its k - 1 nearest; the rest is one.
    Cost: O(n^2 / k) distances.
    """
    ids = np.empty(max(data.spots.shape[1], data.codes.shape[1]), dtype=np.int32)
    _native.mdav(data, k, ids)
    return ids


# ----------------------------------------
# Optimal microaggregation of one sorted column as a shortest path (Hansen & Mukherjee 2003).


def shortest_path(values: np.ndarray, k: int) -> np.ndarray:
    """Group ascending values (float64) into runs of k to 2k - 1 with the least sum of squared deviations.

    Some best partition into groups of at least k has only such runs, so O(n k) sums decide. Fewer than 2k values are
    one group. Ties go to the shorter last run. Returns the int32 group of every value.
    """
    ids = np.empty(values.size, dtype=np.int32)
    _native.shortest_path(values, k, ids)
    return ids


# ----------------------------------------
# Nearest rows: which of some centres are closest to points of numbers and codes.


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
