"""Dealing a small pool of records into groups of k: a seed, then always the record that costs least."""

from __future__ import annotations

import numpy as np

from shoal.kernels.price.cells import Prices, helper, wide
from shoal.kernels.price.extents import Extents, cost_with, extend_all, make_records, own_cells

# More than any price of a pool.
NEVER = np.iinfo(np.int64).max


@helper
def shuffle(out: np.ndarray, seed: np.uint64) -> None:
    """A permutation of 0, 1, ... that the seed decides."""
    state = seed
    for i in range(out.size):
        out[i] = i
    for i in range(out.size - 1, 0, -1):
        state += np.uint64(0x9E3779B97F4A7C15)
        x = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        x ^= x >> np.uint64(31)
        j = int((x >> np.uint64(11)) % np.uint64(i + 1))
        out[i], out[j] = out[j], out[i]


@helper
def grow(
    p: Prices, codes: np.ndarray, pool: np.ndarray, turn: np.ndarray, k: int, most: int, labels: np.ndarray
) -> int:
    """Label the records of a pool with groups 0, 1, ...; returns the ticks of all.

    Seeds come in the order of ``turn``; records left over join the group that they raise least. Gives up, and says
    NEVER, as soon as ``most`` is reached.
    """
    n = pool.size
    m = codes.shape[0]
    room = n // k
    cells, now = make_records(p, room), np.empty((room, m), dtype=np.int64)
    cost, size = np.zeros(room, dtype=np.int64), np.zeros(room, dtype=np.int64)
    out, value = np.empty(m, dtype=np.int64), np.empty(n, dtype=np.int64)
    for i in range(n):
        labels[i] = -1
    left = n
    total = wide(0)
    at = 0
    found = 0
    while left >= k:
        while labels[turn[at]] >= 0:
            at += 1
        g = wide(found)
        found += 1
        labels[turn[at]] = g
        extend_all(p, cells, g, codes, wide(pool[turn[at]]))
        cost[g] = own_cells(p, cells, g, now[g])
        stale = True
        for _ in range(k - 1):
            best = wide(-1)
            for i in range(n):
                if labels[i] >= 0:
                    continue
                if stale:
                    value[i] = cost_with(p, cells, g, codes, wide(pool[i]), now[g], out)
                if best < 0 or value[i] < value[best]:
                    best = wide(i)
            labels[best] = g
            # A record that costs no more than the group leaves its cells as they are, and all prices with them.
            stale = value[best] != cost[g]
            if stale:
                extend_all(p, cells, g, codes, wide(pool[best]))
                cost[g] = own_cells(p, cells, g, now[g])
        size[g] = k
        left -= k
        total += k * cost[g]
        if total >= most:
            return wide(NEVER)
    return total + _deal_rest(p, codes, pool, cells, now, (cost, size, out), labels)


@helper
def _deal_rest(
    p: Prices, codes: np.ndarray, pool: np.ndarray, cells: Extents, now: np.ndarray, state: tuple, labels: np.ndarray
) -> int:
    """Put records without a group into the one that they raise least; returns by how many ticks all rise."""
    cost, size, out = state
    total = wide(0)
    for i in range(pool.size):
        if labels[i] >= 0:
            continue
        best = wide(-1)
        least = wide(0)
        for g in range(size.size):
            rise = (size[g] + 1) * cost_with(p, cells, wide(g), codes, wide(pool[i]), now[g], out) - size[g] * cost[g]
            if best < 0 or rise < least:
                least = rise
                best = wide(g)
        labels[i] = best
        extend_all(p, cells, best, codes, wide(pool[i]))
        cost[best] = own_cells(p, cells, best, now[best])
        size[best] += 1
        total += least
    return total
