"""Clustering a sample to see how good a threshold or a subspace size is (Loukides 2008, Algorithms 3 and 4)."""

from __future__ import annotations

import numpy as np

from shoal.kernels import _native
from shoal.kernels.cluster.pools import nothing_found, nothing_made
from shoal.kernels.cluster.toc import Task
from shoal.kernels.cores import share
from shoal.kernels.price.cells import Prices


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
