"""Losses of cells in whole ticks: sums never drift, so that ties are ties whatever was added first.

Floats would let rounding decide between groups that cost the same. The whole loss of a record, published as nothing but
stars, is `one` ticks, at most 2**38, so that groups of up to 2**24 records can be priced in 64 bits; larger tables have
fewer. A column's ticks contain its weight.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from shoal.kernels.compiled import kernel

INTERVAL, TREE, FLAT = range(3)

# For functions that only other kernels call: leaving out the door for Python halves the time they take to compile.
helper: Any = kernel(no_cpython_wrapper=True, no_cfunc_wrapper=True)
# Literals and narrow codes as what they are used as: a function is compiled once for each kind of argument it gets.
wide: Any = np.int64

# one: ticks of the whole loss of a record. One entry a column: kind, card, missing (its code or -1), scale (1 / domain
# width), unit (ticks of its whole loss, below 0 where loss counts in favour). place, top: lower and upper end of every
# code of the interval columns, from place_at; they differ where published bounds are snapped outward. tree, steps:
# level x code matrices of tree columns, from tree_at: the node of each code, and what that node costs. sizes: what a
# set of 0, 1, 2 ... values of a flat column costs, from size_at. word_at: where a flat column's words of bits start.
# pair: what all pairs of codes cost, low by high, of interval and tree columns of few codes, from pair_at (-1: none).
Prices = namedtuple(
    "Prices",
    "one kind card missing scale unit place top place_at tree steps tree_at sizes size_at word_at pair pair_at",
)


@helper
def whole_of(p: Prices, a: int) -> int:
    """Ticks of the whole loss of a column."""
    return int(np.floor(p.unit[a] + 0.5))


@helper
def worked_cell(p: Prices, a: int, low: int, high: int) -> int:
    """Ticks of an interval or tree cell between two codes, from the column's ends or its tree."""
    if p.kind[a] == INTERVAL:
        if high == p.missing[a]:
            return wide(0) if low == high else whole_of(p, a)
        at = p.place_at[a]
        return int(np.floor(min(1.0, (p.top[at + high] - p.place[at + low]) * p.scale[a]) * p.unit[a] + 0.5))
    at = p.tree_at[a]
    while p.tree[at + low] != p.tree[at + high]:
        at += p.card[a]
    return p.steps[at + low]


@helper
def cell(p: Prices, a: int, low: int, high: int) -> int:
    """The same, looked up where the column lists its pairs."""
    if p.pair_at[a] >= 0:
        return p.pair[p.pair_at[a] + low * p.card[a] + high]
    return worked_cell(p, a, low, high)


@kernel
def list_pairs(p: Prices, pair_at: np.ndarray, size: int) -> np.ndarray:
    """Ticks of every low and high code of the columns that have a place in the list."""
    pair = np.zeros(size, dtype=np.int64)
    for column in range(pair_at.size):
        a = wide(column)
        if pair_at[a] >= 0:
            card = p.card[a]
            for low in range(card):
                for high in range(low, card):
                    pair[pair_at[a] + low * card + high] = worked_cell(p, a, wide(low), wide(high))
    return pair


@helper
def set_cell(p: Prices, a: int, found: int, high: int) -> int:
    """Ticks of a flat column's cell of so many values, of which ``high`` is the last."""
    if found > 1 and high == p.missing[a]:
        return whole_of(p, a)
    return p.sizes[p.size_at[a] + found]


@helper
def mean_price(p: Prices, ticks: np.ndarray) -> float:
    """Mean over columns of their prices without weights, each between 0 and 1; no column may weigh next to nothing."""
    total = 0.0
    for a in range(ticks.size):
        total += ticks[a] / p.unit[a]
    return total / ticks.size
