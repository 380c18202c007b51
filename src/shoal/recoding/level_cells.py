"""Cells of a column on one level of its hierarchy, or at nodes of it."""

from __future__ import annotations

import numpy as np

from shoal.data.column import FLAT, TREE, Column
from shoal.errors import ParameterError
from shoal.recoding.column_cells import CellColumn, IntervalCells, TreeCells
from shoal.recoding.recodings import FullDomain, Starred, Subtree
from shoal.recoding.set_cells import SetCells


def top_level(column: Column) -> int:
    """Highest level of a column: its hierarchy's height, or 1 for a column that is published or starred."""
    return column.hierarchy.height if column.kind == TREE and column.hierarchy is not None else 1


def checked_level(column: Column, recoding: FullDomain | Starred) -> int:
    """The level of a column, after checking that there is such a one."""
    level = recoding.levels.get(column.name, 0)
    top = top_level(column)
    if not isinstance(level, int) or isinstance(level, bool) or not 0 <= level <= top:
        raise ParameterError(f"The level of '{column.name}' must be a whole number from 0 to {top}. Got {level!r}.")
    return level


def checked_nodes(column: Column, recoding: Subtree) -> np.ndarray:
    """Node of every leaf code, after checking that each is above its leaf and takes all leaves below it."""
    nodes, tree = recoding.nodes.get(column.name), column.hierarchy
    if nodes is None or nodes.shape != (column.card,):
        raise ParameterError(f"A subtree recoding needs a node for each value of '{column.name}'.")
    if tree is None or column.kind != TREE:
        if not (nodes == np.arange(column.card)).all() and not (nodes == column.card).all():
            raise ParameterError(f"The values of '{column.name}', which has no hierarchy, must all stay, or none.")
        return nodes
    first, after = tree.node_first[nodes], tree.node_first[nodes] + tree.node_leaves[nodes]
    leaves = np.arange(column.card)
    whole = np.bincount(nodes)[nodes] == tree.node_leaves[nodes]
    if not ((first <= leaves) & (leaves < after) & whole).all():
        raise ParameterError(f"The nodes of '{column.name}' are not above their values, or one is below another.")
    return nodes


def node_cells(column: Column, nodes: np.ndarray) -> CellColumn:
    """Cells of nodes by their ids; without a hierarchy they are values, or, beyond them, everything."""
    if column.kind == TREE:
        return TreeCells.at_nodes(column, nodes)
    starred = nodes.size > 0 and int(nodes[0]) == column.card
    return level_cells(column, np.zeros_like(nodes) if starred else nodes, int(starred))


def nodes_at(column: Column, level: int) -> np.ndarray:
    """Node of every leaf code on one level."""
    if column.kind == TREE:
        return column.hierarchy.ancestors[level]  # type: ignore[union-attr]
    return np.arange(column.card, dtype=np.int32) * (level == 0)


def level_cells(column: Column, leaves: np.ndarray, level: int) -> CellColumn:
    """The cells of some leaf codes at one level."""
    if column.kind == TREE:
        return TreeCells.at_level(column, leaves, level)
    if column.kind == FLAT:
        return SetCells.single(column, leaves) if level == 0 else SetCells.everything(column, leaves.size)
    star = np.full(leaves.size, level == 1)
    return ExactCells(column, leaves, leaves, star)


class ExactCells(IntervalCells):
    """Single values published as they are: the user's own choice of level 0, so nothing is snapped."""

    def snapped(self, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The value itself, twice."""
        values = self.published.numbers[low]  # type: ignore[index]
        return values, values
