"""Threshold-based greedy clustering of subspaces (Loukides 2008, Algorithm 1).

The objective mr_wtd of a cluster is ``base`` + the ticks of its cells, where those of sensitive columns are negative,
because values far apart protect. Unknown sensitive values are below 0.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from shoal.kernels.cluster.pools import (
    BLOCK,
    Found,
    Grown,
    Made,
    by_column,
    is_new,
    keep_cluster,
    nothing_found,
    nothing_grown,
    nothing_made,
    take_seed,
)
from shoal.kernels.compiled import kernel
from shoal.kernels.cores import share
from shoal.kernels.frozen.heap import PLACES, make_heap, pop, ticks_key
from shoal.kernels.frozen.judge.rules import TOLERANCE
from shoal.kernels.frozen.price.cells import helper, wide
from shoal.kernels.frozen.price.extents import cost_with, extend_all, open_group
from shoal.kernels.frozen.price.many import costs_with

# base: base + ticks of all cells is mr_wtd; delta: its limit, a share of all ticks; k, most: fewest and most people of
# a cluster; linked: the nearest record is the one that is nearest to the cluster, not to its seed.
Aim = namedtuple("Aim", "base delta k most linked")
Task = namedtuple("Task", "pool starts prices aim")


@helper
def _grow_one(task: Task, lo: int, heap: np.ndarray, size: int, members: np.ndarray, e: Grown) -> tuple:
    """Append records in order of their distance to the seed until one does not fit; returns rows and people."""
    pool, p, aim = task.pool, task.prices, task.aim
    codes = pool.codes.T
    limit = (aim.delta + TOLERANCE) * p.one - aim.base
    rows = people = 1
    while size and people < aim.most:
        row = wide(lo + pop(heap, size) % PLACES)
        size -= 1
        if cost_with(p, e.cells, wide(0), codes, row, e.now, e.then) > limit:
            break
        extend_all(p, e.cells, wide(0), codes, row)
        for a in range(e.now.size):
            e.now[a] = e.then[a]
        people += is_new(pool.subjects, members, rows, row)
        members[rows] = row
        rows += 1
    return rows, people


@helper
def _grow_linked(
    task: Task, lo: int, codes: np.ndarray, rest: np.ndarray, taken: np.ndarray, members: np.ndarray, e: Grown,
    room: tuple,
) -> tuple:  # fmt: skip
    """Take in the record with which the cluster is best until one does not fit; returns rows and people."""
    pool, p, aim = task.pool, task.prices, task.aim
    limit = (aim.delta + TOLERANCE) * p.one - aim.base
    costs = np.empty(rest.size, dtype=np.int64)
    rows = people = 1
    while people < aim.most:
        costs[:] = 0
        costs_with(p, e.cells, wide(0), codes, rest, room, costs)
        best = -1
        for i in range(rest.size):
            if not taken[rest[i]] and (best < 0 or costs[i] < costs[best]):
                best = i
        if best < 0 or costs[best] > limit:
            break
        place = wide(rest[best])
        cost_with(p, e.cells, wide(0), codes, place, e.now, e.then)
        extend_all(p, e.cells, wide(0), codes, place)
        for a in range(e.now.size):
            e.now[a] = e.then[a]
        people += is_new(pool.subjects, members, rows, lo + place)
        members[rows] = lo + place
        taken[place] = 1
        rows += 1
    return rows, people


@helper
def cluster_subspace(task: Task, found: Found, made: Made, part: int) -> None:
    """Algorithm 1 on one subspace."""
    pool, p, aim = task.pool, task.prices, task.aim
    lo, hi = task.starts[part], task.starts[part + 1]
    count = hi - lo
    codes = by_column(pool.codes, lo, hi)
    rest = np.arange(count)
    heap, members = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    room = np.empty(count, dtype=np.int32), np.empty(count, dtype=np.int64)
    taken = np.zeros(count, dtype=np.uint8)
    e = nothing_grown(p)
    while count:
        seed = take_seed(pool.turn, lo, rest, count)
        count -= 1
        open_group(p, e.cells, wide(0), codes, seed, e.now)
        members[0] = lo + seed
        if aim.linked:
            rows, people = _grow_linked(task, lo, codes, rest[:count], taken, members, e, room)
        else:
            for i in range(count):
                heap[i] = aim.base
            costs_with(p, e.cells, wide(0), codes, rest[:count], room, heap)
            for i in range(count):
                heap[i] = ticks_key(heap[i], rest[i])
            make_heap(heap, count)
            rows, people = _grow_one(task, lo, heap, count, members, e)
        slot = wide(-1)
        if people >= aim.k:
            slot = lo // aim.k + found.clusters[part]
            found.clusters[part] += 1
            keep_cluster(made, slot, e, rows)
        for i in range(rows):
            taken[members[i] - lo] = 1
            found.ids[members[i]] = slot
            if slot < 0:
                found.queue[lo + found.left[part]] = members[i]
                found.left[part] += 1
        kept = 0
        for i in range(count):
            if not taken[rest[i]]:
                rest[kept] = rest[i]
                kept += 1
        count = kept


@kernel
def _cluster_block(task: Task, found: Found, made: Made, block: int) -> None:
    for part in range(block * BLOCK, min((block + 1) * BLOCK, task.starts.size - 1)):
        cluster_subspace(task, found, made, wide(part))


def cluster(task: Task) -> tuple[Found, Made]:
    """Algorithm 1 on every subspace: O(n s) with subspaces of s rows."""
    n, parts = task.pool.codes.shape[0], task.starts.size - 1
    found, made = nothing_found(n, parts), nothing_made(n, task.prices, task.aim.k)
    share((parts - 1) // BLOCK + 1, lambda block: _cluster_block(task, found, made, block))
    return found, made
