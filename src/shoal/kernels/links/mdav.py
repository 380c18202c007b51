"""MDAV: clusters of k around the records that lie furthest out (Domingo-Ferrer & Torra 2005)."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from shoal.kernels import _native

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
