"""Threshold-based greedy clustering of subspaces (Loukides 2008, Algorithm 1).

The objective mr_wtd of a cluster is ``base`` + the ticks of its cells, where those of sensitive columns are negative,
because values far apart protect. Unknown sensitive values are below 0.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from shoal.kernels import _native
from shoal.kernels.cores import share
from shoal.kernels.median_split import BLOCK, Found, Made, nothing_found, nothing_made
from shoal.kernels.prices import Prices

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


# ----------------------------------------
# TOC's leftover records join clusters (Loukides 2008, Algorithm 5).


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


# ----------------------------------------
# Clustering a sample to see how good a threshold or a subspace size is (Loukides 2008, Algorithms 3 and 4).


def trial(task: Task, plain: Prices, increment: bool, out: np.ndarray) -> None:
    """Cluster, let leftovers join, and add to ``out`` the ticks of each column, and the number of clusters.

    Ticks are those of ``plain`` over all clusters, not weighted by their rows. ``out`` is int64 (columns + 1,).
    Cost: that of `shoal.kernels.cluster.toc.cluster`, and O(leftovers times clusters times columns).
    """
    n, columns = task.pool.codes.shape
    parts = task.starts.size - 1
    found, made = nothing_found(n, parts), nothing_made(n, task.prices, task.aim.k)
    _native.cluster_subspaces(task, found, made, 0, parts)
    out[columns] = found.clusters.sum()
    if out[columns] == 0:
        return
    _native.join_far(task, found, made, np.zeros(parts, dtype=np.int64), True, increment)
    _native.price_clusters(plain, made, out[:columns])


def try_thresholds(task: Task, plain: Prices, deltas: np.ndarray, increment: bool) -> np.ndarray:
    """Make one `trial` for each threshold (float64), at its cost; a row each, int64 (thresholds, columns + 1)."""
    out = np.zeros((deltas.size, task.pool.codes.shape[1] + 1), dtype=np.int64)

    def one(i: int) -> None:
        trial(task._replace(aim=task.aim._replace(delta=float(deltas[i]))), plain, increment, out[i])

    share(deltas.size, one)
    return out
