"""TOC's leftover records join clusters (Loukides 2008, Algorithm 5)."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from shoal.kernels.cluster.toc import Aim
from shoal.kernels.compiled import kernel
from shoal.kernels.cores import share
from shoal.kernels.judge.rules import TOLERANCE
from shoal.kernels.price.clusters import extend, price_each, prices
from shoal.kernels.price.geometry import Geometry
from shoal.kernels.price.pools import BLOCK, Found, Made, Pool

# everywhere: all clusters are candidates; increment: the smallest rise counts, not the smallest value.
Joining = namedtuple("Joining", "everywhere increment")


@kernel
def value_of(geo: Geometry, base: float, now: np.ndarray) -> float:
    """The objective of a cluster, from its columns' prices."""
    for a in range(now.size):
        base += geo.weight[a] * now[a]
    return base


@kernel
def _join(
    pool: Pool, starts: np.ndarray, geo: Geometry, aim: Aim, found: Found, made: Made, p: int, reach: int, step: int,
    increment: bool,
) -> None:  # fmt: skip
    """Put the leftovers of a subspace into the best clusters of every ``step``-th one from p - reach to p + reach.

    One leftover after another; of equal clusters the first takes it.
    """
    parts = starts.size - 1
    for i in range(found.left[p]):
        row = found.queue[starts[p] + i]
        codes = pool.codes[row]
        best, at = np.inf, -1
        for q in range(p - reach, p + reach + 1, step):
            if q < 0 or q >= parts:
                continue
            first = starts[q] // aim.k
            after = first + found.clusters[q]
            costs = np.empty((found.clusters[q], 2))
            price_each(geo, codes, made.low, made.high, made.bits, made.now, first, after, costs)
            for c in range(first, after):
                value = aim.base + costs[c - first, 0]
                if increment:
                    value -= value_of(geo, aim.base, made.now[c])
                if value < best - TOLERANCE:
                    best, at = value, c
        found.ids[row] = at
        extend(geo, codes, made.low[at], made.high[at], made.bits[at])
        prices(geo, made.low[at], made.high[at], made.bits[at], made.now[at])
        made.size[at] += 1


@kernel
def _far(clusters: np.ndarray) -> np.ndarray:
    """How many subspaces lie between each one and the nearest with a cluster, that one included."""
    far = np.empty(clusters.size, dtype=np.int64)
    last = -clusters.size
    for p in range(clusters.size):
        if clusters[p]:
            last = p
        far[p] = p - last
    last = 2 * clusters.size
    for p in range(clusters.size - 1, -1, -1):
        if clusters[p]:
            last = p
        far[p] = min(far[p], last - p)
    return far


@kernel
def join_far(pool: Pool, starts: np.ndarray, geo: Geometry, aim: Aim, found: Found, made: Made, how: Joining) -> None:
    """The leftovers of subspaces without clusters near them (or of all), one after another."""
    parts = starts.size - 1
    far = _far(found.clusters)
    for p in range(parts):
        if how.everywhere:
            _join(pool, starts, geo, aim, found, made, p, parts, 1, how.increment)
        elif far[p] > 1:
            _join(pool, starts, geo, aim, found, made, p, far[p], 2 * far[p], how.increment)


@kernel
def _join_block(
    pool: Pool, starts: np.ndarray, geo: Geometry, aim: Aim, found: Found, made: Made, far: np.ndarray, block: int,
    increment: bool,
) -> None:  # fmt: skip
    for p in range(block * BLOCK, min((block + 1) * BLOCK, starts.size - 1)):
        if far[p] <= 1:
            _join(pool, starts, geo, aim, found, made, p, 1, 1, increment)


def join_leftovers(
    pool: Pool, starts: np.ndarray, geo: Geometry, aim: Aim, found: Found, made: Made, how: Joining
) -> None:
    """Every leftover joins the cluster that is best with it; there must be one.

    Candidates are the clusters of its own and the adjoining subspaces, further ones where these have none, or all.
    """
    if not how.everywhere:
        blocks, far = (starts.size - 2) // BLOCK + 1, _far(found.clusters)
        for parity in range(2):  # two blocks of the same kind never reach the same clusters
            share(
                (blocks + 1 - parity) // 2,
                lambda half, parity=parity: _join_block(  # type: ignore[misc]
                    pool, starts, geo, aim, found, made, far, 2 * half + parity, how.increment
                ),
            )
    join_far(pool, starts, geo, aim, found, made, how)
