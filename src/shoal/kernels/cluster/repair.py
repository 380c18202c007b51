"""The end of top-down local recoding: groups too small are filled from a large one or merged, whichever costs less."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from shoal.kernels.cluster.bisect import Part, admit, bisect, bisect_all, cost_of
from shoal.kernels.compiled import kernel
from shoal.kernels.cores import share
from shoal.kernels.frozen.price.cells import Prices, helper, wide
from shoal.kernels.frozen.price.extents import clear, copy_cells, extend_all, join, make_extents, own_cost
from shoal.kernels.frozen.price.many import joint_costs

# Groups of a part, a slot each: size (0: no group), head: its first record, cost: ticks a record; link: by record, the
# next of its group, in order, or -1. cells: extents, one more than groups. marks: by record, whether it is picked.
Groups = namedtuple("Groups", "size head link cost cells marks")
MERGED, FILLED, BISECTED = range(3)


@helper
def _weave(link: np.ndarray, x: int, y: int) -> int:
    """Make one list in order of two; returns its first record."""
    if x < 0 or (0 <= y < x):
        x, y = y, x
    head = x
    while y >= 0:
        while 0 <= link[x] < y:
            x = link[x]
        link[x], y = y, link[x]
        x = link[x]
    return head


@helper
def _recount(p: Prices, part: Part, groups: Groups, g: int, keep: int) -> tuple:
    """Extent of slot ``g`` from the records in its list that have a mark of ``keep``; returns size and cost."""
    clear(groups.cells, g)
    size = wide(0)
    i = groups.head[g]
    while i >= 0:
        if groups.marks[i] == keep:
            extend_all(p, groups.cells, g, part.codes, i)
            size += 1
        i = groups.link[i]
    return size, own_cost(p, groups.cells, g)


@helper
def _open_groups(p: Prices, part: Part, order: np.ndarray, ends: np.ndarray) -> Groups:
    count = wide(0)
    for i in range(ends.size):
        count += ends[i]
    n = order.size
    groups = Groups(
        np.zeros(count + 1, dtype=np.int64), np.full(count + 1, -1, dtype=np.int64), np.full(n, -1, dtype=np.int64),
        np.zeros(count + 1, dtype=np.int64), make_extents(p, count + 1), np.zeros(n, dtype=np.uint8),
    )  # fmt: skip
    g = wide(0)
    groups.head[0] = order[0]
    for i in range(n):
        if i + 1 < n and ends[i] == 0:
            groups.link[order[i]] = order[i + 1]
        if ends[i] == 1:
            groups.size[g], groups.cost[g] = _recount(p, part, groups, g, 0)
            g += 1
            groups.head[g] = order[i + 1] if i + 1 < n else -1
    return groups


@helper
def _smallest(groups: Groups, k: int) -> int:
    """The smallest group of fewer than k records, of equals the one with the first record; -1 when there is none."""
    best = wide(-1)
    for g in range(groups.size.size - 1):
        if 0 < groups.size[g] < k and (
            best < 0
            or groups.size[g] < groups.size[best]
            or (groups.size[g] == groups.size[best] and groups.head[g] < groups.head[best])
        ):
            best = wide(g)
    return best


@helper
def _nearest(groups: Groups, g: int, joint: np.ndarray) -> int:
    """The group that costs least as a whole together with ``g``; -1 when there is no other."""
    best = wide(-1)
    least = wide(0)
    for h in range(groups.size.size - 1):
        whole = (groups.size[g] + groups.size[h]) * joint[h]
        if h == g or groups.size[h] == 0:
            continue
        if best < 0 or whole < least or (whole == least and groups.head[h] < groups.head[best]):
            best, least = wide(h), whole
    return best


@helper
def _cheapest(part: Part, groups: Groups, d: int, side: int) -> tuple:
    """The record of a group, not picked yet, that costs a side least, of equals the first; and the cost."""
    local, value_at, table = part.local, part.value_at, part.table
    best = wide(-1)
    least = wide(0)
    i = groups.head[d]
    while i >= 0:
        if groups.marks[i] == 0:
            cost = cost_of(local, value_at, table, side, i)
            if best < 0 or cost < least:
                best, least = i, cost
        i = groups.link[i]
    return best, least


@helper
def _copy_side(part: Part) -> None:
    """Make side 0 what side 1 is."""
    copy_cells(part.cells, wide(1), part.cells, wide(0))
    for v in range(part.values.size):
        part.table[0, v] = part.table[1, v]


@helper
def _pick(p: Prices, part: Part, groups: Groups, d: int, need: int, limit: int, picks: np.ndarray) -> int:
    """Pick records of group ``d`` one by one for the group on side 1; returns its cost then, -1 if beyond ``limit``."""
    _, cost = _cheapest(part, groups, d, wide(1))
    if limit >= 0 and cost > limit:
        return wide(-1)
    _copy_side(part)
    found = wide(0)
    while found < need:
        i, cost = _cheapest(part, groups, d, wide(0))
        if limit >= 0 and cost > limit:
            break
        picks[found] = i
        groups.marks[i] = 1
        found += 1
        admit(p, part, wide(0), i, False)
    for i in range(found):
        groups.marks[picks[i]] = 0
    return cost if found == need else wide(-1)


@helper
def _donor(p: Prices, part: Part, groups: Groups, g: int, k: int, picks: np.ndarray, trial: np.ndarray) -> tuple:
    """The group that fills up ``g`` to k records at the least cost (-1: none has enough), the cost, and the records."""
    need = k - groups.size[g]
    best = wide(-1)
    least = wide(-1)
    ready = False
    for d in range(groups.size.size - 1):
        if groups.size[d] < k + need or d == g:
            continue
        if not ready:
            clear(part.cells, wide(1))
            i = groups.head[g]
            while i >= 0:
                admit(p, part, wide(1), i, True)
                i = groups.link[i]
            ready = True
        cost = _pick(p, part, groups, wide(d), need, least, trial)
        if cost >= 0 and (best < 0 or cost < least or groups.head[d] < groups.head[best]):
            best, least = wide(d), cost
            for i in range(need):
                picks[i] = trial[i]
    return best, least


@helper
def _without(p: Prices, part: Part, groups: Groups, d: int, picks: np.ndarray, need: int) -> int:
    """Mark the picked records, and return what those left cost as a whole; the last slot is scratch."""
    for i in range(need):
        groups.marks[picks[i]] = 1
    scratch = wide(groups.size.size - 1)
    groups.head[scratch] = groups.head[d]
    size, cost = _recount(p, part, groups, scratch, 0)
    return size * cost


@helper
def _fill(p: Prices, part: Part, groups: Groups, g: int, d: int) -> None:
    """Move the marked records of ``d`` into ``g``."""
    i = groups.head[d]
    kept = wide(-1)
    moved = wide(-1)
    groups.head[d] = -1
    first = wide(-1)
    while i >= 0:
        after = groups.link[i]
        groups.link[i] = -1
        last = moved if groups.marks[i] == 1 else kept
        if last >= 0:
            groups.link[last] = i
        elif groups.marks[i] == 1:
            first = i
        else:
            groups.head[d] = i
        if groups.marks[i] == 1:
            moved = i
            groups.marks[i] = 0
        else:
            kept = i
        i = after
    groups.head[g] = _weave(groups.link, groups.head[g], first)
    for slot in (g, d):
        groups.size[slot], groups.cost[slot] = _recount(p, part, groups, slot, 0)


@helper
def _merge(p: Prices, part: Part, groups: Groups, g: int, h: int, cost: int) -> None:
    groups.head[g] = _weave(groups.link, groups.head[g], groups.head[h])
    groups.size[g] += groups.size[h]
    groups.size[h] = 0
    groups.cost[g] = cost
    join(groups.cells, g, h)


@helper
def _bisect_once(
    p: Prices, part: Part, groups: Groups, g: int, h: int, order: np.ndarray, spare: np.ndarray, k: int
) -> bool:
    """Bisect a group of at least 2k into slots ``g`` and ``h``, if both sides then have k records."""
    size = wide(0)
    i = groups.head[g]
    while i >= 0:
        order[size] = i
        size += 1
        i = groups.link[i]
    middle = bisect(p, part, order, spare, wide(0), size)
    if min(middle, size - middle) < k:
        return False
    for i in range(size):
        groups.link[order[i]] = -1 if i + 1 == middle or i + 1 == size else order[i + 1]
    groups.head[g], groups.head[h] = order[0], order[middle]
    for slot in (g, h):
        groups.size[slot], groups.cost[slot] = _recount(p, part, groups, slot, 0)
    return True


@helper
def _mend(
    p: Prices, part: Part, groups: Groups, g: int, order: np.ndarray, spare: np.ndarray, k: int, joint: np.ndarray,
    picks: np.ndarray,
) -> int:  # fmt: skip
    """Fill or merge one group; returns what was done, -1 when it is the only one."""
    size, cost = groups.size, groups.cost
    count = wide(size.size - 1)
    joint_costs(p, groups.cells, g, wide(0), count, joint)
    h = _nearest(groups, g, joint)
    if h < 0:
        return wide(-1)
    merging = (size[g] + size[h]) * joint[h] - size[h] * cost[h]
    d, filled = _donor(p, part, groups, g, k, picks[0], picks[1])
    if d >= 0:
        need = k - size[g]
        filling = k * filled + _without(p, part, groups, d, picks[0], need) - size[d] * cost[d]
        if filling < merging:
            _fill(p, part, groups, g, d)
            return wide(FILLED)
        for i in range(need):
            groups.marks[picks[0, i]] = 0
    _merge(p, part, groups, g, h, joint[h])
    if size[g] >= 2 * k and _bisect_once(p, part, groups, g, h, order, spare, k):
        return wide(BISECTED)
    return wide(MERGED)


@kernel
def partition_part(
    p: Prices, codes: np.ndarray, local: np.ndarray, values: np.ndarray, value_at: np.ndarray, key: np.ndarray, k: int,
    ids: np.ndarray, repaired: np.ndarray,
) -> int:  # fmt: skip
    """Group the records of one part: fills ids and counts of repairs, and returns how many groups there are."""
    n = codes.shape[1]
    table = np.empty((2, values.size), dtype=np.int64)
    sides = make_extents(p, wide(2))
    part = Part(codes, local, values, value_at, key, sides, table, np.zeros(2, dtype=np.int64))
    order = np.arange(n)
    spare = np.empty(n, dtype=np.int64)
    ends = np.zeros(n, dtype=np.uint8)
    bisect_all(p, part, order, spare, k, ends)
    groups = _open_groups(p, part, order, ends)
    joint = np.empty(groups.size.size, dtype=np.int64)
    picks = np.empty((2, k), dtype=np.int64)
    g = _smallest(groups, k)
    while g >= 0:
        done = _mend(p, part, groups, g, order, spare, k, joint, picks)
        if done < 0:
            break
        repaired[done] += 1
        g = _smallest(groups, k)
    count = 0
    for slot in range(groups.size.size - 1):
        if groups.size[slot] == 0:
            continue
        i = groups.head[slot]
        while i >= 0:
            ids[i] = count
            i = groups.link[i]
        count += 1
    return count


def partition_parts(
    p: Prices, codes: np.ndarray, local: np.ndarray, values: np.ndarray, value_at: np.ndarray, starts: np.ndarray,
    key: np.ndarray, k: int, ids: np.ndarray, repaired: np.ndarray, counts: np.ndarray,
) -> None:  # fmt: skip
    """Group the records of every part as `partition_part` does; one core or several give the same groups."""

    def partition(q: int) -> None:
        first, last = starts[q], starts[q + 1]
        at, end = value_at[q, 0], value_at[q, value_at.shape[1] - 1]
        counts[q] = partition_part(
            p, np.ascontiguousarray(codes[:, first:last]), np.ascontiguousarray(local[:, first:last]), values[at:end],
            value_at[q] - at, np.array([key[0], key[1], np.uint64(first)]), k, ids[first:last], repaired[q],
        )  # fmt: skip

    share(counts.size, partition)
