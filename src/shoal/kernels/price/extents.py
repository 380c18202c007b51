"""Cells of groups that grow and join: what they hold, what they cost, and what they would cost with one more record.

Codes below 0 are unknown values: they leave a cell as it is. A cell without any value costs nothing.

A function a cell would be neater, but handing all prices on costs many times what pricing a cell does.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from shoal.kernels.frozen.count.extents import popcount
from shoal.kernels.price.cells import FLAT, Prices, cell, helper, set_cell, wide

# Lowest and highest code (columns, groups), and the sets of flat columns (words, groups).
Extents = namedtuple("Extents", "low high bits")

_NONE = np.iinfo(np.int32).max


@helper
def make_extents(p: Prices, count: int) -> Extents:
    """Room for so many groups, all empty; a column's cells lie side by side."""
    m = p.kind.size
    return Extents(
        np.full((m, count), _NONE, dtype=np.int32),
        np.full((m, count), -1, dtype=np.int32),
        np.zeros((p.word_at[m], count), dtype=np.uint64),
    )


@helper
def make_records(p: Prices, count: int) -> Extents:
    """The same with a group's cells side by side, for methods that look at one group after another."""
    m = p.kind.size
    return Extents(
        np.full((count, m), _NONE, dtype=np.int32).T,
        np.full((count, m), -1, dtype=np.int32).T,
        np.zeros((count, p.word_at[m]), dtype=np.uint64).T,
    )


@helper
def extend(p: Prices, ext: Extents, g: int, a: int, x: int) -> bool:
    """Take a known value into a group's cell; whether the cell changed."""
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
        x = codes[a, i]
        if x < 0:
            continue
        ext.low[a, g] = min(ext.low[a, g], x)
        ext.high[a, g] = max(ext.high[a, g], x)
        if p.kind[a] == FLAT:
            ext.bits[p.word_at[a] + (x >> 6), g] |= np.uint64(1) << np.uint64(x & 63)


@helper
def open_group(p: Prices, ext: Extents, g: int, codes: np.ndarray, i: int, now: np.ndarray) -> None:
    """Make a group that of one record alone; ``now`` are the ticks of its cells."""
    for w in range(ext.bits.shape[0]):
        ext.bits[w, g] = np.uint64(0)
    for column in range(codes.shape[0]):
        a, x = wide(column), wide(codes[column, i])
        ext.low[a, g], ext.high[a, g] = (x, x) if x >= 0 else (_NONE, -1)
        now[a] = 0
        if x >= 0 and p.kind[a] != FLAT:
            now[a] = cell(p, a, x, x)
        elif x >= 0:
            ext.bits[p.word_at[a] + (x >> 6), g] = np.uint64(1) << np.uint64(x & 63)


@helper
def clear(ext: Extents, g: int) -> None:
    """Empty a group."""
    for a in range(ext.low.shape[0]):
        ext.low[a, g] = _NONE
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
def copy_cells(ext: Extents, g: int, into: Extents, h: int) -> None:
    """Make group ``h`` of others what group ``g`` is."""
    for a in range(ext.low.shape[0]):
        into.low[a, h] = ext.low[a, g]
        into.high[a, h] = ext.high[a, g]
    for w in range(ext.bits.shape[0]):
        into.bits[w, h] = ext.bits[w, g]


@helper
def own_cells(p: Prices, ext: Extents, g: int, out: np.ndarray) -> int:
    """Ticks a record of a group, and of each of its cells in ``out``."""
    total = wide(0)
    for column in range(out.size):
        a = wide(column)
        high = wide(ext.high[a, g])
        ticks = wide(0)
        if high >= 0 and p.kind[a] != FLAT:
            ticks = cell(p, a, wide(ext.low[a, g]), high)
        elif high >= 0:
            found = wide(0)
            for w in range(p.word_at[a], p.word_at[a + 1]):
                found += popcount(ext.bits[w, g])
            ticks = set_cell(p, a, found, high)
        out[a] = ticks
        total += ticks
    return total


@helper
def own_cell(p: Prices, ext: Extents, g: int, a: int) -> int:
    """Ticks of a group's cell."""
    high = wide(ext.high[a, g])
    if high < 0:
        return wide(0)
    if p.kind[a] != FLAT:
        return cell(p, a, wide(ext.low[a, g]), high)
    found = wide(0)
    for w in range(p.word_at[a], p.word_at[a + 1]):
        found += popcount(ext.bits[w, g])
    return set_cell(p, a, found, high)


@helper
def own_cost(p: Prices, ext: Extents, g: int) -> int:
    """Ticks a record of a group."""
    return own_cells(p, ext, g, np.empty(p.kind.size, dtype=np.int64))


@helper
def cost_with(
    p: Prices, ext: Extents, g: int, codes: np.ndarray, i: int, now: np.ndarray, out: np.ndarray
) -> int:
    """Ticks a record of a group with record ``i`` of ``codes`` (columns, records) in it as well.

    ``now`` and ``out`` are the ticks of its cells before and after.
    """
    total = wide(0)
    for column in range(now.size):
        a = wide(column)
        x = wide(codes[a, i])
        ticks = now[a]
        if x >= 0 and p.kind[a] != FLAT:
            low, high = wide(ext.low[a, g]), wide(ext.high[a, g])
            if x < low or x > high:
                ticks = cell(p, a, min(low, x), max(high, x))
        elif x >= 0 and not (ext.bits[p.word_at[a] + (x >> 6), g] >> np.uint64(x & 63)) & np.uint64(1):
            found = wide(1)
            for w in range(p.word_at[a], p.word_at[a + 1]):
                found += popcount(ext.bits[w, g])
            ticks = set_cell(p, a, found, max(wide(ext.high[a, g]), x))
        out[a] = ticks
        total += ticks
    return total
