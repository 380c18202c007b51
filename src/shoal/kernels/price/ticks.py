"""Losses of cells in whole ticks: sums never drift, so that ties are ties whatever was added first.

Floats would let rounding decide between groups that cost the same. A tick is 2**-38 of the loss of a record that is
published as nothing but stars, so that groups of up to 2**24 records can be priced in 64 bits.

Cells are priced many at a time, a column after another: a call that hands over all prices costs as much as a hundred
cells, and a loop over plain arrays next to nothing.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from shoal.kernels.compiled import kernel
from shoal.kernels.count.extents import popcount
from shoal.kernels.price.geometry import FLAT, INTERVAL

ONE = 1 << 38

# For functions that only other kernels call: leaving out the door for Python halves the time they take to compile.
helper: Any = kernel(no_cpython_wrapper=True, no_cfunc_wrapper=True)
# Literals and narrow codes as what they are used as: a function is compiled once for each kind of argument it gets.
wide: Any = np.int64

# One entry a column: kind, card, missing (its code or -1), scale (1 / domain width), unit (ticks of its whole loss).
# place, top: lower and upper end of every code of the interval columns, from place_at. tree, steps: level x code
# matrices of tree columns, from tree_at: the node of each code, and what that node costs. sizes: what a set of 0, 1, 2
# ... values of a flat column costs, from size_at. word_at: where a flat column's words of bits start in a row of bits.
Prices = namedtuple(
    "Prices", "kind card missing scale unit place top place_at tree steps tree_at sizes size_at word_at"
)
# Cells of groups: lowest and highest code (columns, groups), and the sets of flat columns (words, groups).
Extents = namedtuple("Extents", "low high bits")


@helper
def make_extents(p: Prices, count: int) -> Extents:
    """Room for so many groups, all empty."""
    m = p.kind.size
    return Extents(
        np.full((m, count), np.iinfo(np.int32).max, dtype=np.int32),
        np.full((m, count), -1, dtype=np.int32),
        np.zeros((p.word_at[m], count), dtype=np.uint64),
    )


@helper
def extend(p: Prices, ext: Extents, g: int, a: int, x: int) -> bool:
    """Take a value into a group's cell; whether the cell changed."""
    changed = x < ext.low[a, g] or x > ext.high[a, g]
    if changed:
        ext.low[a, g] = min(ext.low[a, g], x)
        ext.high[a, g] = max(ext.high[a, g], x)
    if p.kind[a] == FLAT:
        word, bit = p.word_at[a] + (x >> 6), np.uint64(1) << np.uint64(x & 63)
        changed = not ext.bits[word, g] & bit
        ext.bits[word, g] |= bit
    return changed


@helper
def extend_all(p: Prices, ext: Extents, g: int, codes: np.ndarray, i: int) -> None:
    """Make room in a group for record ``i`` of ``codes`` (columns, records)."""
    for a in range(codes.shape[0]):
        extend(p, ext, g, wide(a), wide(codes[a, i]))


@helper
def clear(ext: Extents, g: int) -> None:
    """Empty a group."""
    for a in range(ext.low.shape[0]):
        ext.low[a, g] = np.iinfo(np.int32).max
        ext.high[a, g] = -1
    for w in range(ext.bits.shape[0]):
        ext.bits[w, g] = np.uint64(0)


@helper
def join(ext: Extents, g: int, h: int) -> None:
    """Make room in group ``g`` for group ``h``."""
    for a in range(ext.low.shape[0]):
        ext.low[a, g] = min(ext.low[a, g], ext.low[a, h])
        ext.high[a, g] = max(ext.high[a, g], ext.high[a, h])
    for w in range(ext.bits.shape[0]):
        ext.bits[w, g] |= ext.bits[w, h]


@helper
def _spans_with(
    low: int, high: int, missing: int, place: np.ndarray, top: np.ndarray, scale: float, unit: float,
    values: np.ndarray, out: np.ndarray,
) -> None:  # fmt: skip
    for v in range(values.size):
        x = wide(values[v])
        first, last = min(low, x), max(high, x)
        if last == missing:
            out[v] = 0 if first == last else int(unit + 0.5)
        else:
            out[v] = int(min(1.0, (top[last] - place[first]) * scale) * unit + 0.5)


@helper
def _nodes_with(
    low: int, high: int, card: int, tree: np.ndarray, steps: np.ndarray, values: np.ndarray, out: np.ndarray
) -> None:
    for v in range(values.size):
        x = wide(values[v])
        first, last = min(low, x), max(high, x)
        at = 0
        while tree[at + first] != tree[at + last]:
            at += card
        out[v] = steps[at + first]


@helper
def _sets_with(
    bits: np.ndarray, g: int, found: int, star: bool, missing: int, sizes: np.ndarray, whole: int,
    values: np.ndarray, out: np.ndarray,
) -> None:  # fmt: skip
    for v in range(values.size):
        x = wide(values[v])
        more = found
        if not (bits[x >> 6, g] >> np.uint64(x & 63)) & np.uint64(1):
            more += 1
        out[v] = whole if more > 1 and (star or x == missing) else sizes[more]


