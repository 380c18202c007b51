"""Groups that change: lists of members, extents and prices, and what each group would cost without each member."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from shoal.kernels.cluster.exposure import Exposure, exposed, recount
from shoal.kernels.compiled import kernel
from shoal.kernels.frozen.count.extents import popcount
from shoal.kernels.frozen.price.cells import FLAT, Prices, cell, helper, whole_of, wide
from shoal.kernels.frozen.price.extents import Extents, clear, cost_with, extend_all, make_records, own_cells

# Of each record: its group, its neighbours in the group's list, and `bare`, the ticks of the group without it.
# Of each group: head of the list, size, cells, their ticks (groups, columns), and the sum of these and of what it shows
# of sensitive values.
Groups = namedtuple("Groups", "ids after before bare head size cells now cost shown")


def make_groups(p: Prices, codes: np.ndarray, ids: np.ndarray, shown: Exposure) -> Groups:
    """Put every record in its group and price all groups; ``codes`` are (columns, records).

    There may be as many groups as ``shown`` has room for.
    """
    capacity = shown.total.shape[0]
    n = ids.size
    groups = Groups(
        ids=np.full(n, -1, dtype=np.int32),
        after=np.full(n, -1, dtype=np.int32),
        before=np.full(n, -1, dtype=np.int32),
        bare=np.zeros(n, dtype=np.int64),
        head=np.full(capacity, -1, dtype=np.int32),
        size=np.zeros(capacity, dtype=np.int32),
        cells=_make_cells(p, capacity),
        now=np.zeros((capacity, codes.shape[0]), dtype=np.int64),
        cost=np.zeros(capacity, dtype=np.int64),
        shown=shown,
    )
    _fill(groups, ids, p, codes)
    return groups


@kernel
def _make_cells(p: Prices, capacity: int) -> Extents:
    return make_records(p, capacity)


@kernel
def _fill(groups: Groups, ids: np.ndarray, p: Prices, codes: np.ndarray) -> None:
    for r in range(ids.size - 1, -1, -1):
        join(groups, wide(r), wide(ids[r]))
    rows = np.empty(groups.ids.size, dtype=np.int64)
    for g in range(groups.head.size):
        refresh(groups, wide(g), p, codes, rows)


@helper
def leave(groups: Groups, r: int) -> None:
    """Take a record out of its group's list; the group's price is not touched."""
    g = groups.ids[r]
    if groups.before[r] >= 0:
        groups.after[groups.before[r]] = groups.after[r]
    else:
        groups.head[g] = groups.after[r]
    if groups.after[r] >= 0:
        groups.before[groups.after[r]] = groups.before[r]
    groups.size[g] -= 1
    groups.ids[r] = -1


@helper
def join(groups: Groups, r: int, g: int) -> None:
    """Put a record at the head of a group's list; the group's price is not touched."""
    groups.after[r] = groups.head[g]
    groups.before[r] = -1
    if groups.head[g] >= 0:
        groups.before[groups.head[g]] = r
    groups.head[g] = r
    groups.ids[r] = g
    groups.size[g] += 1


@helper
def list_members(groups: Groups, g: int, out: np.ndarray, at: int) -> int:
    """Write a group's records from ``out[at]`` on; returns where they end."""
    r = groups.head[g]
    while r >= 0:
        out[at] = r
        at += 1
        r = groups.after[r]
    return at


@helper
def price_rows(
    p: Prices, codes: np.ndarray, rows: np.ndarray, skip: int, extra: int, cells: Extents, g: int, now: np.ndarray
) -> int:
    """Ticks of some records without ``skip`` and with ``extra`` (-1: none) as one group; fills its cells."""
    clear(cells, g)
    for i in range(rows.size):
        if rows[i] != skip:
            extend_all(p, cells, g, codes, wide(rows[i]))
    if extra >= 0:
        extend_all(p, cells, g, codes, extra)
    return own_cells(p, cells, g, now)


