"""Groups that change: lists of members, extents and prices, and the price of each group without each member."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from shoal.kernels import _native
from shoal.kernels.cluster.exposure import Exposure
from shoal.kernels.price.cells import Prices
from shoal.kernels.price.extents import make_group_extents

# Of each record: int32 its group, its neighbours in the group's list, and int64 `bare`, the ticks of the group without
# it. Of each group: int32 head of the list and size, cells (see `shoal.kernels.price.extents`), int64 their ticks
# (groups, columns), and the sum of these and of its range diversity.
Groups = namedtuple("Groups", "ids after before bare head size cells now cost shown")


def make_groups(p: Prices, codes: np.ndarray, ids: np.ndarray, shown: Exposure) -> Groups:
    """Put every record in its group (int32 ``ids``) and price all groups, in O(columns times records).

    ``codes`` are int32 (columns, records); they are copied unless each record's codes are next to each other in memory.
    There may be as many groups as ``shown`` has room for.
    """
    capacity = shown.total.shape[0]
    n = ids.size
    groups = Groups(
        ids=np.full(n, -1, dtype=np.int32),
        after=np.full(n, -1, dtype=np.int32),
        before=np.full(n, -1, dtype=np.int32),
        bare=np.zeros(n, dtype=np.int64),
        head=np.full(capacity, -1, dtype=np.int32),
        size=np.zeros(capacity, dtype=np.int32),
        cells=make_group_extents(p, capacity),
        now=np.zeros((capacity, codes.shape[0]), dtype=np.int64),
        cost=np.zeros(capacity, dtype=np.int64),
        shown=shown,
    )
    _native.fill_groups(groups, ids, p, np.ascontiguousarray(codes.T))
    return groups
