"""Where released cells overlap in part, which hurts those who count by interval.

A record in [13,17] may belong to a range that another record's cell, [15,22], covers as well. Global recodings never
do this within a column; multidimensional and local ones may.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.recoding.applied import Released
from shoal.recoding.column_cells import CellColumn, IntervalCells, TreeCells
from shoal.recoding.set_cells import SetCells


@dataclass(frozen=True, kw_only=True)
class Overlap:
    """How far the cells of one quasi-identifier overlap.

    Attributes
    ----------
    column
        Its name.
    cells
        Distinct cells in the release.
    overlapping
        Those of them that share a value with another one without being equal to it.
    rows, share
        Records in overlapping cells, and their share of the released ones.
    example
        Two cells that overlap, as text; empty when none do.
    """

    column: str
    cells: int
    overlapping: int
    rows: int
    share: float
    example: tuple[str, ...]


def overlap_report(released: Released) -> list[Overlap]:
    """One entry a quasi-identifier, in schema order.

    Closed intervals that share an end overlap there; a hierarchy's node overlaps those below it; ``*`` overlaps every
    other cell. Of a column published by representatives the intervals behind them are looked at. Cost: one sort of
    the distinct cells a column.

    References
    ----------
    Morton et al., on the loss that multidimensional recoding hides: intervals such as 13-17 and 15-22.
    """
    return [_overlap(cells, released.sizes) for cells in released.cells.values()]


def _overlap(cells: CellColumn, sizes: np.ndarray) -> Overlap:
    # Not the keys of the cells: a style may publish one representative for intervals that differ.
    keys = cells.keys if isinstance(cells, SetCells) else _joined(_ends(cells))
    _, first, of_class = np.unique(keys, return_index=True, return_inverse=True)
    distinct = cells.take(first)
    shares = _shares(distinct)
    rows = int(sizes[shares[of_class]].sum())
    return Overlap(
        column=cells.column.name,
        cells=first.size,
        overlapping=int(shares.sum()),
        rows=rows,
        share=rows / max(int(sizes.sum()), 1),
        example=_example(distinct, shares),
    )


def _joined(ends: np.ndarray) -> np.ndarray:
    """One number a pair of ends, both below 2**31."""
    return (ends[0] << 32) | ends[1]


def _ends(cells: CellColumn) -> np.ndarray:
    """First and last place of each cell on its column's axis, shape (2, cells); a missing value lies behind all."""
    if isinstance(cells, TreeCells):
        tree = cells.column.hierarchy
        assert tree is not None
        first = tree.node_first[cells.nodes]
        return np.stack([first, first + tree.node_leaves[cells.nodes] - 1]).astype(np.int64)
    assert isinstance(cells, IntervalCells)
    ends = np.stack([cells.low, cells.high]).astype(np.int64)
    if cells.column.numbers is not None and cells.column.numbers.size:
        # Places among all ends that occur: exact for numbers of every type.
        ends = np.unique(np.stack(cells.bounds), return_inverse=True)[1].reshape(2, -1)
    behind = int(ends.max(initial=0)) + 1
    ends = np.where(cells.missing, behind, ends)
    return np.where(cells.star, np.array([[0], [behind]]), ends)


def _shares(cells: CellColumn) -> np.ndarray:
    """Which of some distinct cells share a value with another."""
    if isinstance(cells, SetCells):
        held = np.bincount(cells.codes, minlength=cells.column.card) + int(cells.full.sum())
        return cells.having(held > 1)
    low, high = _ends(cells)
    # Every cell overlaps all but those that end before it or begin behind it.
    before = np.searchsorted(np.sort(high), low, side="left")
    after = low.size - np.searchsorted(np.sort(low), high, side="right")
    return before + after < low.size - 1


def _example(cells: CellColumn, shares: np.ndarray) -> tuple[str, ...]:
    """The first cell that overlaps another, and the first that it overlaps."""
    if not shares.any():
        return ()
    one = int(np.argmax(shares))
    if isinstance(cells, SetCells):
        flags = np.zeros(cells.column.card, dtype=bool)
        flags[cells.members(one)] = True
        meets = cells.having(flags)
    else:
        low, high = _ends(cells)
        meets = (low <= high[one]) & (high >= low[one])
    meets[one] = False
    return tuple(cells.take(np.array([one, int(np.argmax(meets))])).texts())
