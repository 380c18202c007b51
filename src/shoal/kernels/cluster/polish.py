"""Polish: change groups a little at a time, as long as the price of all records falls and every rule keeps holding.

The price may hold what groups tell about sensitive values: their range diversity, or columns whose spread counts in
favour. Taking a record in can then make a group cheaper.

Groups are dealt into zones and records change places only within one, so that zones can run side by side with the
same result on one core as on several.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.cluster.exposure import exposed, least_exposed
from shoal.kernels.cluster.groups import Groups, cost_joined, list_members, price_rows
from shoal.kernels.cluster.regroup import NEVER, grow, lowest, shuffle
from shoal.kernels.cluster.relocate import EPSILON, Judged, Limits, Room, Scene, make_room, relocate
from shoal.kernels.compiled import kernel
from shoal.kernels.frozen.price.cells import Prices, helper, wide
from shoal.kernels.frozen.price.extents import cost_with, make_records

# Times a neighbourhood that nobody changed is dealt anew in vain before it is left alone.
_PATIENCE = 3


@helper
def guarded(groups: Groups, floor: int) -> bool:
    """Whether sensitive values count."""
    return groups.shown.unit.size > 0 or floor < 0


@helper
def _candidates(scene: Scene, groups: Groups, r: int, z: int, room: Room, stamp: int, out: np.ndarray) -> tuple:
    """Other groups of the zone among a record's neighbours, and whether some lie in another zone."""
    found = 0
    cut = False
    g = groups.ids[r]
    for c in range(scene.near.shape[1]):
        j = scene.near[r, c]
        if j < 0:
            break
        h = groups.ids[j]
        if h == g:
            continue
        # Whoever has no group is on the way to another one of its own zone, which is not this one.
        if h < 0 or scene.zone[h] != z:
            cut = True
        elif room.seen[h] != stamp:
            room.seen[h] = stamp
            out[found] = h
            found += 1
    return found, cut


@helper
def _best_exchange(
    groups: Groups, p: Prices, codes: np.ndarray, r: int, h: int, least: int, around: tuple, rows: np.ndarray
) -> tuple:
    """The member of ``h`` whose change of places with ``r`` changes the price by less than ``least``, or -1.

    ``around`` holds the cells of r's group without r, then space for another, and the members of that group.
    """
    g = groups.ids[r]
    cells, now, out, mates, floor = around
    shown, ours = groups.shown, mates[: groups.size[g]]
    base = groups.size[g] * groups.cost[g] + groups.size[h] * groups.cost[h]
    mine = rows[: list_members(groups, h, rows, wide(0))]
    best = wide(-1)
    for i in range(mine.size):
        s = wide(mine[i])
        here = groups.size[g] * cost_with(p, cells, wide(0), codes, s, now, out)
        # Without s, and before r comes, the cells of the other group cost this much at least.
        there = groups.bare[s] + floor - exposed(shown, h, mine, s, wide(-1))
        if here + groups.size[h] * there - base >= least:
            continue
        tells = wide(0)
        if shown.unit.size:
            told = groups.size[g] * least_exposed(shown, wide(g), r, s) + groups.size[h] * least_exposed(shown, h, s, r)
            if here + groups.size[h] * there + told - base >= least:
                continue
            here += groups.size[g] * exposed(shown, wide(g), ours, r, s)
            tells = exposed(shown, h, mine, s, r)
            if here + groups.size[h] * (there + tells) - base >= least:
                continue
        cost = price_rows(p, codes, mine, s, r, cells, wide(1), out) + tells
        change = here + groups.size[h] * cost - base
        if change < least:
            least = change
            best = s
    return best, least


