"""The lattice of generalisation levels that full-domain methods search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from shoal.errors import ParameterError
from shoal.params import whole

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
