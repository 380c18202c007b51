"""Cells of groups that several calls of kernels fill and read (native/price/extents.hpp)."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from shoal.kernels.price.cells import Prices

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
