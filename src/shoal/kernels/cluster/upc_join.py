"""Leftover records of UPC join the clusters that may take them (Loukides 2008, Algorithm 6, step 7)."""

from __future__ import annotations

from shoal.kernels import _native
from shoal.kernels.cluster.pools import BLOCK
from shoal.kernels.cluster.toc_join import Joining
from shoal.kernels.cluster.upc import Result, Task
from shoal.kernels.cores import share


def join_limited(task: Task, result: Result, how: Joining) -> None:
    """Put every leftover into the best cluster that still keeps the limits with it; one that finds none stays out.

    Candidates are the clusters of its own and the adjoining subspaces, or all. Cost: O(leftovers times candidates times
    columns), and the pairs of the clusters that may take a leftover.
    """
    parts = task.starts.size - 1
    if how.everywhere:
        _native.join_limited(task, result, 0, parts, True, how.increment)
        return
    blocks = (parts - 1) // BLOCK + 1
    for parity in range(2):  # two blocks of the same kind never reach the same clusters

        def join(half: int, parity: int = parity) -> None:
            first = (2 * half + parity) * BLOCK
            _native.join_limited(task, result, first, first + BLOCK, False, how.increment)

        share((blocks + 1 - parity) // 2, join)
