"""Clustering a sample to see how good a threshold or a subspace size is (Loukides 2008, Algorithms 3 and 4)."""

from __future__ import annotations

import numpy as np

from shoal.kernels.cluster.pools import nothing_found, nothing_made
from shoal.kernels.cluster.toc import Task, cluster_subspace
from shoal.kernels.cluster.toc_join import Joining, join_far
from shoal.kernels.compiled import kernel
from shoal.kernels.cores import share
from shoal.kernels.frozen.price.cells import Prices, wide
from shoal.kernels.frozen.price.extents import own_cell


@kernel
def trial(task: Task, plain: Prices, increment: bool, out: np.ndarray) -> None:
    """Cluster, let leftovers join, and fill ``out`` with what ``plain`` makes of each column, and how many there are.

    That is ticks over all clusters, not weighted by their rows; then the number of clusters.
    """
    n, columns = task.pool.codes.shape
    parts = task.starts.size - 1
    found = nothing_found(n, parts)
    made = nothing_made(n, task.prices, task.aim.k)
    for part in range(parts):
        cluster_subspace(task, found, made, wide(part))
    out[columns] = found.clusters.sum()
    if out[columns] == 0:
        return
    join_far(task, found, made, Joining(True, increment))
    for c in range(made.size.size):
        if made.size[c]:
            for a in range(columns):
                out[a] += own_cell(plain, made.cells, wide(c), wide(a))


def try_thresholds(task: Task, plain: Prices, deltas: np.ndarray, increment: bool) -> np.ndarray:
    """One trial a threshold; a row of results each."""
    out = np.zeros((deltas.size, task.pool.codes.shape[1] + 1), dtype=np.int64)

    def one(i: int) -> None:
        trial(task._replace(aim=task.aim._replace(delta=float(deltas[i]))), plain, increment, out[i])

    share(deltas.size, one)
    return out
