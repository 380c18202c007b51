"""Putting some records in other groups, and undoing it where that is no cheaper or breaks a rule."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from shoal.kernels.cluster.groups import Groups, join, leave, list_members, refresh
from shoal.kernels.compiled import kernel
from shoal.kernels.frozen.judge.rules import TOLERANCE, Rules
from shoal.kernels.frozen.judge.segments import Sensitive, segment_ok
from shoal.kernels.frozen.price.cells import Prices, helper, mean_price, wide
from shoal.kernels.frozen.price.extents import own_cells

_inlined = kernel(inline="always")
# Nothing smaller than this many ticks counts as a gain: cells of columns with many values are rounded to whole ticks.
EPSILON = 1 << 8

# codes: (columns, n) int32, below 0 for unknown sensitive values; near: (n, c) int32 neighbours, -1 at the end; order:
# the input row of each record; zone: of each group; quiet: records that had nothing to gain; calm: vain regroupings;
# touched: records whose group has changed.
Scene = namedtuple("Scene", "codes near order zone quiet calm touched")
# k: fewest records of a group; widest: largest mean price of a column (infinity: any);
# largest: groups of more records are left alone; pool, tries: records of a regrouping, and how often it is tried.
Limits = namedtuple("Limits", "k widest largest pool tries")
# The rules, what they look at, and prices in which all columns weigh the same, for the limit on their mean.
Judged = tuple[Rules, Sensitive, Prices] | None
# seen: a stamp a group; affected: group numbers; old: a record's former group; rows: room for the members of a group.
Room = namedtuple("Room", "seen affected old rows")


@helper
def make_room(groups: Groups) -> Room:
    """Space for relocations of any number of records."""
    n = groups.ids.size
    capacity = groups.size.size
    return Room(
        np.full(capacity, -1, dtype=np.int64),
        np.empty(capacity, dtype=np.int64),
        np.empty(n, dtype=np.int64),
        np.empty(n, dtype=np.int64),
    )


@_inlined
def _allowed(
    groups: Groups, g: int, scene: Scene, judged: tuple[Rules, Sensitive, Prices], limits: Limits, rows: np.ndarray
) -> bool:
    """Whether a group as it is now satisfies every rule."""
    if groups.size[g] == 0:
        return True
    rules, data, plain = judged
    if limits.widest < np.inf:
        ticks = np.empty(plain.kind.size, dtype=np.int64)
        own_cells(plain, groups.cells, g, ticks)
        if mean_price(plain, ticks) > limits.widest + TOLERANCE:
            return False
    end = list_members(groups, g, rows, wide(0))
    for i in range(end):
        rows[i] = scene.order[rows[i]]
    values = np.empty(rules.op.size)
    return segment_ok(rows[:end], rules, data, np.zeros(rules.op.size, dtype=np.uint8), values)


@helper
def relocate(
    moved: np.ndarray, homes: np.ndarray, groups: Groups, p: Prices, scene: Scene, judged: Judged, limits: Limits,
    room: Room,
) -> bool:  # fmt: skip
    """Put records in new homes; says whether the price of all fell and every rule holds, else all is as before.

    ``judged`` holds the rules; None, so that they are not compiled either, where the number of records decides alone.
    """
    found = 0
    before = wide(0)
    for i in range(moved.size):
        room.old[i] = groups.ids[moved[i]]
        for g in (room.old[i], homes[i]):
            if room.seen[g] != -2:
                room.seen[g] = -2
                room.affected[found] = g
                found += 1
                before += groups.size[g] * groups.cost[g]
    good = True
    for back in range(2):
        for i in range(moved.size):
            leave(groups, wide(moved[i]))
        for i in range(moved.size):
            join(groups, wide(moved[i]), wide(room.old[i] if back else homes[i]))
        after = wide(0)
        for i in range(found):
            g = room.affected[i]
            refresh(groups, g, p, scene.codes, room.rows)
            after += groups.size[g] * groups.cost[g]
        if back:
            break
        good = after < before - EPSILON
        if judged is not None:
            for i in range(found):
                good = good and _allowed(groups, room.affected[i], scene, judged, limits, room.rows)
        if good:
            break
    for i in range(found):
        g = room.affected[i]
        room.seen[g] = -1
        if good:
            r = groups.head[g]
            while r >= 0:
                scene.touched[r] = 1
                r = groups.after[r]
    return good
