"""Leftover records of UPC join the clusters that may take them (Loukides 2008, Algorithm 6, step 7)."""

from __future__ import annotations

import numpy as np

from shoal.kernels.cluster.toc_join import Joining, value_of
from shoal.kernels.cluster.upc import Guard, Limits
from shoal.kernels.compiled import kernel
from shoal.kernels.cores import share
from shoal.kernels.judge.rules import TOLERANCE
from shoal.kernels.judge.secrets import (
    CROWD,
    KNOWN,
    LIMIT,
    SHARE,
    TOTAL,
    Secrets,
    admit,
    counts,
    crowd_with,
    pairs_with,
    protected,
    range_diversity,
)
from shoal.kernels.price.clusters import extend, price_each, prices
from shoal.kernels.price.geometry import Geometry
from shoal.kernels.price.pools import BLOCK, Found, Made, Pool


@kernel
def _members(guard: Guard, slot: int, size: int) -> np.ndarray:
    """Rows of a cluster."""
    rows = np.empty(size, dtype=np.int64)
    row = guard.last[slot]
    for i in range(size - 1):
        rows[i] = row
        row = guard.before[row]
    rows[size - 1] = row
    return rows


@kernel
def _consider(
    s: Secrets, guard: Guard, subjects: np.ndarray, members: np.ndarray, row: int, slot: int, then: np.ndarray
) -> None:
    """Work out the state of a cluster after one more record."""
    for a in range(then.shape[0]):
        for f in range(3):
            then[a, f] = guard.state[slot, a, f]
        if counts(s.codes, guard.inside, subjects, members, members.size, row, a):
            then[a, TOTAL] += pairs_with(s, guard.inside, members, members.size, row, a)
            then[a, KNOWN] += 1.0
            if s.real[a, SHARE] < 1.0:
                then[a, CROWD] = crowd_with(s, guard.inside, members, members.size, row, a, False)


@kernel
def _exposure(state: np.ndarray) -> float:
    """Mean range diversity of a state."""
    found = 0.0
    for a in range(state.shape[0]):
        found += range_diversity(state[a, TOTAL], state[a, KNOWN]) / state.shape[0]
    return found


@kernel
def _least(codes: np.ndarray, row: int, state: np.ndarray, real: np.ndarray) -> float:
    """A lower bound on the mean range diversity with one more record, without looking at pairs; inf: over a limit."""
    found = 0.0
    for a in range(state.shape[0]):
        more = 1.0 if codes[row, a] >= 0 else 0.0
        value = range_diversity(state[a, TOTAL] + more, state[a, KNOWN] + more)
        if value > real[a, LIMIT] + TOLERANCE:
            return np.inf
        found += value / state.shape[0]
    return found


@kernel
def _best(
    pool: Pool, s: Secrets, geo: Geometry, limits: Limits, made: Made, guard: Guard, row: int, slots: tuple,
    increment: bool, best: float,
) -> tuple:  # fmt: skip
    """Group diversity (or its rise) and slot of the best cluster that may take a row; -1 if none beats ``best``."""
    then = np.empty((s.codes.shape[1], 3))
    costs = np.empty((slots[1] - slots[0], 2))
    price_each(geo, pool.codes[row], made.low, made.high, made.bits, made.now, slots[0], slots[1], costs)
    at = -1
    for c in range(slots[0], slots[1]):
        cost = costs[c - slots[0], 0]
        if costs[c - slots[0], 1] > limits.utility + TOLERANCE:
            continue
        if not pool.subjects.size:
            least = _least(s.codes, row, guard.state[c], s.real)
            if least == np.inf or (not increment and (cost + least) / 2.0 >= best):
                continue
        _consider(s, guard, pool.subjects, _members(guard, c, made.size[c]), row, c, then)
        if not protected(s.real, then):
            continue
        value = (cost + _exposure(then)) / 2.0
        if increment:
            value -= (value_of(geo, 0.0, made.now[c]) + _exposure(guard.state[c])) / 2.0
        if value < best - TOLERANCE:
            best, at = value, c
    return best, at


@kernel
def _take(pool: Pool, s: Secrets, geo: Geometry, found: Found, made: Made, guard: Guard, row: int, slot: int) -> None:
    """Put a row into a cluster."""
    members = _members(guard, slot, made.size[slot])
    then = np.empty((s.codes.shape[1], 3))
    _consider(s, guard, pool.subjects, members, row, slot, then)
    admit(s, guard.inside, members, members.size, row, guard.state[slot], then)
    extend(geo, pool.codes[row], made.low[slot], made.high[slot], made.bits[slot])
    prices(geo, made.low[slot], made.high[slot], made.bits[slot], made.now[slot])
    guard.before[row] = guard.last[slot]
    guard.last[slot] = row
    made.size[slot] += 1
    found.ids[row] = slot


@kernel
def _join_subspace(
    pool: Pool, s: Secrets, starts: np.ndarray, geo: Geometry, limits: Limits, found: Found, made: Made,
    guard: Guard, p: int, how: Joining,
) -> None:  # fmt: skip
    """The leftovers of one subspace, one after another."""
    first, after = max(0, p - 1), min(starts.size - 1, p + 2)
    if how.everywhere:
        first, after = 0, starts.size - 1
    for i in range(found.left[p]):
        row = found.queue[starts[p] + i]
        best, slot = np.inf, -1
        for q in range(first, after):
            begin = starts[q] // limits.k
            slots = (begin, begin + found.clusters[q])
            best, at = _best(pool, s, geo, limits, made, guard, row, slots, how.increment, best)
            if at >= 0:
                slot = at
        if slot >= 0:
            _take(pool, s, geo, found, made, guard, row, slot)


@kernel
def _join_everywhere(
    pool: Pool, s: Secrets, starts: np.ndarray, geo: Geometry, limits: Limits, found: Found, made: Made,
    guard: Guard, how: Joining,
) -> None:  # fmt: skip
    for p in range(starts.size - 1):
        _join_subspace(pool, s, starts, geo, limits, found, made, guard, p, how)


@kernel
def _join_block(
    pool: Pool, s: Secrets, starts: np.ndarray, geo: Geometry, limits: Limits, found: Found, made: Made,
    guard: Guard, block: int, how: Joining,
) -> None:  # fmt: skip
    for p in range(block * BLOCK, min((block + 1) * BLOCK, starts.size - 1)):
        _join_subspace(pool, s, starts, geo, limits, found, made, guard, p, how)


def join_limited(
    pool: Pool, s: Secrets, starts: np.ndarray, geo: Geometry, limits: Limits, found: Found, made: Made,
    guard: Guard, how: Joining,
) -> None:  # fmt: skip
    """Every leftover joins the best cluster that still keeps the limits with it; one that finds none stays out.

    Candidates are the clusters of its own and the adjoining subspaces, or all.
    """
    if how.everywhere:
        _join_everywhere(pool, s, starts, geo, limits, found, made, guard, how)
        return
    blocks = (starts.size - 2) // BLOCK + 1
    for parity in range(2):  # two blocks of the same kind never reach the same clusters
        share(
            (blocks + 1 - parity) // 2,
            lambda half, parity=parity: _join_block(  # type: ignore[misc]
                pool, s, starts, geo, limits, found, made, guard, 2 * half + parity, how
            ),
        )
