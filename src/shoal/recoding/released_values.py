"""Make all that is published follow from released rows, the recipe and public files.

A search sees every row, and its dictionaries hold the values of all of them. Which rows are suppressed is known only
afterwards. Types, whole numbers, grids, members of sets, ends of intervals and labels are therefore found again here,
from the values of the rows that are left. All that describes or publishes a release goes by these dictionaries.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import polars as pl

from shoal.data.classes import Cells, Grouped, Nodes, RowIds, Together
from shoal.data.coding import as_integers, infer_type
from shoal.data.column import TREE, Column
from shoal.data.dictionary import number_texts
from shoal.data.domain import Domain, classes_of
from shoal.data.stats import counted_by_rows
from shoal.errors import InputError
from shoal.kernels.grouping import group_ranges, group_rows
from shoal.recoding.cells import CellColumn, IntervalCells, SetCells, TreeCells
from shoal.recoding.recoded import Released
from shoal.recoding.recodings import Blocks, CellGrouping, Grouping, Starred
from shoal.recoding.rewriting import ByRow


def from_released_values(released: Released) -> Released:
    """Find dictionaries, cells and labels of a release anew from the rows that it releases.

    Classes whose cells become equal are merged, so that models have to be judged again.

    Raises
    ------
    InputError
        Where the type of a column follows from rows that are suppressed, and nobody declares it.
    """
    if not released.n_suppressed or not released.n_classes:
        return released
    counts = _counts(released)
    shown = {name: _shown(released, column, counts) for name, column in released.domain.columns.items()}
    cells = {name: _cells(released, mine, shown[name], counts) for name, mine in released.cells.items()}
    made = replace(_relabelled(released, shown), shown=shown, cells=cells)
    # Groups of a bucketised release have the cells of one member, and stay apart.
    return _merged(made) if cells and released.made.generalises else made


def _counts(released: Released) -> dict[tuple[str, bool], np.ndarray]:
    """Released rows that have each code of a column, and released people, by column and whether people are counted."""
    wanted = [counted_by_rows(column) for column in released.domain.columns.values()]
    if released.domain.by_people:
        wanted += [replace(one, people=True) for one in wanted if one.column is not None and one.column.crowd > 1]
    found = released.rows.stats(Together(released.classmap), wanted).histograms
    return {
        (one.names[0], one.people): np.bincount(found[one.key].codes, found[one.key].counts, minlength=one.card).astype(
            np.int64
        )
        for one in wanted
    }


def _shown(released: Released, column: Column, counts: Mapping[tuple[str, bool], np.ndarray]) -> Column:
    """The dictionary of a column as its released values make it.

    Columns of intervals are coded anew. Others keep their codes, since nothing published depends on these.
    """
    rows = counts[column.name, False]
    people = None if column.people is None else counts.get((column.name, True), rows)
    _refuse_type(released.domain, column, rows > 0)
    made = replace(column, frequencies=rows, people=people)
    named = column.policy is not None and "nodes" in (column.policy.plain or ())
    if made.hierarchy is not None and made.kind == TREE:
        return made if named else replace(made, hierarchy=made.hierarchy.labelled_for(rows > 0))
    if column.numbers is None:
        return made
    known = column.numbers.size
    kept = np.flatnonzero(rows[:known] > 0)
    numbers, missing = column.numbers[kept], column.missing >= 0 and rows[column.missing] > 0
    if released.domain.types.get(column.name) == pl.String:
        numbers = as_integers(numbers)
    codes = np.append(kept, column.missing) if missing else kept
    texts = number_texts(column.type, numbers)
    return replace(
        made,
        numbers=numbers,
        texts=pl.concat([texts, column.texts[column.missing :][:1]]) if missing else texts,
        missing=numbers.size if missing else -1,
        frequencies=rows[codes],
        people=None if people is None else people[codes],
    )


def _refuse_type(domain: Domain, column: Column, there: np.ndarray) -> None:
    """Refuse a type that follows from suppressed rows: the spelling and the order of values depend on it."""
    if not domain.is_inferred(column):
        return
    values = column.values.filter(pl.Series(there)).drop_nulls()
    found = infer_type(column.name, values, column.spec)
    if domain.number_form is not None and values.len() and values.str.contains(domain.number_form).all():
        found = "numeric"
    if found != column.type:
        raise InputError(
            f"Column '{column.name}' is read as {column.type} only because of rows that are suppressed: declare its "
            f"type, such as '{found}', and mend cells that are none or list them in missing_markers."
        )


def _cells(
    released: Released, cells: CellColumn, shown: Column, counts: Mapping[tuple[str, bool], np.ndarray]
) -> CellColumn:
    """The cells of a column, of released values alone."""
    recoding = released.recoding
    by_extent = isinstance(recoding, Grouping | CellGrouping | Blocks) and not isinstance(recoding, Starred)
    if isinstance(cells, TreeCells):
        return replace(cells, column=replace(cells.column, hierarchy=shown.hierarchy)).with_root()
    if isinstance(cells, IntervalCells):
        if isinstance(recoding, Blocks):
            of_class, ids, codes = _members(released, cells)
            low, high = group_ranges(codes, ids, int(of_class.max(initial=-1)) + 1)
            cells = IntervalCells.of(cells.column, low, high).take(of_class)
        return replace(cells, shown=shown)
    assert isinstance(cells, SetCells)
    left = np.flatnonzero(counts[shown.name, False])
    if left.size == 1:
        return SetCells.only(cells.column, left[0], cells.full.size)
    if not by_extent:
        return cells
    of_class, ids, codes = _members(released, cells)
    return SetCells.of(cells.column, codes, ids, int(of_class.max(initial=-1)) + 1, left.size).take(of_class)


def _members(released: Released, cells: CellColumn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The group of each class, and pairs of a group and a code that a released row of it has.

    Classes are groups of their own, or those that the same block of values is published in.
    """
    one = counted_by_rows(cells.column)
    found = released.rows.stats(released.classmap, [one]).histograms[one.key]
    classes = np.repeat(np.arange(released.n_classes, dtype=np.int32), np.diff(found.indptr))
    blocks = isinstance(released.recoding, Blocks)
    of_class = cells.keys if blocks else np.arange(released.n_classes, dtype=np.int32)
    return of_class, of_class[classes].astype(np.int32), found.codes.astype(np.int32)


