"""Leftover records of UPC join the clusters that may take them (Loukides 2008, Algorithm 6, step 7)."""

from __future__ import annotations

import numpy as np

from shoal.kernels.cluster.pools import BLOCK, take_row
from shoal.kernels.cluster.toc_join import Joining
from shoal.kernels.cluster.upc import Guard, Result, Task
from shoal.kernels.compiled import kernel
from shoal.kernels.cores import share
from shoal.kernels.frozen.judge.rules import TOLERANCE
from shoal.kernels.frozen.judge.secrets import (
    CROWD,
    KNOWN,
    LIMIT,
    SHARE,
    TOTAL,
    Secrets,
    admit,
    counts,
    crowd_with,
    exposure,
    pairs_with,
    protected,
    range_diversity,
)
from shoal.kernels.frozen.price.cells import helper, mean_price, wide
from shoal.kernels.frozen.price.extents import cost_with


@helper
def _members(guard: Guard, slot: int, size: int) -> np.ndarray:
    """Rows of a cluster."""
    rows = np.empty(size, dtype=np.int64)
    row = guard.last[slot]
    for i in range(size - 1):
        rows[i] = row
        row = guard.before[row]
    rows[size - 1] = row
    return rows


@helper
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


@helper
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


@helper
def _best(task: Task, result: Result, row: int, slots: tuple, increment: bool, best: float) -> tuple:
    """Group diversity (or its rise) and slot of the best cluster that may take a row; -1 if none beats ``best``."""
    pool, s, p, limits = task.pool, task.secrets, task.prices, task.limits
    made, guard = result.made, result.guard
    then = np.empty((s.codes.shape[1], 3))
    ticks = np.empty(p.kind.size, dtype=np.int64)
    codes, guide = pool.codes.T, limits.guide
    at = -1
    for c in range(slots[0], slots[1]):
        cost = cost_with(p, made.cells, wide(c), codes, row, made.now[c], ticks) / p.one
        if mean_price(p, ticks) > limits.utility + TOLERANCE:
            continue
        if not pool.subjects.size:
            least = _least(s.codes, row, guard.state[c], s.real)
            if least == np.inf or (not increment and guide * cost + (1.0 - guide) * least >= best):
                continue
        _consider(s, guard, pool.subjects, _members(guard, c, made.size[c]), row, c, then)
        if not protected(s.real, then):
            continue
        value = guide * cost + (1.0 - guide) * exposure(then)
        if increment:
            value -= guide * (made.now[c].sum() / p.one) + (1.0 - guide) * exposure(guard.state[c])
        if value < best - TOLERANCE:
            best, at = value, c
    return best, at


@helper
def _take(task: Task, result: Result, row: int, slot: int) -> None:
    """Put a row into a cluster."""
    pool, s, made, guard = task.pool, task.secrets, result.made, result.guard
    members = _members(guard, slot, made.size[slot])
    then = np.empty((s.codes.shape[1], 3))
    _consider(s, guard, pool.subjects, members, row, slot, then)
    admit(s, guard.inside, members, members.size, row, guard.state[slot], then)
    guard.before[row] = guard.last[slot]
    guard.last[slot] = row
    take_row(task.prices, made, slot, pool.codes.T, row)
    result.found.ids[row] = slot


@kernel
def _join_parts(task: Task, result: Result, begin: int, end: int, how: Joining) -> None:
    """The leftovers of the subspaces from ``begin`` to ``end``, one after another."""
    starts, found, k = task.starts, result.found, task.limits.k
    for part in range(begin, min(end, starts.size - 1)):
        first, after = max(0, part - 1), min(starts.size - 1, part + 2)
        if how.everywhere:
            first, after = 0, starts.size - 1
        for i in range(found.left[part]):
            row = wide(found.queue[starts[part] + i])
            best, slot = np.inf, -1
            for q in range(first, after):
                slots = (starts[q] // k, starts[q] // k + found.clusters[q])
                best, at = _best(task, result, row, slots, how.increment, best)
                if at >= 0:
                    slot = at
            if slot >= 0:
                _take(task, result, row, wide(slot))


def join_limited(task: Task, result: Result, how: Joining) -> None:
    """Every leftover joins the best cluster that still keeps the limits with it; one that finds none stays out.

    Candidates are the clusters of its own and the adjoining subspaces, or all.
    """
    parts = task.starts.size - 1
    if how.everywhere:
        _join_parts(task, result, 0, parts, how)
        return
    blocks = (parts - 1) // BLOCK + 1
    for parity in range(2):  # two blocks of the same kind never reach the same clusters

        def join(half: int, parity: int = parity) -> None:
            block = 2 * half + parity
            _join_parts(task, result, block * BLOCK, (block + 1) * BLOCK, how)

        share((blocks + 1 - parity) // 2, join)
