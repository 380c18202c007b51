"""Groups that change: lists of members, extents and prices, and what each group would cost without each member."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from shoal.kernels.compiled import kernel
from shoal.kernels.count.extents import popcount
from shoal.kernels.price.clusters import extend, open_group, prices
from shoal.kernels.price.geometry import FLAT, Geometry, price

# Of each record: its group, its neighbours in the group's list, and `bare`, the price of the group without it.
# Of each group: head of the list, size, extent (low, high, bits), prices a column (now), and their weighted sum.
Groups = namedtuple("Groups", "ids after before bare head size low high bits now cost")


def empty_groups(n: int, m: int, words: int, capacity: int) -> Groups:
    """Room for ``capacity`` groups of n records."""
    return Groups(
        ids=np.full(n, -1, dtype=np.int32),
        after=np.full(n, -1, dtype=np.int32),
        before=np.full(n, -1, dtype=np.int32),
        bare=np.zeros(n),
        head=np.full(capacity, -1, dtype=np.int32),
        size=np.zeros(capacity, dtype=np.int32),
        low=np.zeros((capacity, m), dtype=np.int32),
        high=np.zeros((capacity, m), dtype=np.int32),
        bits=np.zeros((capacity, words), dtype=np.uint64),
        now=np.zeros((capacity, m)),
        cost=np.zeros(capacity),
    )


def fill_groups(groups: Groups, ids: np.ndarray, geo: Geometry, codes: np.ndarray) -> Groups:
    """Put every record in its group and price all groups."""
    groups.head.fill(-1)
    groups.size.fill(0)
    _join_all(groups, ids)
    _refresh_all(groups, geo, codes)
    return groups


@kernel
def _join_all(groups: Groups, ids: np.ndarray) -> None:
    for r in range(ids.size - 1, -1, -1):
        join(groups, r, ids[r])


@kernel
def _refresh_all(groups: Groups, geo: Geometry, codes: np.ndarray) -> None:
    rows = np.empty(groups.ids.size, dtype=np.int64)
    for g in range(groups.head.size):
        refresh(groups, g, geo, codes, rows)


def column_prices(groups: Groups) -> np.ndarray:
    """Sum over records of every column's price, unweighted."""
    return (groups.size[:, None] * groups.now).sum(axis=0)


@kernel
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


@kernel
def join(groups: Groups, r: int, g: int) -> None:
    """Put a record at the head of a group's list; the group's price is not touched."""
    groups.after[r] = groups.head[g]
    groups.before[r] = -1
    if groups.head[g] >= 0:
        groups.before[groups.head[g]] = r
    groups.head[g] = r
    groups.ids[r] = g
    groups.size[g] += 1


@kernel
def list_members(groups: Groups, g: int, out: np.ndarray, at: int) -> int:
    """Write a group's records from ``out[at]`` on; returns where they end."""
    r = groups.head[g]
    while r >= 0:
        out[at] = r
        at += 1
        r = groups.after[r]
    return at


@kernel
def price_rows(geo: Geometry, codes: np.ndarray, rows: np.ndarray, skip: int, extra: int, extent: tuple) -> float:
    """Weighted price of some records without ``skip`` and with ``extra`` (-1: none); fills the extent given."""
    low, high, bits, now = extent
    first = True
    for i in range(rows.size + 1):
        r = rows[i] if i < rows.size else extra
        if r < 0 or (i < rows.size and r == skip):
            continue
        if first:
            open_group(geo, codes[r], low, high, bits)
            first = False
        else:
            extend(geo, codes[r], low, high, bits)
    prices(geo, low, high, bits, now)
    total = 0.0
    for a in range(now.size):
        total += geo.weight[a] * now[a]
    return total


@kernel
def refresh(groups: Groups, g: int, geo: Geometry, codes: np.ndarray, rows: np.ndarray) -> None:
    """Price a group anew, and what it would cost without each of its members; ``rows`` is room for them."""
    if groups.size[g] == 0:
        groups.cost[g] = 0.0
        return
    mine = rows[: list_members(groups, g, rows, 0)]
    extent = (groups.low[g], groups.high[g], groups.bits[g], groups.now[g])
    groups.cost[g] = price_rows(geo, codes, mine, -1, -1, extent)
    for i in range(mine.size):
        groups.bare[mine[i]] = 0.0
    for a in range(codes.shape[1]):
        if geo.kind[a] == FLAT:
            _bare_sets(groups, g, a, geo, codes, mine)
        else:
            _bare_ranges(groups, g, a, geo, codes, mine)


@kernel
def _bare_ranges(groups: Groups, g: int, a: int, geo: Geometry, codes: np.ndarray, mine: np.ndarray) -> None:
    """Add an ordered column's price without each member, which the two lowest and two highest codes decide."""
    low = groups.low[g, a]
    high = groups.high[g, a]
    second = high
    last = low
    lows = 0
    highs = 0
    for i in range(mine.size):
        x = codes[mine[i], a]
        lows += x == low
        highs += x == high
        if x > low:
            second = min(second, x)
        if x < high:
            last = max(last, x)
    weight = geo.weight[a]
    full = weight * groups.now[g, a]
    without_low = full if lows > 1 or mine.size == 1 else weight * price(geo, a, second, high)
    without_high = full if highs > 1 or mine.size == 1 else weight * price(geo, a, low, last)
    for i in range(mine.size):
        x = codes[mine[i], a]
        if x == low:
            groups.bare[mine[i]] += without_low
        elif x == high:
            groups.bare[mine[i]] += without_high
        else:
            groups.bare[mine[i]] += full


@kernel
def _bare_sets(groups: Groups, g: int, a: int, geo: Geometry, codes: np.ndarray, mine: np.ndarray) -> None:
    """Add a flat column's price without each member: one value less where the member alone has its value."""
    first = geo.word_at[a]
    words = geo.word_at[a + 1] - first
    again = np.zeros(words, dtype=np.uint64)
    once = np.zeros(words, dtype=np.uint64)
    for i in range(mine.size):
        x = codes[mine[i], a]
        bit = np.uint64(1) << np.uint64(x & 63)
        again[x >> 6] |= once[x >> 6] & bit
        once[x >> 6] |= bit
    found = 0
    for w in range(words):
        found += popcount(once[w])
    missing = geo.missing[a]
    mixed = missing >= 0 and groups.high[g, a] == missing and found > 1
    weight = geo.weight[a]
    for i in range(mine.size):
        x = codes[mine[i], a]
        alone = not (again[x >> 6] >> np.uint64(x & 63)) & np.uint64(1)
        if not alone or found <= 1:
            groups.bare[mine[i]] += weight * groups.now[g, a]
        elif mixed and x != missing and found > 2:
            groups.bare[mine[i]] += weight
        else:
            groups.bare[mine[i]] += weight * (found - 2.0) * geo.scale[a]
