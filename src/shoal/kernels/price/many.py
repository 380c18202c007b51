"""Many cells at a time: a group's cell with each of some values, and with each of some other groups.

A column after another: a call that hands over all prices costs as much as a hundred cells, and a loop over plain arrays
next to nothing.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import kernel
from shoal.kernels.frozen.count.extents import popcount
from shoal.kernels.price.cells import FLAT, INTERVAL, Prices, helper, whole_of, wide
from shoal.kernels.price.extents import Extents, clear, extend_all, make_extents, own_cell


@helper
def cells_with(p: Prices, ext: Extents, g: int, a: int, values: np.ndarray, out: np.ndarray) -> None:
    """Ticks of a group's cell with each of some known values in it as well."""
    low, high = wide(ext.low[a, g]), wide(ext.high[a, g])
    card, missing, unit, whole = p.card[a], p.missing[a], p.unit[a], whole_of(p, a)
    if p.kind[a] == FLAT:
        bits = ext.bits[p.word_at[a] : p.word_at[a + 1]]
        sizes = p.sizes[p.size_at[a] : p.size_at[a + 1]]
        found = wide(0)
        for w in range(bits.shape[0]):
            found += popcount(bits[w, g])
        for v in range(values.size):
            x = wide(values[v])
            more = found
            if not (bits[x >> 6, g] >> np.uint64(x & 63)) & np.uint64(1):
                more += 1
            out[v] = whole if more > 1 and max(x, high) == missing else sizes[more]
    elif p.pair_at[a] >= 0:
        pair = p.pair[p.pair_at[a] : p.pair_at[a] + card * card]
        for v in range(values.size):
            x = wide(values[v])
            out[v] = pair[min(low, x) * card + max(high, x)]
    elif p.kind[a] == INTERVAL:
        place, top = p.place[p.place_at[a] : p.place_at[a + 1]], p.top[p.place_at[a] : p.place_at[a + 1]]
        for v in range(values.size):
            x = wide(values[v])
            first, last = min(low, x), max(high, x)
            if last == missing:
                out[v] = 0 if first == last else whole
            else:
                out[v] = int(np.floor(min(1.0, (top[last] - place[first]) * p.scale[a]) * unit + 0.5))
    else:
        tree, steps = p.tree[p.tree_at[a] : p.tree_at[a + 1]], p.steps[p.tree_at[a] : p.tree_at[a + 1]]
        for v in range(values.size):
            x = wide(values[v])
            first, last = min(low, x), max(high, x)
            at = 0
            while tree[at + first] != tree[at + last]:
                at += card
            out[v] = steps[at + first]


@helper
def column_with(
    p: Prices, ext: Extents, g: int, a: int, codes: np.ndarray, others: np.ndarray, values: np.ndarray,
    out: np.ndarray,
) -> None:  # fmt: skip
    """Ticks of a group's cell with each of some records in it; unknown values leave it as it is.

    ``codes`` are those of the column; ``values`` is room for the values of the others.
    """
    known = wide(0)
    # Where the group has no value yet, any stands in for what is unknown.
    inside = wide(ext.low[a, g]) if ext.high[a, g] >= 0 else wide(0)
    for i in range(others.size):
        x = wide(codes[others[i]])
        known += x >= 0
        values[i] = x if x >= 0 else inside
    cells_with(p, ext, g, a, values[: others.size], out)
    if known < others.size:
        now = own_cell(p, ext, g, a)
        for i in range(others.size):
            if codes[others[i]] < 0:
                out[i] = now


@helper
def costs_with(
    p: Prices, ext: Extents, g: int, codes: np.ndarray, others: np.ndarray, room: tuple, out: np.ndarray
) -> None:
    """Add to ``out`` the ticks of a group with each of some records of ``codes`` (columns, records) in it.

    ``room`` holds values and ticks of the others.
    """
    values, ticks = room
    for column in range(codes.shape[0]):
        a, mine = wide(column), codes[column]
        if p.pair_at[a] >= 0:
            low, high, card = wide(ext.low[a, g]), wide(ext.high[a, g]), p.card[a]
            pair = p.pair[p.pair_at[a] : p.pair_at[a] + card * card]
            now = pair[low * card + high] if high >= 0 else wide(0)
            for i in range(others.size):
                x = wide(mine[others[i]])
                out[i] += pair[min(low, x) * card + max(high, x)] if x >= 0 else now
        else:
            column_with(p, ext, g, a, mine, others, values, ticks)
            for i in range(others.size):
                out[i] += ticks[i]


