"""Clusters within hard limits on utility and protection (Loukides 2008, Algorithm 6), subspace by subspace."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from shoal.kernels.cluster.pools import (
    BLOCK,
    Grown,
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
from shoal.kernels.frozen.heap import price_key
from shoal.kernels.frozen.judge.rules import TOLERANCE
from shoal.kernels.frozen.judge.secrets import (
    CROWD,
    KNOWN,
    SHARE,
    TOTAL,
    add_closeness,
    admit,
    counts,
    crowd_with,
    exposure,
    protected,
    range_diversity,
)
from shoal.kernels.frozen.price.cells import Prices, helper, mean_price, wide
from shoal.kernels.frozen.price.extents import extend_all, open_group
from shoal.kernels.frozen.price.many import column_with

# utility: largest mean Q-diversity (U); k: fewest people of a cluster; free: while it is smaller, only U holds; most:
# people beyond which it does not grow; grows: one that fails P does, as long as its range diversity falls; guide: what
# loss counts in the group diversity, of which the rest is range diversity.
Limits = namedtuple("Limits", "utility k free most grows guide")
# What protection needs beside a pool. inside: (n, columns) int32 a row, 0 where its value does not count; state: the
# clusters' states by slot; last: the last row of each; before: the row that joined before each row.
Guard = namedtuple("Guard", "inside state last before")
# What is asked, and what has been found of it so far.
Task = namedtuple("Task", "pool secrets starts prices limits")
Result = namedtuple("Result", "found made guard")
# Of one subspace: codes by column and place, the same of sensitive columns, places left, rows of the cluster; by place,
# what it would bring to the cluster's pairs (below 0: its value is unknown), the ticks of the cluster with it, those
# of each cell in that (stale: columns out of date), the cluster's mean range diversity with it, and the group
# diversity; values, ticks: scratch.
Room = namedtuple("Room", "codes secret rest members brings costs shares stale exposed diversity values ticks")

# For what is done a record: handing a dozen arrays on to a function of its own takes as long as the work in it.
_inlined = kernel(inline="always")


@_inlined
def _reprice(room: Room, count: int, p: Prices, e: Grown) -> None:
    """Bring the ticks of the cluster with each place left up to date.

    A column whose cell costs what it did prices every other record as before.
    """
    rest, costs, ticks = room.rest[:count], room.costs, room.ticks
    for a in range(room.stale.size):
        if not room.stale[a]:
            continue
        room.stale[a] = 0
        codes, shares = room.codes[a], room.shares[a]
        if p.pair_at[a] >= 0:
            low, high, card = wide(e.cells.low[a, 0]), wide(e.cells.high[a, 0]), p.card[a]
            pair = p.pair[p.pair_at[a] : p.pair_at[a] + card * card]
            for i in range(count):
                x = wide(codes[rest[i]])
                ticks[i] = pair[min(low, x) * card + max(high, x)]
        else:
            column_with(p, e.cells, wide(0), wide(a), codes, rest, room.values, ticks)
        for i in range(count):
            costs[rest[i]] += ticks[i] - shares[rest[i]]
            shares[rest[i]] = ticks[i]


@_inlined
def _nearest(room: Room, count: int, p: Prices, e: Grown, state: np.ndarray, guide: float, below: float) -> int:
    """Which of the places left makes the group diversity smallest, of equals the first.

    Only those count with which the range diversity is ``below`` a limit; -1 where there are none.
    """
    rest, columns = room.rest, state.shape[0]
    _reprice(room, count, p, e)
    for i in range(count):
        room.diversity[i] = guide * (room.costs[rest[i]] / p.one)
        room.exposed[i] = 0.0
    for a in range(columns):
        total, known = state[a, TOTAL], state[a, KNOWN]
        same = range_diversity(total, known) / columns
        share = 1.0 / ((known + 1.0) * (known + 1.0) * columns)
        for i in range(count):
            brings = room.brings[a, rest[i]]
            more = same if brings < 0.0 else (total + brings) * share
            room.diversity[i] += (1.0 - guide) * more
            room.exposed[i] += more
    best, least = -1, np.iinfo(np.int64).max
    for i in range(count):
        if room.exposed[i] >= below:
            continue
        key = price_key(room.diversity[i], rest[i])
        if key < least:
            best, least = i, key
    return best


@_inlined
def _consider(
    task: Task, inside: np.ndarray, room: Room, rows: int, row: int, place: int, state: np.ndarray, then: np.ndarray
) -> None:
    """Work out the state after one more record."""
    s, subjects = task.secrets, task.pool.subjects
    for a in range(state.shape[0]):
        for f in range(3):
            then[a, f] = state[a, f]
        if counts(s.codes, inside, subjects, room.members, rows, row, a):
            then[a, TOTAL] += room.brings[a, place]
            then[a, KNOWN] += 1.0
            if s.real[a, SHARE] < 1.0:
                then[a, CROWD] = crowd_with(s, inside, room.members, rows, row, a, False)


@_inlined
def _open(
    task: Task, inside: np.ndarray, lo: int, count: int, room: Room, e: Grown, state: np.ndarray
) -> None:
    """A cluster of the seed alone."""
    row = room.members[0]
    open_group(task.prices, e.cells, wide(0), task.pool.codes.T, row, e.now)
    for a in range(state.shape[0]):
        known = room.secret[a, row - lo] >= 0
        inside[row, a] = known
        for f in range(3):
            state[a, f] = known
        for i in range(count):
            room.brings[a, room.rest[i]] = 1.0 if room.secret[a, room.rest[i]] >= 0 else -np.inf
    for i in range(count):
        room.costs[room.rest[i]] = 0
    for a in range(room.stale.size):
        room.stale[a] = 1
        for i in range(count):
            room.shares[a, room.rest[i]] = 0


@_inlined
def _grow_one(
    task: Task, inside: np.ndarray, lo: int, count: int, room: Room, e: Grown, state: np.ndarray, then: np.ndarray
) -> tuple:
    """Add the record nearest to the cluster until one does not fit; returns rows, people and places left.

    A cluster that is large enough and fails P may grow on by the nearest of those that lower its range diversity.
    """
    rest, members = room.rest, room.members
    pool, s, p, limits = task.pool, task.secrets, task.prices, task.limits
    _open(task, inside, lo, count, room, e, state)
    rows = people = 1
    while count:
        failing = limits.grows and people >= limits.free and not protected(s.real, state)
        if people >= limits.most and not failing:
            break
        last = members[rows - 1]
        for a in range(state.shape[0]):
            if inside[last, a]:
                add_closeness(s, a, room.secret[a], last - lo, rest, count, room.brings[a])
        below = exposure(state) - TOLERANCE if failing else np.inf
        at = _nearest(room, count, p, e, state, limits.guide, below)
        if at < 0:
            break
        row = lo + rest[at]
        for a in range(e.then.size):
            e.then[a] = room.shares[a, rest[at]]
        if mean_price(p, e.then) > limits.utility + TOLERANCE:
            break
        _consider(task, inside, room, rows, row, rest[at], state, then)
        more = people + is_new(pool.subjects, members, rows, row)
        small = people < limits.free and limits.grows
        if more >= limits.free and not (failing or small or protected(s.real, then)):
            break
        extend_all(p, e.cells, wide(0), pool.codes.T, row)
        for a in range(e.now.size):
            room.stale[a] = e.then[a] != e.now[a]
            e.now[a] = e.then[a]
        admit(s, inside, members, rows, row, state, then)
        members[rows] = row
        rows += 1
        people = more
        count -= 1
        for i in range(at, count):
            rest[i] = rest[i + 1]
    return rows, people, count


@helper
def _limit_subspace(task: Task, result: Result, part: int) -> None:
    """Algorithm 6, steps 3 to 6, on one subspace."""
    pool, s, p, limits = task.pool, task.secrets, task.prices, task.limits
    found, guard = result.found, result.guard
    lo, hi = task.starts[part], task.starts[part + 1]
    count = hi - lo
    codes, secret = by_column(pool.codes, lo, hi), by_column(s.codes, lo, hi)
    members = np.empty(count, dtype=np.int64)
    stale = np.empty(codes.shape[0], dtype=np.uint8)
    room = Room(
        codes, secret, np.arange(count), members, np.empty(secret.shape), np.empty(count, dtype=np.int64),
        np.empty(codes.shape, dtype=np.int64), stale, np.empty(count), np.empty(count),
        np.empty(count, dtype=np.int32), np.empty(count, dtype=np.int64),
    )  # fmt: skip
    e = nothing_grown(p)
    state, then = np.empty((secret.shape[0], 3)), np.empty((secret.shape[0], 3))
    while count:
        members[0] = lo + take_seed(pool.turn, lo, room.rest, count)
        rows, people, count = _grow_one(task, guard.inside, lo, count - 1, room, e, state, then)
        slot = wide(-1)
        if people >= limits.k and mean_price(p, e.now) <= limits.utility + TOLERANCE and protected(s.real, state):
            slot = lo // limits.k + found.clusters[part]
            found.clusters[part] += 1
            keep_cluster(result.made, slot, e, rows)
            _keep_guard(guard, slot, members, rows, state)
        for i in range(rows):
            found.ids[members[i]] = slot
            if slot < 0:
                found.queue[lo + found.left[part]] = members[i]
                found.left[part] += 1


@helper
def _keep_guard(guard: Guard, slot: int, members: np.ndarray, rows: int, state: np.ndarray) -> None:
    for a in range(state.shape[0]):
        for f in range(3):
            guard.state[slot, a, f] = state[a, f]
    for i in range(1, rows):
        guard.before[members[i]] = members[i - 1]
    guard.last[slot] = members[rows - 1]


@kernel
def _limit_block(task: Task, result: Result, block: int) -> None:
    for part in range(block * BLOCK, min((block + 1) * BLOCK, task.starts.size - 1)):
        _limit_subspace(task, result, wide(part))


def limit_clusters(task: Task) -> Result:
    """Algorithm 6 on every subspace, leftovers not yet placed: O(n s) with subspaces of s rows."""
    n, columns, parts = task.pool.codes.shape[0], task.secrets.codes.shape[1], task.starts.size - 1
    made = nothing_made(n, task.prices, task.limits.k)
    slots = made.size.size
    guard = Guard(
        np.zeros((n, columns), dtype=np.int32),
        np.empty((slots, columns, 3)),
        np.empty(slots, dtype=np.int32),
        np.empty(n, dtype=np.int32),
    )
    result = Result(nothing_found(n, parts), made, guard)
    share((parts - 1) // BLOCK + 1, lambda block: _limit_block(task, result, block))
    return result