@helper
def _best_place(
    groups: Groups, p: Prices, codes: np.ndarray, r: int, near: np.ndarray, limits: Limits, around: tuple,
    rows: np.ndarray,
) -> tuple:  # fmt: skip
    """The group that a record had better join, and the member that had better come in exchange (-1: none)."""
    g = groups.ids[r]
    cells, now, out, mates, floor = around
    gain = groups.size[g] * groups.cost[g] - (groups.size[g] - 1) * groups.bare[r]
    # Where only cells count, nobody gains by changing places with a record that its group has no loss from.
    critical = groups.bare[r] < groups.cost[g] - EPSILON or guarded(groups, floor)
    if critical:
        members = mates[: list_members(groups, wide(g), mates, wide(0))]
        price_rows(p, codes, members, r, wide(-1), cells, wide(0), now)
    least = wide(-EPSILON)
    target, partner = wide(-1), wide(-1)
    for c in range(near.size):
        h = near[c]
        if groups.size[h] >= limits.largest:
            continue
        if groups.size[g] > limits.k:
            joined = cost_joined(groups, h, p, codes, r, rows, out)
            change = (groups.size[h] + 1) * joined - groups.size[h] * groups.cost[h] - gain
            if change < least:
                least, target, partner = change, h, wide(-1)
        if critical:
            s, change = _best_exchange(groups, p, codes, r, h, least, around, rows)
            if s >= 0:
                least, target, partner = change, h, s
    return target, partner


@kernel
def improve(
    records: np.ndarray, z: int, groups: Groups, p: Prices, scene: Scene, judged: Judged, limits: Limits,
    done: np.ndarray,
) -> None:  # fmt: skip
    """Move or exchange single records of a zone; ``done`` counts both."""
    codes = scene.codes
    m = codes.shape[0]
    floor = lowest(p)
    room = make_room(groups)
    scratch = np.empty(m, dtype=np.int64), np.empty(m, dtype=np.int64), np.empty(limits.largest, dtype=np.int64)
    around = (make_records(p, wide(2)), scratch[0], scratch[1], scratch[2], floor)
    near = np.empty(scene.near.shape[1], dtype=np.int64)
    pair, homes = np.empty(2, dtype=np.int64), np.empty(2, dtype=np.int64)
    for t in range(records.size):
        r = wide(records[t])
        g = groups.ids[r]
        if scene.quiet[r] or groups.cost[g] <= floor + EPSILON or groups.size[g] > limits.largest:
            continue
        found, cut = _candidates(scene, groups, r, z, room, wide(t), near)
        target, partner = _best_place(groups, p, codes, r, near[:found], limits, around, room.rows)
        pair[0], homes[0] = r, target
        pair[1], homes[1] = partner, g
        count = 1 if partner < 0 else 2
        if target >= 0 and relocate(pair[:count], homes, groups, p, scene, judged, limits, room):
            done[count - 1] += 1
        else:
            scene.quiet[r] = not cut


@kernel
def dissolve(
    which: np.ndarray, z: int, groups: Groups, p: Prices, scene: Scene, judged: Judged, limits: Limits,
    done: np.ndarray,
) -> None:  # fmt: skip
    """Give all members of a group to others where that is cheaper than keeping it; ``done`` counts the groups."""
    codes = scene.codes
    room = make_room(groups)
    near = np.empty(scene.near.shape[1], dtype=np.int64)
    mine, homes = np.empty(2 * limits.k, dtype=np.int64), np.empty(2 * limits.k, dtype=np.int64)
    out = np.empty(codes.shape[0], dtype=np.int64)
    floor = lowest(p)
    stamp = wide(0)
    for t in range(which.size):
        g = which[t]
        size = groups.size[g]
        if size == 0 or size > 2 * limits.k or groups.cost[g] <= floor + EPSILON:
            continue
        list_members(groups, wide(g), mine, wide(0))
        saved, spent = size * groups.cost[g] - EPSILON, wide(0)
        for i in range(size):
            r = wide(mine[i])
            found, _ = _candidates(scene, groups, r, z, room, stamp, near)
            stamp += 1
            least = wide(NEVER)
            for c in range(found):
                h = near[c]
                if groups.size[h] >= limits.largest:
                    continue
                joined = cost_joined(groups, h, p, codes, r, room.rows, out)
                rise = (groups.size[h] + 1) * joined - groups.size[h] * groups.cost[h]
                if rise < least:
                    least = rise
                    homes[i] = h
            if least == NEVER:
                spent = saved
                break
            spent += least
            # Beyond what the group costs now it is enough to know that it is beyond.
            if spent >= saved and not guarded(groups, floor):
                break
        if spent < saved:
            done[2] += relocate(mine[:size], homes, groups, p, scene, judged, limits, room)


