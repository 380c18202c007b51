"""Clustering for complete (alpha, k)-anonymity: the smallest class joins the nearest one it is compatible with."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from shoal.kernels import _native
from shoal.kernels.cores import share
from shoal.kernels.prices import Prices

# codes: int32 (columns, records); value: int32, sensitive code of each record; cap: float64 by code (infinite: none);
# known: int64 by code (0: no value).
Records = namedtuple("Records", "codes value cap known")


def cluster_classes(
    p: Prices, records: Records, ids: np.ndarray, count: int, k: int, mend: bool, done: np.ndarray
) -> int:
    """Merge ``count`` classes, numbered by their first records in ``ids`` (int32), in place; return how many are left.

    Classes that stay too small are mended if asked for: rule 1 is waived, or they are dissolved, or suppressed (-1).
    ``done`` (int64, 4) counts merged classes, those merged beyond rule 1, and moved and suppressed records. Cost:
    O(classes) for each merger, times the columns.
    """
    return int(_native.cluster_classes(p, records, ids, count, k, mend, done))


def cluster_parts(
    p: Prices, records: Records, starts: np.ndarray, k: int, ids: np.ndarray, counts: np.ndarray, done: np.ndarray
) -> None:
    """Cluster the records of every part from single records on, mending nothing.

    Parts begin at ``starts`` (int64, with the number of records at the end); ``counts`` (int64) gets their classes, and
    ``done`` is int64 (parts, 4). The rest, and the cost of each part, are those of `cluster_classes`.
    """

    def cluster(q: int) -> None:
        first, last = starts[q], starts[q + 1]
        mine = Records(
            np.ascontiguousarray(records.codes[:, first:last]), records.value[first:last], records.cap, records.known
        )
        ids[first:last] = np.arange(last - first)
        counts[q] = cluster_classes(p, mine, ids[first:last], last - first, k, False, done[q])

    share(counts.size, cluster)
