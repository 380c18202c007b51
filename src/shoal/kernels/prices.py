"""Price cells by their loss in whole ticks: sums never drift, so that ties are ties whatever was added first.

Floats would let rounding decide between groups that cost the same. The whole loss of a record, published as nothing but
stars, is `one` ticks, at most 2**38, so that groups of up to 2**24 records can be priced in 64 bits; larger tables have
fewer. A column's ticks contain its weight.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from shoal.kernels import _native

INTERVAL, TREE, FLAT = range(3)

# one: ticks of the whole loss of a record, a number. One entry a column: kind, card and missing (its code or -1),
# int64; scale (1 / domain width) and unit (ticks of its whole loss, below 0 where loss counts in favour), float64.
# place, top: float64, lower and upper end of every code of the interval columns, from place_at; they differ where
# published bounds are snapped outward. tree (int32), steps (int64): level x code matrices of tree columns, from
# tree_at: the node of each code, and what that node costs. sizes: int64, what a set of 0, 1, 2 ... values of a flat
# column costs, from size_at. word_at: where a flat column's words of bits start. place_at, tree_at, size_at and
# word_at are int64 (columns + 1). pair: int64, what all pairs of codes cost, low by high, of interval and tree
# columns of few codes, from pair_at, int64 (columns; -1: none).
Prices = namedtuple(
    "Prices",
    "one kind card missing scale unit place top place_at tree steps tree_at sizes size_at word_at pair pair_at",
)


def list_pairs(p: Prices, pair_at: np.ndarray, size: int) -> np.ndarray:
    """List the ticks of every low and high code of the columns that have a place in the list, in O(size log codes).

    ``pair_at`` is int64, where each column's square of codes begins, or -1; ``size`` is that of all squares.
    """
    pair = np.empty(size, dtype=np.int64)
    _native.list_pairs(p, pair_at, pair)
    return pair


# ----------------------------------------
# Price the cells of many groups at a time.


def widest_columns(p: Prices, codes: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Find the column that costs each group most, of equals the first, in O(columns times records).

    ``codes`` is int32 (columns, records), group after group; ``starts`` is int64 (groups + 1).
    """
    out = np.empty(starts.size - 1, dtype=np.int64)
    _native.widest_columns(p, codes, starts, out)
    return out


# ----------------------------------------
# Cells of groups that several calls of kernels fill and read (native/price/extents.hpp).


# low, high: int32, lowest and highest code of each group and column; bits: uint64, the sets of flat columns. Kernels
# that look at one group after another have them as (groups, columns) and (groups, words), those that look at many
# groups of one column as (columns, groups) and (words, groups).
Extents = namedtuple("Extents", "low high bits")


def make_group_extents(p: Prices, groups: int) -> Extents:
    """Make empty extents (groups, columns), for kernels that look at one group after another."""
    return _empty_extents((groups, p.kind.size), (groups, int(p.word_at[-1])))


def make_column_extents(p: Prices, groups: int) -> Extents:
    """Make empty extents (columns, groups), for kernels that look at many groups of one column."""
    return _empty_extents((p.kind.size, groups), (int(p.word_at[-1]), groups))


def _empty_extents(cells: tuple[int, int], words: tuple[int, int]) -> Extents:
    return Extents(
        np.full(cells, np.iinfo(np.int32).max, dtype=np.int32),
        np.full(cells, -1, dtype=np.int32),
        np.zeros(words, dtype=np.uint64),
    )
