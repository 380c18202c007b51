"""Clusters within hard limits on utility and protection (Loukides 2008, Algorithm 6), subspace by subspace."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from shoal.kernels.compiled import kernel
from shoal.kernels.cores import share
from shoal.kernels.heap import price_key
from shoal.kernels.judge.rules import TOLERANCE
from shoal.kernels.judge.secrets import (
    CROWD,
    KNOWN,
    SHARE,
    TOTAL,
    Secrets,
    add_closeness,
    admit,
    counts,
    crowd_with,
    protected,
    range_diversity,
)
from shoal.kernels.price.clusters import extend, open_group, prices, reprice
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

# utility: largest mean Q-diversity (U); k: fewest people of a cluster; free: while it is smaller, only U holds; most:
# people beyond which it does not grow.
Limits = namedtuple("Limits", "utility k free most")
# What protection needs beside a pool. inside: (n, columns) int32 a row, 0 where its value does not count; state: the
# clusters' states by slot; last: the last row of each; before: the row that joined before each row.
Guard = namedtuple("Guard", "inside state last before")
# Of one subspace: codes by column and place, the same of sensitive columns, places left, rows of the cluster; by place,
# what it would bring to the cluster's pairs (below 0: its value is unknown), the weighted price of the extent with it,
# the columns' prices in that (stale: those out of date), and twice the group diversity.
Room = namedtuple("Room", "codes secret rest members brings costs shares stale diversity")

# For what is done a record: handing a dozen arrays on to a function of its own takes as long as the work in it.
_inlined = kernel(inline="always")


@_inlined
def mean(values: np.ndarray) -> float:
    """Each column counting the same."""
    total = 0.0
    for a in range(values.size):
        total += values[a]
    return total / values.size


@_inlined
def _nearest(room: Room, count: int, geo: Geometry, e: Extent, state: np.ndarray) -> int:
    """Which of the places left makes the group diversity smallest; of equals the first."""
    rest, columns = room.rest, state.shape[0]
    reprice(geo, room.codes, rest, count, e.low, e.high, e.bits, e.now, room.stale, room.shares, room.costs)
    for i in range(count):
        room.diversity[i] = room.costs[rest[i]]
    for a in range(columns):
        total, known = state[a, TOTAL], state[a, KNOWN]
        same = range_diversity(total, known) / columns
        share = 1.0 / ((known + 1.0) * (known + 1.0) * columns)
        for i in range(count):
            brings = room.brings[a, rest[i]]
            room.diversity[i] += same if brings < 0.0 else (total + brings) * share
    best, least = -1, np.iinfo(np.int64).max
    for i in range(count):
        key = price_key(room.diversity[i] / 2.0, rest[i])
        if key < least:
            best, least = i, key
    return best


@_inlined
def _consider(
    s: Secrets, inside: np.ndarray, subjects: np.ndarray, room: Room, rows: int, row: int, place: int,
    state: np.ndarray, then: np.ndarray,
) -> None:  # fmt: skip
    """Work out the state after one more record."""
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
    pool: Pool, inside: np.ndarray, lo: int, count: int, geo: Geometry, room: Room, e: Extent, state: np.ndarray
) -> None:
    """A cluster of the seed alone."""
    row = room.members[0]
    open_group(geo, pool.codes[row], e.low, e.high, e.bits)
    prices(geo, e.low, e.high, e.bits, e.now)
    for a in range(state.shape[0]):
        known = room.secret[a, row - lo] >= 0
        inside[row, a] = known
        for f in range(3):
            state[a, f] = known
        for i in range(count):
            room.brings[a, room.rest[i]] = 1.0 if room.secret[a, room.rest[i]] >= 0 else -np.inf
    for i in range(count):
        room.costs[room.rest[i]] = 0.0
    for a in range(room.stale.size):
        room.stale[a] = 1
        for i in range(count):
            room.shares[a, room.rest[i]] = 0.0


@kernel
def _grow_one(
    pool: Pool, s: Secrets, inside: np.ndarray, lo: int, count: int, geo: Geometry, limits: Limits, room: Room,
    e: Extent, state: np.ndarray, then: np.ndarray,
) -> tuple:  # fmt: skip
    """Add the record nearest to the cluster until one does not fit; returns rows, people and places left."""
    rest, members = room.rest, room.members
    _open(pool, inside, lo, count, geo, room, e, state)
    rows = people = 1
    while count and people < limits.most:
        last = members[rows - 1]
        for a in range(state.shape[0]):
            if inside[last, a]:
                add_closeness(s, a, room.secret[a], last - lo, rest, count, room.brings[a])
        at = _nearest(room, count, geo, e, state)
        row = lo + rest[at]
        for a in range(e.then.size):
            e.then[a] = room.shares[a, rest[at]]
        if mean(e.then) > limits.utility + TOLERANCE:
            break
        _consider(s, inside, pool.subjects, room, rows, row, rest[at], state, then)
        more = people + is_new(pool.subjects, members, rows, row)
        if more >= limits.free and not protected(s.real, then):
            break
        extend(geo, pool.codes[row], e.low, e.high, e.bits)
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


@kernel
def limit_subspace(
    pool: Pool, s: Secrets, lo: int, hi: int, geo: Geometry, limits: Limits, found: Found, made: Made, guard: Guard,
    p: int,
) -> None:  # fmt: skip
    """Algorithm 6, steps 3 to 6, on the rows from ``lo`` to ``hi``, which are subspace ``p``."""
    count = hi - lo
    codes, secret = by_column(pool.codes, lo, hi), by_column(s.codes, lo, hi)
    members = np.empty(count, dtype=np.int64)
    stale = np.empty(codes.shape[0], dtype=np.uint8)
    room = Room(
        codes, secret, np.arange(count), members, np.empty(secret.shape), np.empty(count), np.empty(codes.shape), stale,
        np.empty(count),
    )  # fmt: skip
    e = empty_extent(codes.shape[0], geo)
    state, then = np.empty((secret.shape[0], 3)), np.empty((secret.shape[0], 3))
    while count:
        members[0] = lo + take_seed(pool.turn, lo, room.rest, count)
        rows, people, count = _grow_one(pool, s, guard.inside, lo, count - 1, geo, limits, room, e, state, then)
        slot = -1
        if people >= limits.k and mean(e.now) <= limits.utility + TOLERANCE and protected(s.real, state):
            slot = lo // limits.k + found.clusters[p]
            found.clusters[p] += 1
            keep_cluster(made, slot, e, rows)
            _keep_guard(guard, slot, members, rows, state)
        for i in range(rows):
            found.ids[members[i]] = slot
            if slot < 0:
                found.queue[lo + found.left[p]] = members[i]
                found.left[p] += 1


@kernel
def _keep_guard(guard: Guard, slot: int, members: np.ndarray, rows: int, state: np.ndarray) -> None:
    for a in range(state.shape[0]):
        for f in range(3):
            guard.state[slot, a, f] = state[a, f]
    for i in range(1, rows):
        guard.before[members[i]] = members[i - 1]
    guard.last[slot] = members[rows - 1]


@kernel
def _limit_block(
    pool: Pool, s: Secrets, starts: np.ndarray, geo: Geometry, limits: Limits, found: Found, made: Made,
    guard: Guard, block: int,
) -> None:  # fmt: skip
    for p in range(block * BLOCK, min((block + 1) * BLOCK, starts.size - 1)):
        limit_subspace(pool, s, starts[p], starts[p + 1], geo, limits, found, made, guard, p)


def limit_clusters(
    pool: Pool, s: Secrets, starts: np.ndarray, geo: Geometry, limits: Limits
) -> tuple[Found, Made, Guard]:
    """Algorithm 6 on every subspace, leftovers not yet placed: O(n s) with subspaces of s rows."""
    (n, m), columns = pool.codes.shape, s.codes.shape[1]
    found, made = nothing_found(n, starts.size - 1), nothing_made(n, m, geo, limits.k)
    slots = made.size.size
    guard = Guard(
        np.zeros((n, columns), dtype=np.int32),
        np.empty((slots, columns, 3)),
        np.empty(slots, dtype=np.int32),
        np.empty(n, dtype=np.int32),
    )
    share(
        (starts.size - 2) // BLOCK + 1,
        lambda block: _limit_block(pool, s, starts, geo, limits, found, made, guard, block),
    )
    return found, made, guard
