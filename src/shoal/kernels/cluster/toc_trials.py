"""Clustering a sample to see how good a threshold or a subspace size is (Loukides 2008, Algorithms 3 and 4)."""

from __future__ import annotations

import numpy as np

from shoal.kernels.cluster.toc import Aim, cluster_subspace
from shoal.kernels.cluster.toc_join import Joining, join_far
from shoal.kernels.compiled import kernel
from shoal.kernels.cores import share
from shoal.kernels.price.geometry import Geometry
from shoal.kernels.price.pools import Pool, nothing_found, nothing_made


@kernel
def trial(
    pool: Pool, starts: np.ndarray, geo: Geometry, aim: Aim, delta: float, increment: bool, out: np.ndarray
) -> None:
    """Cluster, let leftovers join, and fill ``out`` with the columns' mean prices over clusters, then their number.

    Without any cluster the number is 0 and the means are not touched.
    """
    n, columns = pool.codes.shape
    aim = Aim(aim.base, delta, aim.k, aim.most)
    found = nothing_found(n, starts.size - 1)
    made = nothing_made(n, columns, geo, aim.k)
    for p in range(starts.size - 1):
        cluster_subspace(pool, starts[p], starts[p + 1], geo, aim, found, made, p)
    clusters = found.clusters.sum()
    out[columns] = clusters
    if clusters == 0:
        return
    join_far(pool, starts, geo, aim, found, made, Joining(True, increment))
    for c in range(made.size.size):
        if made.size[c]:
            for a in range(columns):
                out[a] += made.now[c, a] / clusters


def try_thresholds(pool: Pool, geo: Geometry, aim: Aim, deltas: np.ndarray, increment: bool) -> np.ndarray:
    """One trial a threshold, the whole sample as one subspace; a row of results each."""
    out = np.zeros((deltas.size, pool.codes.shape[1] + 1))
    starts = np.array([0, pool.codes.shape[0]], dtype=np.int64)
    share(deltas.size, lambda i: trial(pool, starts, geo, aim, deltas[i], increment, out[i]))
    return out
