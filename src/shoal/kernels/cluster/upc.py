"""Clusters within hard limits on utility and protection (Loukides 2008, Algorithm 6), subspace by subspace."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from shoal.kernels import _native
from shoal.kernels.cluster.pools import BLOCK, nothing_found, nothing_made
from shoal.kernels.cores import share

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
# The clusters and leftovers so far: see `shoal.kernels.cluster.pools`.
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