@helper
def cost_joined(
    groups: Groups, h: int, p: Prices, codes: np.ndarray, r: int, rows: np.ndarray, out: np.ndarray
) -> int:
    """Ticks of a group with one more record; ``rows`` is room for its members, ``out`` for the ticks of its cells."""
    cost = cost_with(p, groups.cells, h, codes, r, groups.now[h], out)
    if groups.shown.unit.size:
        many = groups.shown.step_at.min() < 0
        mine = rows[: list_members(groups, h, rows, wide(0)) if many else 0]
        cost += exposed(groups.shown, h, mine, wide(-1), r)
    return cost


@helper
def refresh(groups: Groups, g: int, p: Prices, codes: np.ndarray, rows: np.ndarray) -> None:
    """Price a group anew, and what it would cost without each of its members; ``rows`` is room for them."""
    if groups.size[g] == 0:
        groups.cost[g] = 0
        return
    mine = rows[: list_members(groups, g, rows, wide(0))]
    groups.cost[g] = price_rows(p, codes, mine, wide(-1), wide(-1), groups.cells, g, groups.now[g])
    groups.cost[g] += recount(groups.shown, g, mine)
    for i in range(mine.size):
        groups.bare[mine[i]] = exposed(groups.shown, g, mine, wide(mine[i]), wide(-1))
    for column in range(codes.shape[0]):
        a = wide(column)
        if p.kind[a] == FLAT:
            _bare_sets(groups, g, a, p, codes, mine)
        else:
            _bare_ranges(groups, g, a, p, codes, mine)


@helper
def _bare_ranges(groups: Groups, g: int, a: int, p: Prices, codes: np.ndarray, mine: np.ndarray) -> None:
    """Add an ordered column's ticks without each member, which the two lowest and two highest codes decide."""
    low, high = wide(groups.cells.low[a, g]), wide(groups.cells.high[a, g])
    second = high
    last = low
    lows = 0
    highs = 0
    for i in range(mine.size):
        x = wide(codes[a, mine[i]])
        lows += x == low
        highs += x == high
        if x > low:
            second = min(second, x)
        if x < high:
            last = max(last, x)
    full = groups.now[g, a]
    # Of one value there is nothing to take away; with none at all, low is above high.
    without_low = full if lows > 1 or low >= high else cell(p, a, second, high)
    without_high = full if highs > 1 or low >= high else cell(p, a, low, last)
    for i in range(mine.size):
        x = wide(codes[a, mine[i]])
        if x == low:
            groups.bare[mine[i]] += without_low
        elif x == high:
            groups.bare[mine[i]] += without_high
        else:
            groups.bare[mine[i]] += full


@helper
def _bare_sets(groups: Groups, g: int, a: int, p: Prices, codes: np.ndarray, mine: np.ndarray) -> None:
    """Add a flat column's ticks without each member: one value less where the member alone has its value."""
    words = p.word_at[a + 1] - p.word_at[a]
    again = np.zeros(words, dtype=np.uint64)
    once = np.zeros(words, dtype=np.uint64)
    for i in range(mine.size):
        x = codes[a, mine[i]]
        if x < 0:
            continue
        bit = np.uint64(1) << np.uint64(x & 63)
        again[x >> 6] |= once[x >> 6] & bit
        once[x >> 6] |= bit
    found = wide(0)
    for w in range(words):
        found += popcount(once[w])
    missing = p.missing[a]
    mixed = found > 1 and groups.cells.high[a, g] == missing
    full = groups.now[g, a]
    fewer = p.sizes[p.size_at[a] + max(found - 1, wide(0))]
    for i in range(mine.size):
        x = codes[a, mine[i]]
        alone = x >= 0 and not (again[x >> 6] >> np.uint64(x & 63)) & np.uint64(1)
        if not alone or found <= 1:
            groups.bare[mine[i]] += full
        elif mixed and x != missing and found > 2:
            groups.bare[mine[i]] += whole_of(p, a)
        else:
            groups.bare[mine[i]] += fewer
