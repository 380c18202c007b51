"""Applying a recoding: classes of equal cells, and what models and measures need to know about them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import polars as pl

from shoal.data.classes import Cells, Grouped, Nodes, RowIds, Together
from shoal.data.column import FLAT, TREE, Column
from shoal.data.domain import Domain, Joint, classes_of
from shoal.data.rows import ArrayRows, Rows, TableBatch, in_memory, with_codes
from shoal.data.stats import Attribute, GroupStats, Histogram, attribute, counted_by_rows
from shoal.data.table import Table
from shoal.errors import ParameterError
from shoal.kernels.grouping import group_ranges, group_rows
from shoal.recoding.cells import CellColumn, IntervalCells, SetCells, TreeCells
from shoal.recoding.kinds import GENERALISED, Kind, called
from shoal.recoding.lattice import block_cells, checked_level, checked_nodes, level_cells, node_cells, nodes_at
from shoal.recoding.randomised import Randomised, describe_randomised
from shoal.recoding.recodings import Blocks, CellGrouping, FullDomain, Grouping, Recoding, Redrawn, Starred, Subtree
from shoal.recoding.rewriting import ByRow, Rewriting, of_classes, rewritten


@dataclass(frozen=True, eq=False, kw_only=True)
class Released:
    """A coded release: every row's class, and every class's cells.

    Attributes
    ----------
    rows
        The input, as its engine holds it.
    classmap
        Which class a row is in; a suppressed one is in none. Groups with equal cells are one class.
    cells
        Quasi-identifier to its cells, one a class; none where centroids are published, which cover nothing.
    levels
        Level a column of a full-domain recoding, None for others.
    groups
        Groups the algorithm made, before equal cells were merged.
    k
        Smallest class the models allow; the unit of average class size.
    made
        How quasi-identifiers are published.
    rewriting
        Column to who tells what is published of it instead of its cells or values.
    coded
        Column to the name of its coding (:mod:`shoal.recoding.kinds`).
    recoding
        What the algorithm handed over.
    across
        Attributes of which enough values remain possible over all classes of a person's rows where these agree.
    shown
        Dictionaries of the released rows, by which they are described and published; empty where all are released.
    shared, items
        Of columns of items: the fewest records of each class that share so many of them, and what became of them.
    """

    rows: Rows
    classmap: Grouped
    cells: Mapping[str, CellColumn]
    levels: Mapping[str, int] | None
    groups: int
    k: int = 1
    made: Kind = GENERALISED
    rewriting: Mapping[str, Rewriting] = field(default_factory=dict)
    coded: Mapping[str, str] = field(default_factory=dict)
    recoding: Recoding = field(default_factory=Recoding)
    across: Sequence[tuple[str, ...]] = ()
    shown: Mapping[str, Column] = field(default_factory=dict)
    shared: Mapping[tuple[str, int], np.ndarray] = field(default_factory=dict)
    items: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    @property
    def domain(self) -> Domain:
        """Roles, dictionaries and counts of the input."""
        return self.rows.domain

    @property
    def public_domain(self) -> Domain:
        """What the released rows tell by themselves: all that is published beside them follows from it."""
        return replace(self.domain, columns={**self.domain.columns, **self.shown}) if self.shown else self.domain

    @property
    def table(self) -> Table:
        """The input, where it is in memory."""
        return in_memory(self.rows).table

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.classmap.groups

    @cached_property
    def classes(self) -> np.ndarray:
        """int32 class of each input row, -1 for a suppressed one, where rows are in memory."""
        return in_memory(self.rows).ids(self.classmap)

    @cached_property
    def written(self) -> Mapping[str, pl.Series]:
        """What is published instead of cells or values, by column, one entry a row, where rows are in memory."""
        return rewritten(self.rewriting, TableBatch(self.table), self.classes)

    @property
    def changed(self) -> set[str]:
        """Columns of which something else than their cells or values is published."""
        return set(self.rewriting)

    @property
    def kind(self) -> Kind:
        """What the release is called, which may be another kind than the one it was made as."""
        return called(self.made, self.coded.values())

    @cached_property
    def channel(self) -> Randomised | None:
        """What redrew the quasi-identifiers, None where nothing did."""
        return describe_randomised(self.table, self.recoding) if isinstance(self.recoding, Redrawn) else None

    @cached_property
    def sizes(self) -> np.ndarray:
        """Rows of each class."""
        return self.rows.stats(self.classmap, []).rows

    @cached_property
    def spreads(self) -> np.ndarray:
        """Mean Q-diversity of each class's cells, every quasi-identifier counting the same."""
        if not self.cells:
            raise ParameterError("Centroids have no extent: leave out the model that limits it.")
        return np.mean([column.spread() for column in self.cells.values()], axis=0)

    @cached_property
    def sensitive_stats(self) -> GroupStats:
        """Counts of every sensitive attribute in every class."""
        attributes = [attribute(self.domain, [name]) for name in self.domain.schema.sensitive]
        return self.rows.stats(self.classmap, attributes)

    @cached_property
    def sensitive_left(self) -> Mapping[str, np.ndarray]:
        """Codes of every sensitive attribute that some class has, ascending."""
        found = {}
        for name in self.domain.schema.sensitive:
            one, histogram = self.price_stats().counts(name)
            there = np.zeros(one.card, dtype=bool)
            for run in histogram.runs():
                there[run.codes] = True
            found[name] = np.flatnonzero(there)
        return found

    def forget(self) -> None:
        """Leave what was counted of sensitive values, but for which of them are left."""
        _ = self.sensitive_left
        self.__dict__.pop("sensitive_stats", None)

    @property
    def n_suppressed(self) -> int:
        """Rows in no class."""
        return self.domain.n - int(self.sizes.sum())

    @property
    def counterfeits(self) -> int:
        """Number of the last rows, which the method made up; only methods for rows in memory do so."""
        return self.rows.table.counterfeits if isinstance(self.rows, ArrayRows) else 0

    @property
    def n_counterfeit(self) -> int:
        """Released rows that the method made up."""
        if not self.counterfeits:
            return 0
        return int((self.classes[self.table.n - self.counterfeits :] >= 0).sum())

    def suppress(self, bad: np.ndarray) -> Released:
        """The same release without the flagged classes."""
        if not bad.any():
            return self
        kept = np.flatnonzero(~bad)
        cells = {name: column.take(kept) for name, column in self.cells.items()}
        rewriting = of_classes(self.rewriting, kept)
        shared = {key: figures[kept] for key, figures in self.shared.items()}
        return replace(self, classmap=self.classmap.keep(~bad), cells=cells, rewriting=rewriting, shared=shared)

    def without(self, rows: np.ndarray) -> Released:
        """The same release without some rows, given by ascending numbers.

        Groups are generalised to the extent of the members that are left, and are gone where nobody is.
        """
        classes = self.classmap
        if isinstance(classes, Nodes):
            codes = self.rows.frequency([]).codes
            classes = Cells(classes_of(classes, codes, self.domain.schema.quasi), classes.groups)
        left = replace(self, classmap=classes.without(rows))
        left = left.suppress(left.sizes == 0)
        if type(self.recoding) is not Grouping or not isinstance(left.classmap, RowIds):
            return left
        shrunk = _grouped(left.rows, Grouping(ids=left.classmap.ids, groups=left.n_classes))
        return replace(left, classmap=shrunk.classmap, cells=shrunk.cells)

    def price_stats(self) -> PriceStats:
        """What measures see."""
        return PriceStats(self)