@helper
def _joint_nodes(
    low: np.ndarray, high: np.ndarray, first: int, last: int, card: int, tree: np.ndarray, steps: np.ndarray,
    out: np.ndarray,
) -> None:  # fmt: skip
    if card > low.size:
        for h in range(low.size):
            lower, upper = min(first, wide(low[h])), max(last, wide(high[h]))
            at = 0
            while tree[at + lower] != tree[at + upper]:
                at += card
            out[h] += steps[at + lower]
        return
    # Ancestors of one node lie on one path: the common one of a group is the higher of those of its two ends.
    table = np.empty(card, dtype=np.int64)
    for x in range(card):
        lower, upper = min(first, x), max(last, x)
        at = 0
        while tree[at + lower] != tree[at + upper]:
            at += card
        table[x] = steps[at + lower]
    for h in range(low.size):
        if high[h] >= 0:
            out[h] += max(table[low[h]], table[high[h]])


@helper
def joint_column(p: Prices, ext: Extents, g: int, a: int, start: int, stop: int, out: np.ndarray) -> None:
    """Add to ``out`` the ticks of one column's cell of group ``g`` and each group from ``start`` to ``stop`` as one."""
    low, high = ext.low[a, start:stop], ext.high[a, start:stop]
    first, last = wide(ext.low[a, g]), wide(ext.high[a, g])
    missing, unit, whole = p.missing[a], p.unit[a], whole_of(p, a)
    if p.kind[a] == INTERVAL:
        place, top = p.place[p.place_at[a] : p.place_at[a + 1]], p.top[p.place_at[a] : p.place_at[a + 1]]
        for h in range(low.size):
            lower, upper = min(first, wide(low[h])), max(last, wide(high[h]))
            if upper == missing:
                out[h] += 0 if lower == upper else whole
            else:
                out[h] += int(np.floor(min(1.0, (top[upper] - place[lower]) * p.scale[a]) * unit + 0.5))
    elif p.kind[a] == FLAT:
        sizes = p.sizes[p.size_at[a] : p.size_at[a + 1]]
        w, end = p.word_at[a], p.word_at[a + 1]
        if end == w + 1 and missing < 0:
            bits, own = ext.bits[w, start:stop], ext.bits[w, g]
            for h in range(low.size):
                out[h] += sizes[popcount(bits[h] | own)]
            return
        for h in range(low.size):
            found = 0
            for w in range(p.word_at[a], end):
                found += popcount(ext.bits[w, g] | ext.bits[w, start + h])
            out[h] += whole if found > 1 and max(last, high[h]) == missing else sizes[found]
    else:
        at, end = p.tree_at[a], p.tree_at[a + 1]
        _joint_nodes(low, high, first, last, p.card[a], p.tree[at:end], p.steps[at:end], out)


@helper
def joint_costs(p: Prices, ext: Extents, g: int, start: int, stop: int, out: np.ndarray) -> None:
    """Ticks a record of group ``g`` and each of the groups from ``start`` to ``stop`` as one."""
    for h in range(stop - start):
        out[h] = 0
    for a in range(p.kind.size):
        joint_column(p, ext, g, wide(a), start, stop, out)


@kernel
def widest_columns(p: Prices, codes: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """The column that costs each group most, of equals the first; ``codes`` (columns, records) group after group."""
    ext = make_extents(p, wide(1))
    out = np.zeros(starts.size - 1, dtype=np.int64)
    zero = wide(0)
    for g in range(out.size):
        clear(ext, zero)
        for i in range(starts[g], starts[g + 1]):
            extend_all(p, ext, zero, codes, i)
        most = wide(-1)
        for a in range(codes.shape[0]):
            cost = own_cell(p, ext, zero, wide(a))
            if cost > most:
                most = cost
                out[g] = a
    return out