def _relabelled(released: Released, shown: Mapping[str, Column]) -> Released:
    """The release with the labels that stand for sensitive values, where a method publishes these."""
    rewriting = dict(released.rewriting)
    for name in released.recoding.lifted:
        before, after = released.domain.columns[name].hierarchy, shown[name].hierarchy
        assert before is not None
        assert after is not None
        names = dict(zip(before.node_labels, after.node_labels, strict=True))
        if isinstance(one := rewriting.get(name), ByRow):
            rewriting[name] = ByRow({name: one.columns[name].replace(names)})
    return replace(released, rewriting=rewriting)


def _merged(released: Released) -> Released:
    """The release with classes of equal cells as one."""
    keys = np.stack([cells.keys for cells in released.cells.values()])
    of_class, first, _ = group_rows(keys, keys.max(axis=1, initial=0) + 1)
    if first.size == released.n_classes:
        return released
    cells = {name: mine.merge(of_class, first) for name, mine in released.cells.items()}
    # Items of each class keep their nodes: so many records of one of the merged classes share them, if not more.
    shared = {key: _fewest(figures, of_class, first.size) for key, figures in released.shared.items()}
    classmap = _joined(released, of_class.astype(np.int32), first.size)
    return replace(released, classmap=classmap, cells=cells, shared=shared)


def _fewest(figures: np.ndarray, of_class: np.ndarray, groups: int) -> np.ndarray:
    """The smallest figure of the classes that become one, nan where none has any."""
    found = np.full(groups, np.nan)
    np.fmin.at(found, of_class, figures)
    return found


def _joined(released: Released, of_class: np.ndarray, groups: int) -> Grouped:
    """Which of the merged classes a row is in."""
    classes, number = released.classmap, np.append(of_class, np.int32(-1))
    if isinstance(classes, RowIds):
        return RowIds(number[classes.ids], groups)
    if isinstance(classes, Nodes):
        codes = released.rows.frequency([]).codes
        return Cells(number[classes_of(classes, codes, released.domain.schema.quasi)], groups)
    return Cells(number[classes.of], groups, classes.gone)
