"""Clusters within hard limits on utility and protection (Loukides 2008, Algorithm 6), subspace by subspace."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from shoal.kernels import _native
from shoal.kernels.cluster.toc import Joining
from shoal.kernels.cores import share
from shoal.kernels.median_split import BLOCK, nothing_found, nothing_made

# utility: largest mean Q-diversity (U); k: fewest people of a cluster; free: while it is smaller, only U holds; most:
# people beyond which it does not grow; grows: one that fails P does, as long as its range diversity falls; guide: the
# weight of loss in the group diversity, of which the rest is range diversity.
Limits = namedtuple("Limits", "utility k free most grows guide")
# State that protection needs in addition to a pool. inside: int32 (n, columns), 0 where a row's value does not count;
# state: float64 (slots, columns, 3), the clusters' states; last: int32, the last row of each slot; before: int32, the
# row that joined before each row.
Guard = namedtuple("Guard", "inside state last before")
# pool and secrets have codes of the same type; starts: int64, where each subspace begins, and the number of rows.
Task = namedtuple("Task", "pool secrets starts prices limits")
# The clusters and leftovers so far: see `shoal.kernels.median_split`.
Result = namedtuple("Result", "found made guard")


def limit_clusters(task: Task) -> Result:
    """Run Algorithm 6 on every subspace, leftovers not yet placed: O(n s) with subspaces of s rows."""
    n, columns, parts = task.pool.codes.shape[0], task.secrets.codes.shape[1], task.starts.size - 1
    made = nothing_made(n, task.prices, task.limits.k)
    slots = made.size.size
    guard = Guard(
        np.zeros((n, columns), dtype=np.int32),
        np.empty((slots, columns, 3)),
        np.empty(slots, dtype=np.int32),
        np.empty(n, dtype=np.int32),
    )
    result = Result(nothing_found(n, parts), made, guard)
    share(
        (parts - 1) // BLOCK + 1,
        lambda block: _native.limit_subspaces(task, result, block * BLOCK, (block + 1) * BLOCK),
    )
    return result


# ----------------------------------------
# Leftover records of UPC join the clusters that may take them (Loukides 2008, Algorithm 6, step 7).


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