class PriceStats:
    """Sizes, cells and label counts of a release's classes: all that a measure may use."""

    def __init__(self, released: Released) -> None:
        self._released = released
        self.kind = released.made  # how quasi-identifiers are published
        self.domain = released.domain
        self.n = self.domain.n
        self.sizes = released.sizes
        self.n_suppressed = released.n_suppressed
        self.n_released = self.n - self.n_suppressed
        self.cells: Sequence[CellColumn] = list(released.cells.values())
        self.weights = self.domain.quasi_weights
        self.levels = released.levels
        self.k = released.k
        self.sensitive = list(self.domain.schema.sensitive)

    @property
    def channel(self) -> Randomised | None:
        """What redrew the quasi-identifiers, None where nothing did."""
        return self._released.channel

    @property
    def spreads(self) -> np.ndarray:
        """Mean Q-diversity of each class's cells."""
        return self._released.spreads

    def joined(self, names: tuple[str, ...]) -> Joint:
        """What values a tuple of columns has in the input, and how often."""
        return self._released.rows.joined(names)

    def counts(self, name: str) -> tuple[Attribute, Histogram]:
        """A sensitive attribute, and how often each of its values occurs in each class."""
        one = attribute(self.domain, [name])
        return one, self._released.sensitive_stats.histograms[one.key]

    def values_in(self, place: int) -> Histogram:
        """How often each value of a quasi-identifier occurs in each class."""
        column = self.domain.quasi[place]
        one = counted_by_rows(column)
        return self._released.rows.stats(self._released.classmap, [one]).histograms[one.key]

    def majority(self, name: str) -> np.ndarray:
        """Rows of each class that carry its commonest value of a sensitive attribute."""
        if name not in self.sensitive:
            raise ParameterError(f"'{name}' is not a sensitive attribute of the table: choose another target.")
        one = attribute(self.domain, [name], people=False)
        found = self._released.rows.stats(self._released.classmap, [one]).histograms[one.key]
        return np.concatenate([run.largest() for run in found.runs()])

    def surprise(self, place: int, *, suppressed: bool = False) -> float:
        """Sum over all rows (or those in no class) of minus log2 of the share of the table that has their value."""
        column = self.domain.quasi[place]
        rows = column.frequencies
        if suppressed:
            one = counted_by_rows(column)
            kept = self._released.rows.stats(Together(self._released.classmap), [one]).histograms[one.key]
            rows = rows - np.bincount(kept.codes, kept.counts, minlength=column.card)
        shares = column.frequencies / max(self.n, 1)
        return float(-np.log2(np.where(shares > 0, shares, 1.0)) @ rows)