@helper
def cells_with(p: Prices, ext: Extents, g: int, a: int, values: np.ndarray, out: np.ndarray) -> None:
    """Ticks of a group's cell with each of some values in it as well."""
    low, high = wide(ext.low[a, g]), wide(ext.high[a, g])
    missing, unit = p.missing[a], p.unit[a]
    if p.kind[a] == INTERVAL:
        at, end = p.place_at[a], p.place_at[a + 1]
        _spans_with(low, high, missing, p.place[at:end], p.top[at:end], p.scale[a], unit, values, out)
    elif p.kind[a] == FLAT:
        bits = ext.bits[p.word_at[a] : p.word_at[a + 1]]
        found = wide(0)
        for w in range(bits.shape[0]):
            found += popcount(bits[w, g])
        sizes = p.sizes[p.size_at[a] : p.size_at[a + 1]]
        _sets_with(bits, g, found, high >= 0 and high == missing, missing, sizes, int(unit + 0.5), values, out)
    else:
        at, end = p.tree_at[a], p.tree_at[a + 1]
        _nodes_with(low, high, p.card[a], p.tree[at:end], p.steps[at:end], values, out)


@helper
def own_cell(p: Prices, ext: Extents, g: int, a: int) -> int:
    """Ticks of a group's cell; nothing while it has no value."""
    if ext.high[a, g] < 0:
        return wide(0)
    one = np.empty(1, dtype=np.int32)
    out = np.empty(1, dtype=np.int64)
    one[0] = ext.low[a, g]
    cells_with(p, ext, g, a, one, out)
    return out[0]


@helper
def own_cost(p: Prices, ext: Extents, g: int) -> int:
    """Ticks a record of a group."""
    total = wide(0)
    for a in range(p.kind.size):
        total += own_cell(p, ext, g, wide(a))
    return total


@helper
def _joint_spans(
    low: np.ndarray, high: np.ndarray, g: int, count: int, missing: int, place: np.ndarray, top: np.ndarray,
    scale: float, unit: float, out: np.ndarray,
) -> None:  # fmt: skip
    first, last = low[g], high[g]
    for h in range(count):
        lower, upper = min(first, low[h]), max(last, high[h])
        if upper == missing:
            out[h] += 0 if lower == upper else int(unit + 0.5)
        else:
            out[h] += int(min(1.0, (top[upper] - place[lower]) * scale) * unit + 0.5)


@helper
def _joint_nodes(
    low: np.ndarray, high: np.ndarray, g: int, count: int, card: int, tree: np.ndarray, steps: np.ndarray,
    out: np.ndarray,
) -> None:  # fmt: skip
    first, last = wide(low[g]), wide(high[g])
    if card > count:
        for h in range(count):
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
    for h in range(count):
        if high[h] >= 0:
            out[h] += max(table[low[h]], table[high[h]])


@helper
def _joint_words(bits: np.ndarray, g: int, count: int, sizes: np.ndarray, out: np.ndarray) -> None:
    """Sets of up to 64 values without a missing one."""
    own = bits[g]
    for h in range(count):
        out[h] += sizes[popcount(bits[h] | own)]


@helper
def _joint_sets(
    bits: np.ndarray, high: np.ndarray, g: int, count: int, missing: int, sizes: np.ndarray, whole: int,
    out: np.ndarray,
) -> None:  # fmt: skip
    last = high[g]
    for h in range(count):
        found = 0
        for w in range(bits.shape[0]):
            found += popcount(bits[w, g] | bits[w, h])
        out[h] += whole if found > 1 and max(last, high[h]) == missing else sizes[found]


@helper
def joint_column(p: Prices, ext: Extents, g: int, a: int, count: int, out: np.ndarray) -> None:
    """Add to ``out`` the ticks of one column's cell of group ``g`` and each of the first ``count`` groups as one."""
    low, high = ext.low[a], ext.high[a]
    if p.kind[a] == INTERVAL:
        at, end = p.place_at[a], p.place_at[a + 1]
        _joint_spans(low, high, g, count, p.missing[a], p.place[at:end], p.top[at:end], p.scale[a], p.unit[a], out)
    elif p.kind[a] == FLAT:
        bits = ext.bits[p.word_at[a] : p.word_at[a + 1]]
        sizes = p.sizes[p.size_at[a] : p.size_at[a + 1]]
        if bits.shape[0] == 1 and p.missing[a] < 0:
            _joint_words(bits[0], g, count, sizes, out)
            return
        _joint_sets(bits, high, g, count, p.missing[a], sizes, int(p.unit[a] + 0.5), out)
    else:
        at, end = p.tree_at[a], p.tree_at[a + 1]
        _joint_nodes(low, high, g, count, p.card[a], p.tree[at:end], p.steps[at:end], out)


@helper
def joint_costs(p: Prices, ext: Extents, g: int, count: int, out: np.ndarray) -> None:
    """Ticks a record of group ``g`` and each of the first ``count`` groups as one."""
    for h in range(count):
        out[h] = 0
    for a in range(p.kind.size):
        joint_column(p, ext, g, wide(a), count, out)


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
