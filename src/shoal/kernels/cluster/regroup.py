"""Dealing a small pool of records into groups of k: a seed, then always the record that costs least."""

from __future__ import annotations

import numpy as np

from shoal.kernels.cluster.exposure import Exposure, diversity, steps_of
from shoal.kernels.frozen.price.cells import Prices, helper, whole_of, wide
from shoal.kernels.frozen.price.extents import Extents, cost_with, extend_all, make_records, own_cells

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
def lowest(p: Prices) -> int:
    """Ticks that a record costs at least: below 0 where the spread of a column counts in favour."""
    found = wide(0)
    for a in range(p.unit.size):
        found += min(wide(0), whole_of(p, wide(a)))
    return found


@helper
def _told(e: Exposure, near: np.ndarray, known: np.ndarray, row: int, adds: np.ndarray) -> int:
    """Ticks that a group tells with one more record (-1: none), whose steps with its members are ``adds``."""
    found = wide(0)
    for column in range(e.unit.size):
        a = wide(column)
        if row >= 0 and e.secrets.codes[row, a] >= 0:
            found += diversity(e.unit[a], e.full, near[a] + e.full + adds[a], known[a] + 1)
        else:
            found += diversity(e.unit[a], e.full, near[a], known[a])
    return found


@helper
def _meet(e: Exposure, pool: np.ndarray, labels: np.ndarray, at: int, sums: tuple, g: int) -> None:
    """Count a record of the pool in a group that grows, and what all others would have with it."""
    near, known, adds = sums
    codes, row = e.secrets.codes, pool[at]
    for column in range(e.unit.size):
        a = wide(column)
        if codes[row, a] < 0:
            continue
        near[g, a] += e.full + adds[at, a]
        known[g, a] += 1
        for i in range(pool.size):
            if labels[i] < 0 and codes[pool[i], a] >= 0:
                adds[i, a] += steps_of(e, a, wide(codes[row, a]), wide(codes[pool[i], a]))


@helper
def _cheapest(
    p: Prices, e: Exposure, codes: np.ndarray, pool: np.ndarray, labels: np.ndarray, grown: tuple, value: np.ndarray
) -> int:
    """The record without a label with which a group costs least.

    ``value`` are the ticks of its cells with each record, worked out anew where ``grown`` says that they are stale.
    """
    cells, now, near, known, adds, out, g, stale = grown
    best, least = wide(-1), wide(0)
    for i in range(pool.size):
        if labels[i] >= 0:
            continue
        if stale:
            value[i] = cost_with(p, cells, g, codes, wide(pool[i]), now[g], out)
        price = value[i]
        if e.unit.size:
            price += _told(e, near[g], known[g], wide(pool[i]), adds[i])
        if best < 0 or price < least:
            best, least = wide(i), price
    return best


@helper
def grow(
    p: Prices, e: Exposure, codes: np.ndarray, pool: np.ndarray, turn: np.ndarray, k: int, most: int,
    labels: np.ndarray,
) -> int:  # fmt: skip
    """Label the records of a pool with groups 0, 1, ...; returns the ticks of all above the lowest that there can be.

    Seeds come in the order of ``turn``; records left over join the group that they raise least. Gives up, and says
    NEVER, as soon as ``most`` is reached.
    """
    n = pool.size
    m = codes.shape[0]
    room = n // k
    cells, now = make_records(p, room), np.empty((room, m), dtype=np.int64)
    cost, size = np.zeros(room, dtype=np.int64), np.zeros(room, dtype=np.int64)
    out, value = np.empty(m, dtype=np.int64), np.empty(n, dtype=np.int64)
    columns = e.unit.size
    near, known = np.zeros((room, columns), dtype=np.int64), np.zeros((room, columns), dtype=np.int64)
    adds = np.zeros((n, columns), dtype=np.int64)
    floor = lowest(p)
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
        if columns:
            adds[:] = 0
            _meet(e, pool, labels, wide(turn[at]), (near, known, adds), g)
        stale = True
        for _ in range(k - 1):
            best = _cheapest(p, e, codes, pool, labels, (cells, now, near, known, adds, out, g, stale), value)
            labels[best] = g
            # A record that costs no more than the group leaves its cells as they are, and all prices with them; not so
            # where values may be unknown, and a first known one costs nothing.
            stale = value[best] != cost[g] or floor < 0
            if stale:
                extend_all(p, cells, g, codes, wide(pool[best]))
                cost[g] = own_cells(p, cells, g, now[g])
            if columns:
                _meet(e, pool, labels, best, (near, known, adds), g)
        cost[g] += _told(e, near[g], known[g], wide(-1), out)
        size[g] = k
        left -= k
        total += k * (cost[g] - floor)
        if total >= most:
            return wide(NEVER)
    state = cost, size, out, near, known, adds
    return total - left * floor + _deal_rest(p, e, codes, pool, cells, now, state, labels)


@helper
def _deal_rest(
    p: Prices, e: Exposure, codes: np.ndarray, pool: np.ndarray, cells: Extents, now: np.ndarray, state: tuple,
    labels: np.ndarray,
) -> int:  # fmt: skip
    """Put records without a group into the one that they raise least; returns by how many ticks all rise."""
    cost, size, out, near, known, adds = state
    total = wide(0)
    for i in range(pool.size):
        if labels[i] >= 0:
            continue
        best, least, then = wide(-1), wide(0), wide(0)
        for g in range(size.size):
            raised = cost_with(p, cells, wide(g), codes, wide(pool[i]), now[g], out)
            if e.unit.size:
                _steps_with(e, pool, labels, wide(i), wide(g), adds[i])
                raised += _told(e, near[g], known[g], wide(pool[i]), adds[i])
            rise = (size[g] + 1) * raised - size[g] * cost[g]
            if best < 0 or rise < least:
                best, least, then = wide(g), rise, raised
        if e.unit.size:
            _steps_with(e, pool, labels, wide(i), best, adds[i])
            for a in range(e.unit.size):
                if e.secrets.codes[pool[i], a] >= 0:
                    near[best, a] += e.full + adds[i, a]
                    known[best, a] += 1
        labels[i] = best
        extend_all(p, cells, best, codes, wide(pool[i]))
        own_cells(p, cells, best, now[best])
        cost[best] = then
        size[best] += 1
        total += least
    return total


@helper
def _steps_with(e: Exposure, pool: np.ndarray, labels: np.ndarray, at: int, g: int, out: np.ndarray) -> None:
    """Steps that a record of the pool has with the members of a group."""
    codes = e.secrets.codes
    for column in range(e.unit.size):
        a = wide(column)
        out[a] = 0
        for i in range(pool.size):
            if labels[i] == g and codes[pool[i], a] >= 0 and codes[pool[at], a] >= 0:
                out[a] += steps_of(e, a, wide(codes[pool[at], a]), wide(codes[pool[i], a]))
