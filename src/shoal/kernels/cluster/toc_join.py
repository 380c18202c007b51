"""TOC's leftover records join clusters (Loukides 2008, Algorithm 5)."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from shoal.kernels import _native
from shoal.kernels.cluster.pools import BLOCK, Found, Made
from shoal.kernels.cluster.toc import Task
from shoal.kernels.cores import share

# everywhere: all clusters are candidates; increment: the smallest rise counts, not the smallest value.
Joining = namedtuple("Joining", "everywhere increment")


def join_leftovers(task: Task, found: Found, made: Made, how: Joining) -> None:
    """Put every leftover into the cluster that is best with it, in ``found`` and ``made``; there must be a cluster.

    Candidates are the clusters of its own and the adjoining subspaces, further ones where these have none, or all.
    Cost: O(leftovers times candidates times columns).
    """
    parts = task.starts.size - 1
    far = np.empty(parts, dtype=np.int64)
    _native.count_far(found.clusters, far)
    if not how.everywhere:
        blocks = (parts - 1) // BLOCK + 1
        for parity in range(2):  # two blocks of the same kind never reach the same clusters

            def join(half: int, parity: int = parity) -> None:
                first = (2 * half + parity) * BLOCK
                _native.join_near(task, found, made, far, first, first + BLOCK, how.increment)

            share((blocks + 1 - parity) // 2, join)
    _native.join_far(task, found, made, far, how.everywhere, how.increment)