def apply_recoding(rows: Rows, recoding: Recoding) -> Released:
    """Recode every record and number the classes, as the kind of the recoding does."""
    made: Released = recoding.kind.part("classes")(rows, recoding)
    return replace(made, made=recoding.kind, recoding=recoding)


def generalised(rows: Rows, recoding: Grouping | CellGrouping | FullDomain | Subtree | Blocks) -> Released:
    """Generalise every record; classes are what has equal cells."""
    if isinstance(recoding, Grouping | CellGrouping):
        return _grouped(rows, recoding)
    columns = rows.domain.quasi
    if isinstance(recoding, Blocks):
        made = [block_cells(column, recoding.blocks.get(column.name)) for column in columns]
        found = _by_nodes(rows, {column.name: of for column, (_, of) in zip(columns, made, strict=True)})
        pairs = zip(made, found.keys, strict=True)
        return _released(rows, found, [cells.take(mine) for (cells, _), mine in pairs], None)
    if isinstance(recoding, Subtree):
        found = _by_nodes(rows, {column.name: checked_nodes(column, recoding) for column in columns})
        trees = [node_cells(column, nodes) for column, nodes in zip(columns, found.keys, strict=True)]
        lifted = {name: _labels(rows.domain, name, nodes) for name, nodes in recoding.sensitive.items()}
        released = _released(rows, found, trees, None)
        return replace(released, rewriting={name: ByRow({name: labels}) for name, labels in lifted.items()})
    levels = {column.name: checked_level(column, recoding) for column in columns}
    found = _by_nodes(rows, {column.name: nodes_at(column, levels[column.name]) for column in columns})
    leaves = [_leaf_below(found.nodes[column.name], nodes) for column, nodes in zip(columns, found.keys, strict=True)]
    cells = [level_cells(column, mine, levels[column.name]) for column, mine in zip(columns, leaves, strict=True)]
    return _released(rows, found, cells, levels)


def _by_nodes(rows: Rows, nodes: Mapping[str, np.ndarray]) -> Nodes:
    """Classes of equal nodes, in the order in which the frequency table has them first."""
    cells = rows.frequency([]).codes
    codes = np.stack([nodes[name][mine] for name, mine in zip(rows.domain.schema.quasi, cells, strict=True)])
    codes = codes.astype(np.int32)
    _, first, _ = group_rows(codes, codes.max(axis=1, initial=0) + 1)
    return Nodes(nodes, codes[:, first])


