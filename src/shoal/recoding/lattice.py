"""The lattice of generalisation levels that full-domain methods search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from shoal.data.column import FLAT, TREE, Column
from shoal.errors import ParameterError
from shoal.kernels.grouping import group_ranges
from shoal.params import whole
from shoal.recoding.cells import CellColumn, IntervalCells, SetCells, TreeCells
from shoal.recoding.recodings import FullDomain, Starred, Subtree

_LARGEST = 2**62


@dataclass(frozen=True)
class Lattice:
    """All combinations of one level an attribute, numbered in mixed radix, the last attribute fastest.

    A node's id is therefore its rank in lexicographic order of levels. Everything works on arrays of ids.

    Attributes
    ----------
    heights
        Height of each attribute's hierarchy.

    Examples
    --------
    >>> lattice = Lattice((1, 2))
    >>> lattice.size, int(lattice.encode([1, 0])), lattice.decode(3).tolist()
    (6, 3, [1, 0])
    """

    heights: tuple[int, ...]

    def __post_init__(self) -> None:
        heights = tuple(whole("a lattice", "heights", height, least=0) for height in self.heights)
        object.__setattr__(self, "heights", heights)

    @cached_property
    def size(self) -> int:
        """Number of nodes, exactly."""
        return prod(height + 1 for height in self.heights)

    @property
    def bottom(self) -> int:
        """Id of the node without any generalisation."""
        return 0

    @property
    def top(self) -> int:
        """Id of the node that generalises everything fully."""
        return self.size - 1

    @property
    def max_height(self) -> int:
        """Height of the top node."""
        return sum(self.heights)

    def encode(self, levels: np.ndarray | Sequence[int]) -> np.ndarray:
        """Ids (int64) of level vectors, shape (..., m) to (...)."""
        levels = np.asarray(levels, dtype=np.int64)
        if levels.ndim == 0 or levels.shape[-1] != len(self.heights):
            raise ParameterError(f"A node has {len(self.heights)} levels, one an attribute: give that many.")
        if ((levels < 0) | (levels > self._limits)).any():
            raise ParameterError(f"The levels of a node must lie between 0 and the heights {self.heights}.")
        return levels @ self.strides

    def decode(self, ids: np.ndarray | int) -> np.ndarray:
        """Level vectors (int64) of ids, shape (...) to (..., m)."""
        ids = np.asarray(ids, dtype=np.int64)
        strides = self.strides
        if ((ids < 0) | (ids >= self.size)).any():
            raise ParameterError(f"The ids of nodes must lie between 0 and {self.top}.")
        return ids[..., np.newaxis] // strides % (self._limits + 1)

    def height(self, ids: np.ndarray | int) -> np.ndarray:
        """Sum of the levels of each node."""
        return self.decode(ids).sum(axis=-1)

    def successors(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Nodes one level above in one attribute.

        Returns
        -------
        source, neighbour
            Index into ``ids`` and id, one entry a pair, by source and then by attribute.
        """
        return self._step(ids, self.decode(ids) < self._limits, 1)

    def predecessors(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Nodes one level below in one attribute, as in :meth:`successors`."""
        return self._step(ids, self.decode(ids) > 0, -1)

    def nodes_at_height(self, h: int) -> np.ndarray:
        """Ids of all nodes of height ``h`` in lexicographic order, none when no node has it.

        Cost: O(result x m); the lattice is never listed.
        """
        if not 0 <= h <= self.max_height:
            return np.empty(0, dtype=np.int64)
        ids, left = np.zeros(1, dtype=np.int64), np.full(1, h, dtype=np.int64)
        above = self.max_height
        for height, stride in zip(self.heights, self.strides, strict=True):
            above -= height  # what the attributes still to come can take at most
            first = np.maximum(0, left - above)
            count = np.minimum(height, left) - first + 1
            starts = np.repeat(np.cumsum(count) - count, count)
            level = np.arange(len(starts)) - starts + np.repeat(first, count)
            ids = np.repeat(ids, count) + level * stride
            left = np.repeat(left, count) - level
        return ids

    @cached_property
    def _limits(self) -> np.ndarray:
        return np.array(self.heights, dtype=np.int64)

    @cached_property
    def strides(self) -> np.ndarray:
        """What one level of each attribute adds to an id."""
        if self.size > _LARGEST:
            raise ParameterError(
                f"The lattice of {len(self.heights)} attributes has more than 2**62 nodes: use fewer "
                "quasi-identifiers or lower hierarchies."
            )
        radix = [height + 1 for height in self.heights]
        return np.array([prod(radix[place + 1 :]) for place in range(len(radix))], dtype=np.int64)

    def _step(self, ids: np.ndarray, possible: np.ndarray, step: int) -> tuple[np.ndarray, np.ndarray]:
        source, attribute = np.nonzero(possible)
        return source, np.asarray(ids, dtype=np.int64)[source] + step * self.strides[attribute]


# ----------------------------------------
# Cells of a column on one level of its hierarchy, or at nodes of it.


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


# ----------------------------------------
# Cells of columns whose values are put in blocks, each published as one cell wherever it occurs.


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
