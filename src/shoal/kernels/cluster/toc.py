"""Threshold-based greedy clustering of subspaces (Loukides 2008, Algorithm 1).

The objective mr_wtd of a cluster is ``base`` + the ticks of its cells, where those of sensitive columns are negative,
because values far apart protect. Unknown sensitive values are below 0.
"""

from __future__ import annotations

from collections import namedtuple

from shoal.kernels import _native
from shoal.kernels.cluster.pools import BLOCK, Found, Made, nothing_found, nothing_made
from shoal.kernels.cores import share

# base: base + ticks of all cells is mr_wtd; delta: its limit, a share of all ticks; k, most: fewest and most people of
# a cluster; linked: the nearest record is the one that is nearest to the cluster, not to its seed.
Aim = namedtuple("Aim", "base delta k most linked")
# starts: int64, where each subspace begins, and the number of rows.
Task = namedtuple("Task", "pool starts prices aim")


def cluster(task: Task) -> tuple[Found, Made]:
    """Run Algorithm 1 on every subspace: O(n s) with subspaces of s rows; linked, O(n s log s) to O(n s^2)."""
    n, parts = task.pool.codes.shape[0], task.starts.size - 1
    found, made = nothing_found(n, parts), nothing_made(n, task.prices, task.aim.k)
    share(
        (parts - 1) // BLOCK + 1,
        lambda block: _native.cluster_subspaces(task, found, made, block * BLOCK, (block + 1) * BLOCK),
    )
    return found, made
