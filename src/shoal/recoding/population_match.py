"""Whom the cells of each class could be: people of a population, or rows of the release where ``*`` is any value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from shoal.data.hierarchy import ROOT
from shoal.data.population import Population
from shoal.data.stats import GroupStats
from shoal.kernels.wildcards import count_matches
from shoal.recoding.cells import CellColumn, IntervalCells, SetCells, TreeCells

# Pairs of a class and a combination that are looked at in one go.
_PAIRS = 1 << 22


def with_population(
    stats: GroupStats, cells: Sequence[CellColumn], population: Population, *, presence: bool
) -> GroupStats:
    """Statistics of classes with the people who match them, and, where a model asks, how likely those are present."""
    stats = replace(stats, population=matching_people(cells, stats.sizes.size, population))
    return replace(stats, presence=most_present(stats, cells, population)) if presence else stats


def matching_people(cells: Sequence[CellColumn], classes: int, population: Population) -> np.ndarray:
    """People of the population whose values all cells of each class cover, int64.

    A person may match several classes whose cells overlap. Cost: classes times distinct combinations.
    """
    found = np.zeros(classes, dtype=np.int64)
    for here, meets in _meetings(cells, classes, population):
        found[here] = meets @ population.counts
    return found


def most_present(stats: GroupStats, cells: Sequence[CellColumn], population: Population) -> np.ndarray:
    """Of the people who match each class, the largest sum of the shares of all classes that they match."""
    classes, odds = stats.sizes.size, np.zeros(population.counts.size)
    with np.errstate(divide="ignore"):
        found = stats.sizes / np.asarray(stats.population, dtype=np.float64)
    shares = np.where(np.isfinite(found), found, 0.0)  # nobody is in a class that nobody matches
    for here, meets in _meetings(cells, classes, population):
        odds += shares[here] @ meets
    for here, meets in _meetings(cells, classes, population):
        found[here] = np.maximum(found[here], np.max(meets * odds, axis=1, initial=0.0))
    return found


def with_anybody(stats: GroupStats, cells: Sequence[CellColumn], hidden: np.ndarray | None = None) -> GroupStats:
    """Statistics of classes with the rows that each could be, where ``*`` counts as any value.

    Parameters
    ----------
    hidden
        Classes that are no rows to a reader, so that nobody could be one of them.
    """
    if not stats.rows.size:
        return replace(stats, anybody=stats.rows)
    rows = stats.rows if hidden is None else np.where(hidden, 0, stats.rows)
    keys = np.stack([np.where(_everything(column), -1, column.keys) for column in cells], axis=1)
    return replace(stats, anybody=count_matches(keys.astype(np.int32), rows.astype(np.int64)))


def _everything(cells: CellColumn) -> np.ndarray:
    """Which cells are ``*``, or whatever the root of a hierarchy is called."""
    if isinstance(cells, IntervalCells):
        return cells.star
    tree = cells.column.hierarchy if isinstance(cells, TreeCells) else None
    # Another node may have all leaves below it, and yet not what the table does not know, such as missing values.
    return (cells.texts() == (ROOT if tree is None else tree.labels[-1][0])).to_numpy()


def _meetings(cells: Sequence[CellColumn], classes: int, population: Population) -> Iterator[tuple[slice, np.ndarray]]:
    """Some classes at a time, and which combinations match each of them."""
    covers = [_cover(column, population) for column in cells]
    step = max(1, _PAIRS // max(population.counts.size, 1))
    for start in range(0, classes, step):
        here = slice(start, min(start + step, classes))
        meets = np.ones((here.stop - start, population.counts.size), dtype=bool)
        for of_class, of_person, covered in covers:
            meets &= covered[of_class[here]][:, of_person]
        yield here, meets


def _cover(column: CellColumn, population: Population) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The cell of each class, the value of each combination, and which cells cover which values."""
    _, first, of_class = np.unique(column.keys, return_index=True, return_inverse=True)
    mine, name = column.take(first), column.column.name
    codes = population.codes[name]
    if isinstance(mine, IntervalCells) and name in population.numbers:
        values, of_person = np.unique(population.numbers[name], return_inverse=True)
        low, high = mine.bounds
        covered = (low[:, None] <= values) & (values <= high[:, None])  # nan, which is missing, is in no interval
        covered = np.where(mine.missing[:, None], np.isnan(values), covered) | mine.star[:, None]
        return of_class, of_person, covered
    values, of_person = np.unique(codes, return_inverse=True)
    if isinstance(mine, IntervalCells):
        covered = (mine.low[:, None] <= values) & (values <= mine.high[:, None]) | mine.star[:, None]
    elif isinstance(mine, TreeCells):
        covered = _under(mine, values)
    else:
        covered = _among(mine, values)
    return of_class, of_person, covered


def _under(cells: TreeCells, values: np.ndarray) -> np.ndarray:
    """Values under each node; the root covers what the table does not know, too."""
    tree = cells.column.hierarchy
    assert tree is not None
    first, many = tree.node_first[cells.nodes][:, None], tree.node_leaves[cells.nodes][:, None]
    return ((first <= values) & (values < first + many)) | _everything(cells)[:, None]


def _among(cells: CellColumn, values: np.ndarray) -> np.ndarray:
    """Values of each set; that of all values covers what the table does not know, too."""
    assert isinstance(cells, SetCells)
    return cells.holding(values) | (cells.full & (cells.column.card > 1))[:, None]
