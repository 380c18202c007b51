"""Cells of columns whose values are put in blocks, each published as one cell wherever it occurs."""

from __future__ import annotations

import numpy as np

from shoal.data.column import FLAT, TREE, Column
from shoal.errors import ParameterError
from shoal.kernels.grouping import group_ranges
from shoal.recoding.column_cells import CellColumn, IntervalCells, TreeCells
from shoal.recoding.set_cells import SetCells


def block_cells(column: Column, blocks: np.ndarray | None) -> tuple[CellColumn, np.ndarray]:
    """The different cells that a column's blocks are published as, and which of them every code is in.

    Blocks of an ordered column must be runs of its values, those of a column with a hierarchy its nodes; a block with
    the missing value among others covers everything.
    """
    if blocks is None or blocks.shape != (column.card,):
        raise ParameterError(f"A recoding by blocks needs a block for each value of '{column.name}'.")
    found, of = np.unique(blocks, return_inverse=True)
    of, codes = of.astype(np.int32), np.arange(column.card, dtype=np.int32)
    cells: CellColumn
    if column.kind == FLAT:
        cells = SetCells.of(column, codes, of, found.size)
    else:
        low, high = group_ranges(codes, of, found.size)
        sizes = np.bincount(of)
        if not (high - low + 1 == sizes).all():
            raise ParameterError(f"The blocks of '{column.name}' are not runs of its values.")
        cells = IntervalCells.of(column, low, high) if column.kind != TREE else _nodes(column, low, high, sizes)
    _, first, number = np.unique(cells.keys, return_index=True, return_inverse=True)
    number = number.astype(np.int32)
    return cells.merge(number, first), number[of]


def _nodes(column: Column, low: np.ndarray, high: np.ndarray, sizes: np.ndarray) -> TreeCells:
    cells = TreeCells.of(column, low, high)
    if not (cells.covered() == sizes).all():
        raise ParameterError(f"The blocks of '{column.name}' are not nodes of its hierarchy.")
    return cells
