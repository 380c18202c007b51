"""Threshold-based greedy clustering of subspaces (Loukides 2008, Algorithm 1).

The objective mr_wtd of a cluster is linear in the prices of its columns: ``base`` + their weighted sum, where the
weights of sensitive columns are negative, because values far apart protect. Unknown sensitive values are below 0.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from shoal.kernels.compiled import kernel
from shoal.kernels.cores import share
from shoal.kernels.heap import PLACES, make_heap, pop, price_key
from shoal.kernels.judge.rules import TOLERANCE
from shoal.kernels.price.clusters import extend, open_group, pair_prices, price_with, prices
from shoal.kernels.price.geometry import Geometry
from shoal.kernels.price.pools import (
    BLOCK,
    Extent,
    Found,
    Made,
    Pool,
    by_column,
    empty_extent,
    is_new,
    keep_cluster,
    nothing_found,
    nothing_made,
    take_seed,
)

# base: base + weighted price is mr_wtd; delta: its limit; k, most: fewest and most people of a cluster.
Aim = namedtuple("Aim", "base delta k most")


@kernel
def _grow_one(
    pool: Pool, lo: int, geo: Geometry, aim: Aim, heap: np.ndarray, size: int, members: np.ndarray, e: Extent
) -> tuple:
    """Append records in order of their distance to the seed until one does not fit; returns rows and people."""
    open_group(geo, pool.codes[members[0]], e.low, e.high, e.bits)
    prices(geo, e.low, e.high, e.bits, e.now)
    rows = people = 1
    while size and people < aim.most:
        row = lo + pop(heap, size) % PLACES
        size -= 1
        codes = pool.codes[row]
        if aim.base + price_with(geo, codes, e.low, e.high, e.bits, e.now, e.then) > aim.delta + TOLERANCE:
            break
        extend(geo, codes, e.low, e.high, e.bits)
        for a in range(codes.size):
            e.now[a] = e.then[a]
        people += is_new(pool.subjects, members, rows, row)
        members[rows] = row
        rows += 1
    return rows, people


@kernel
def cluster_subspace(pool: Pool, lo: int, hi: int, geo: Geometry, aim: Aim, found: Found, made: Made, p: int) -> None:
    """Algorithm 1 on the rows from ``lo`` to ``hi``, which are subspace ``p``."""
    count = hi - lo
    codes = by_column(pool.codes, lo, hi)
    distances = np.empty(count)
    rest = np.arange(count)
    heap = np.empty(count, dtype=np.int64)
    members = np.empty(count, dtype=np.int64)
    taken = np.zeros(count, dtype=np.uint8)
    e = empty_extent(codes.shape[0], geo)
    while count:
        seed = take_seed(pool.turn, lo, rest, count)
        count -= 1
        pair_prices(geo, codes, seed, rest, count, aim.base, distances)
        for i in range(count):
            heap[i] = price_key(distances[i], rest[i])
        make_heap(heap, count)
        members[0] = lo + seed
        rows, people = _grow_one(pool, lo, geo, aim, heap, count, members, e)
        slot = -1
        if people >= aim.k:
            slot = lo // aim.k + found.clusters[p]
            found.clusters[p] += 1
            keep_cluster(made, slot, e, rows)
        for i in range(rows):
            taken[members[i] - lo] = 1
            found.ids[members[i]] = slot
            if slot < 0:
                found.queue[lo + found.left[p]] = members[i]
                found.left[p] += 1
        kept = 0
        for i in range(count):
            if not taken[rest[i]]:
                rest[kept] = rest[i]
                kept += 1
        count = kept


@kernel
def _cluster_block(
    pool: Pool, starts: np.ndarray, geo: Geometry, aim: Aim, found: Found, made: Made, block: int
) -> None:
    for p in range(block * BLOCK, min((block + 1) * BLOCK, starts.size - 1)):
        cluster_subspace(pool, starts[p], starts[p + 1], geo, aim, found, made, p)


def cluster(pool: Pool, starts: np.ndarray, geo: Geometry, aim: Aim) -> tuple[Found, Made]:
    """Algorithm 1 on every subspace: O(n s) with subspaces of s rows."""
    n, columns = pool.codes.shape
    found, made = nothing_found(n, starts.size - 1), nothing_made(n, columns, geo, aim.k)
    share((starts.size - 2) // BLOCK + 1, lambda block: _cluster_block(pool, starts, geo, aim, found, made, block))
    return found, made
