"""How far apart the values of a sensitive column are, as the kernels need it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.kernels.rules import EQUAL, LEAVES, POSITIONS
from shoal.table.column import INTERVAL, TREE, Column


@dataclass(frozen=True, eq=False)
class Closeness:
    """The geometry of a column's known values.

    Attributes
    ----------
    kind
        By position, by leaves under the common ancestor, or equal or not.
    scale
        Width of the domain, or its values (leaves) less one; 0 where there is only one value.
    ref
        Position of every code, or leaf counts (levels, codes), flattened; empty for the last kind.
    tree
        (levels, codes) node of every code, for the second kind.
    """

    kind: int
    scale: float
    ref: np.ndarray
    tree: np.ndarray


def closeness(column: Column, unknown: np.ndarray) -> Closeness:
    """The geometry of a column, whose codes flagged ``unknown`` are no values.

    Numbers and dates are measured against the declared domain, else the input's; categories without a hierarchy
    against the input's distinct values.
    """
    none = np.empty((0, 0), dtype=np.int32)
    if column.kind == INTERVAL:
        return Closeness(POSITIONS, _known_span(column, unknown), column.positions, none)
    if column.kind == TREE:
        assert column.hierarchy is not None
        tree = column.hierarchy.ancestors
        # The missing leaf is the last one, and no value of the domain.
        counts = column.hierarchy.leaf_counts - (tree == tree[:, -1:]) * (column.missing >= 0)
        scale = float(column.card - int(column.missing >= 0) - 1)
        return Closeness(LEAVES, scale, counts.astype(np.float64).ravel(), tree)
    return Closeness(EQUAL, float(np.count_nonzero(unknown == 0) - 1), np.empty(0), none)


def _known_span(column: Column, unknown: np.ndarray) -> float:
    """Width of the declared domain or order, else of the known values: a non-answer is no place on the axis."""
    places = column.positions[unknown == 0]
    if column.declared is not None or column.numbers is None or places.size == 0:
        return column.span
    return float(places.max() - places.min())
