"""TOC's leftover records join clusters (Loukides 2008, Algorithm 5)."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from shoal.kernels.cluster.pools import BLOCK, Found, Made, take_row
from shoal.kernels.cluster.toc import Task
from shoal.kernels.compiled import kernel
from shoal.kernels.cores import share
from shoal.kernels.frozen.price.cells import helper, wide
from shoal.kernels.frozen.price.extents import cost_with

# everywhere: all clusters are candidates; increment: the smallest rise counts, not the smallest value.
Joining = namedtuple("Joining", "everywhere increment")


@helper
def _join(
    task: Task, found: Found, made: Made, part: int, reach: int, step: int, increment: bool
) -> None:
    """Put the leftovers of a subspace into the best clusters of every ``step``-th one from part - reach to + reach.

    One leftover after another; of equal clusters the first takes it.
    """
    starts, p, codes = task.starts, task.prices, task.pool.codes.T
    then = np.empty(p.kind.size, dtype=np.int64)
    for i in range(found.left[part]):
        row = wide(found.queue[starts[part] + i])
        best = wide(0)
        at = wide(-1)
        for q in range(part - reach, part + reach + 1, step):
            if q < 0 or q >= starts.size - 1:
                continue
            first = starts[q] // task.aim.k
            for c in range(first, first + found.clusters[q]):
                value = cost_with(p, made.cells, wide(c), codes, row, made.now[c], then)
                if increment:
                    value -= made.now[c].sum()
                if at < 0 or value < best:
                    best, at = value, wide(c)
        found.ids[row] = at
        take_row(p, made, at, codes, row)


@kernel
def _far(clusters: np.ndarray) -> np.ndarray:
    """How many subspaces lie between each one and the nearest with a cluster, that one included."""
    far = np.empty(clusters.size, dtype=np.int64)
    last = -clusters.size
    for part in range(clusters.size):
        if clusters[part]:
            last = part
        far[part] = part - last
    last = 2 * clusters.size
    for part in range(clusters.size - 1, -1, -1):
        if clusters[part]:
            last = part
        far[part] = min(far[part], last - part)
    return far


@kernel
def join_far(task: Task, found: Found, made: Made, how: Joining) -> None:
    """The leftovers of subspaces without clusters near them (or of all), one after another."""
    parts = task.starts.size - 1
    far = _far(found.clusters)
    for part in range(parts):
        if how.everywhere:
            _join(task, found, made, wide(part), wide(parts), wide(1), how.increment)
        elif far[part] > 1:
            _join(task, found, made, wide(part), far[part], 2 * far[part], how.increment)


@kernel
def _join_block(
    task: Task, found: Found, made: Made, far: np.ndarray, block: int, increment: bool
) -> None:
    for part in range(block * BLOCK, min((block + 1) * BLOCK, task.starts.size - 1)):
        if far[part] <= 1:
            _join(task, found, made, wide(part), wide(1), wide(1), increment)


def join_leftovers(task: Task, found: Found, made: Made, how: Joining) -> None:
    """Every leftover joins the cluster that is best with it; there must be one.

    Candidates are the clusters of its own and the adjoining subspaces, further ones where these have none, or all.
    """
    if not how.everywhere:
        blocks, far = (task.starts.size - 2) // BLOCK + 1, _far(found.clusters)
        for parity in range(2):  # two blocks of the same kind never reach the same clusters
            share(
                (blocks + 1 - parity) // 2,
                lambda half, parity=parity: _join_block(  # type: ignore[misc]
                    task, found, made, far, 2 * half + parity, how.increment
                ),
            )
    join_far(task, found, made, how)
