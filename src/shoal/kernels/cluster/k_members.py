"""K-Members: grow one cluster after another, always by the record that costs least (Byun et al. 2007).

Equal records share one entry of the pool.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from shoal.kernels import _native
from shoal.kernels.cores import share
from shoal.kernels.prices import Prices

# ----------------------------------------
# Guidance of K-Members and K-Members-p: which columns decide, which break ties, and how close sensitive values are.


# A column's part: its loss decides; its loss breaks ties; its spread counts in favour; its range diversity decides.
COST, TIE, SPREAD, PAIRS = range(4)

# role: int64, one a column. By code, from at (int64, columns + 1): known (uint8, 0: no value), and int64 the policy's
# place, low and high end of its range.
Guide = namedtuple("Guide", "role known axis low high at")


# Places of records are numbered part after part. rows: int64 places, one entry after another; entry_at: int64, where
# each entry's rows start; part_at: int64, first entry of each part; codes: int32 (columns, entries). A part numbers its
# own values of a column: values, int32 codes, from value_at, int64 (parts, columns + 1); local: int32 (columns,
# entries), number of an entry's value among them.
Plan = namedtuple("Plan", "rows entry_at part_at codes local values value_at")


def cluster_parts(p: Prices, guide: Guide, plan: Plan, k: int, furthest: bool) -> tuple[np.ndarray, np.ndarray]:
    """Cluster every part of at least k records; one core or several give the same clusters.

    Cost: O(entries) for each record of a part, times the columns whose cells it changes.

    Returns
    -------
    ids, left
        int32, cluster of each place, numbered from 0 in each part; int64, leftovers of each part.
    """
    ids = np.empty(plan.rows.size, dtype=np.int32)
    left = np.empty(plan.part_at.size - 1, dtype=np.int64)

    def cluster(part: int) -> None:
        left[part] = _native.cluster_members(p, guide, plan, part, k, furthest, ids)

    share(left.size, cluster)
    return ids, left
