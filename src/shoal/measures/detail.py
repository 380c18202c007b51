"""Detail that a column keeps: at a level of its hierarchy, and in the cells of a local recoding."""

from __future__ import annotations

import numpy as np

from shoal.data.column import Column
from shoal.measures.scale import is_numeric, level_groups, spans
from shoal.recoding.cells import CellColumn, IntervalCells, TreeCells
from shoal.recoding.recoded import PriceStats


def detail_shares(column: Column) -> np.ndarray:
    """Detail that each level keeps, from 1 as it is to 0 where everything is one group.

    Numbers and dates: records over the sum over groups of records times values spanned. Others: labels of the level
    over labels of level 0. Both count what the hierarchy has, so that a value nobody holds still widens a group.
    """
    groups = level_groups(column)
    shares = np.ones(len(groups))
    for level, mine in enumerate(groups[1:], 1):
        labels = int(mine.max(initial=0)) + 1
        if labels == 1:
            shares[level] = 0.0
        elif is_numeric(column):
            records = np.bincount(mine, weights=column.frequencies)
            shares[level] = column.frequencies.sum() / float((records * spans(column, mine)).sum())
        else:
            shares[level] = labels / column.card
    return shares


def local_detail(stats: PriceStats, place: int) -> float:
    """Detail that the cells of a column keep, whatever levels they are on; on one level for all, that level's.

    Numbers and dates: records over the sum of the values that their cells span. Others: a value is worth one over the
    values that its cell covers, on average over its records, which adds up to the number of labels; mean over values.
    """
    cells = stats.cells[place]
    whole = _is_everything(cells)
    if whole.all():
        return 0.0
    if is_numeric(cells.column):
        return float(stats.sizes.sum() / (stats.sizes @ cell_spans(cells)))
    worth = np.where(whole, 0.0, 1.0 / np.maximum(cells.covered(), 1.0))
    records, kept, at = np.zeros(cells.column.card), np.zeros(cells.column.card), 0
    for run in stats.values_in(place).runs():
        of = np.repeat(np.arange(at, at + run.known.size), np.diff(run.indptr))
        np.add.at(records, run.codes, run.counts)
        np.add.at(kept, run.codes, run.counts * worth[of])
        at += run.known.size
    there = records > 0
    return float((kept[there] / records[there]).mean())


def cell_spans(cells: CellColumn) -> np.ndarray:
    """Number of values that each cell of a column of numbers or dates reaches over, both ends included."""
    column = cells.column
    if isinstance(cells, TreeCells):
        tree = column.hierarchy
        assert tree is not None
        by_node = np.concatenate([spans(column, level) for level in tree.ancestors])
        return np.asarray(by_node[cells.nodes], dtype=np.float64)
    assert isinstance(cells, IntervalCells)
    if column.whole and column.numbers is not None and column.numbers.size:
        low, high = (np.asarray(ends, dtype=np.float64) for ends in cells.bounds)
        wide = high - low + 1.0
    else:
        wide = (cells.high - cells.low + 1).astype(np.float64)
    return np.where(cells.star, float(column.domain_size), np.where(cells.missing, 1.0, wide))


def _is_everything(cells: CellColumn) -> np.ndarray:
    """Which cells say nothing of a column that has more than one value."""
    if isinstance(cells, IntervalCells):
        return cells.star | (cells.spread() >= 1.0)
    return np.asarray((cells.covered() >= cells.column.card) & (cells.column.card > 1))