@helper
def _gather(
    groups: Groups, g: int, z: int, scene: Scene, pool: np.ndarray, mine: np.ndarray, room: Room, stamp: int
) -> tuple:
    """A group and those of its members' nearest neighbours, as long as the pool has room; records, groups, price."""
    end = list_members(groups, g, pool, wide(0))
    own = end
    room.seen[g] = stamp
    mine[0] = g
    found = 1
    cost = groups.size[g] * groups.cost[g]
    for c in range(scene.near.shape[1]):
        for i in range(own):
            j = scene.near[pool[i], c]
            if j < 0:
                continue
            h = groups.ids[j]
            if h < 0 or room.seen[h] == stamp or scene.zone[h] != z or end + groups.size[h] > pool.size:
                continue
            room.seen[h] = stamp
            mine[found] = h
            found += 1
            cost += groups.size[h] * groups.cost[h]
            end = list_members(groups, wide(h), pool, end)
    return end, found, cost


@kernel
def regroup(
    which: np.ndarray, z: int, groups: Groups, p: Prices, scene: Scene, judged: Judged, limits: Limits,
    done: np.ndarray, seed: np.uint64,
) -> None:  # fmt: skip
    """Deal the records of neighbouring groups anew where that is cheaper; ``done`` counts the neighbourhoods."""
    room = make_room(groups)
    pool, mine = np.empty(limits.pool, dtype=np.int64), np.empty(limits.pool, dtype=np.int64)
    labels, homes = np.empty(limits.pool, dtype=np.int64), np.empty(limits.pool, dtype=np.int64)
    turn = np.empty(limits.pool, dtype=np.int64)
    floor = lowest(p)
    spare = 0
    for t in range(which.size):
        g = which[t]
        if groups.size[g] == 0 or groups.size[g] > limits.pool // 2 or groups.cost[g] <= floor + EPSILON:
            continue
        if scene.calm[groups.head[g]] >= _PATIENCE:
            continue
        end, found, cost = _gather(groups, wide(g), z, scene, pool, mine, room, wide(t))
        # Unused numbers, should there be more groups than before: a zone has enough of them.
        for q in range(found, end // limits.k):
            while groups.size[which[spare]] > 0 or room.seen[which[spare]] == t:
                spare = (spare + 1) % which.size
            mine[q] = which[spare]
            room.seen[mine[q]] = t
        least = cost - end * floor - EPSILON
        better = False
        # Groups that are to be suppressed may have fewer than k records, even together.
        for attempt in range(limits.tries if found > 1 and end >= limits.k else 0):
            shuffle(turn[:end], seed + np.uint64(t * limits.tries + attempt))
            price = grow(p, groups.shown, scene.codes, pool[:end], turn, limits.k, least, labels)
            if price < least:
                least = price
                better = True
                for i in range(end):
                    homes[i] = mine[labels[i]]
        if better and relocate(pool[:end], homes, groups, p, scene, judged, limits, room):
            done[3] += 1
        else:
            r = groups.head[g]
            while r >= 0:
                scene.calm[r] += 1
                r = groups.after[r]


@kernel
def wake(near: np.ndarray, touched: np.ndarray, quiet: np.ndarray, calm: np.ndarray) -> None:
    """Records in and around changed groups may have something to gain again."""
    for r in range(touched.size):
        if touched[r]:
            quiet[r] = 0
            calm[r] = 0
            for c in range(near.shape[1]):
                j = near[r, c]
                if j < 0:
                    break
                quiet[j] = 0
                calm[j] = 0