def _leaf_below(nodes: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """A leaf code below each of some nodes."""
    leaf = np.zeros(int(nodes.max(initial=0)) + 1, dtype=np.int32)
    leaf[nodes] = np.arange(nodes.size, dtype=np.int32)
    return leaf[wanted]


def _released(rows: Rows, classes: Grouped, cells: Sequence[CellColumn], levels: Mapping[str, int] | None) -> Released:
    named = {column.column.name: column for column in cells}
    return Released(rows=rows, classmap=classes, cells=named, levels=levels, groups=classes.groups)


def _labels(domain: Domain, name: str, nodes: np.ndarray) -> pl.Series:
    """Labels of a sensitive column's nodes, missing ones null."""
    column = domain.columns[name]
    tree = column.hierarchy
    if tree is None or column.kind != TREE:
        raise ParameterError(f"The sensitive column '{name}' has no hierarchy, so its values have no nodes above them.")
    labels = pl.Series(tree.node_labels, dtype=pl.String).gather(nodes).alias(name)
    return labels if column.missing < 0 else labels.set(pl.Series(nodes == column.missing), None)


def _grouped(rows: Rows, recoding: Grouping | CellGrouping) -> Released:
    """Groups by the extent of their members; those with equal cells are one class."""
    members, groups = member_codes(rows, recoding), recoding.groups
    cells = [
        _starred_cells(column, members(column.name), recoding)
        if isinstance(recoding, Starred)
        else extent_cells(column, members(column.name), recoding)
        for column in rows.domain.quasi
    ]
    keys = np.stack([column.keys for column in cells]) if groups else np.zeros((len(cells), 0), dtype=np.int32)
    class_of, first, _ = group_rows(keys, keys.max(axis=1, initial=0) + 1)
    merged = replace(recoding, ids=np.append(class_of, -1).astype(np.int32)[recoding.ids], groups=first.size)
    made = _released(rows, merged.classmap, [column.merge(class_of, first) for column in cells], None)
    return replace(made, groups=groups)


def member_codes(rows: Rows, recoding: Grouping | CellGrouping) -> Callable[[str], np.ndarray]:
    """Quasi-identifier to the codes of what is in groups: rows, or cells of the frequency table."""
    if isinstance(recoding, Grouping):
        return with_codes(rows).codes_of
    return dict(zip(rows.domain.schema.quasi, rows.frequency([]).codes, strict=True)).__getitem__


def extent_cells(column: Column, codes: np.ndarray, grouping: Grouping | CellGrouping) -> CellColumn:
    """The cells of groups, each of the extent of its members."""
    if column.kind == FLAT:
        return SetCells.of(column, codes, grouping.ids, grouping.groups)
    low, high = group_ranges(codes, grouping.ids, grouping.groups)
    return TreeCells.of(column, low, high) if column.kind == TREE else IntervalCells.of(column, low, high)


def _starred_cells(column: Column, codes: np.ndarray, recoding: Starred) -> CellColumn:
    """The cells of groups whose members agree on a value or on its node, and of those that suppress it."""
    star, level = recoding.stars[column.name], checked_level(column, recoding)
    kept = np.flatnonzero(recoding.ids >= 0)
    mine = np.zeros(recoding.groups, dtype=np.int32)
    mine[recoding.ids[kept]] = codes[kept]
    nodes = nodes_at(column, level)
    if (~star[recoding.ids[kept]] & (nodes[codes[kept]] != nodes[mine[recoding.ids[kept]]])).any():
        raise ParameterError(f"Records of a group differ in '{column.name}', which it does not suppress.")
    cells = level_cells(column, mine, level)
    if isinstance(cells, TreeCells) and column.hierarchy is not None:
        top = column.hierarchy.height
        root = column.hierarchy.node_id(top, mine)
        return replace(cells, nodes=np.where(star, root, cells.nodes), level=np.where(star, top, cells.level))
    if isinstance(cells, SetCells):
        return cells.widened(star)
    return replace(cells, star=star | cells.star)  # type: ignore[call-arg,attr-defined]
