"""Applying a recoding: classes of equal cells, and what models and measures need to know about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import polars as pl

from shoal.errors import ParameterError
from shoal.kernels.count.extents import group_bits, group_ranges, group_sums
from shoal.kernels.count.grouping import group_rows
from shoal.kinds.base import Kind
from shoal.kinds.codings import called
from shoal.kinds.generalised import GENERALISED
from shoal.recoding.column_cells import CellColumn, IntervalCells, SetCells, TreeCells, all_bits, one_bit
from shoal.recoding.randomised import Randomised, describe_randomised
from shoal.recoding.recodings import FullDomain, Grouping, Recoding, Redrawn, Subtree
from shoal.table.column import FLAT, TREE, Column
from shoal.table.counting import count_groups
from shoal.table.domain import Joint
from shoal.table.stats import Attribute, GroupStats, Histogram, attribute
from shoal.table.table import Table


@dataclass(frozen=True, eq=False, kw_only=True)
class Released:
    """A coded release: every row's class, and every class's cells.

    Attributes
    ----------
    classes
        int32 class of each input row, -1 for a suppressed one. Groups with equal cells are one class.
    n_classes
        Number of classes.
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
    written
        Column to what is published instead of its cells or values, one entry a row.
    coded
        Column to the name of its coding (:mod:`shoal.kinds.codings`).
    recoding
        What the algorithm handed over.
    """

    table: Table
    classes: np.ndarray
    n_classes: int
    cells: Mapping[str, CellColumn]
    levels: Mapping[str, int] | None
    groups: int
    k: int = 1
    made: Kind = GENERALISED
    written: Mapping[str, pl.Series] = field(default_factory=dict)
    coded: Mapping[str, str] = field(default_factory=dict)
    recoding: Recoding = field(default_factory=Recoding)

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
        return np.bincount(self.classes[self.classes >= 0], minlength=self.n_classes)

    @cached_property
    def spreads(self) -> np.ndarray:
        """Mean Q-diversity of each class's cells, every quasi-identifier counting the same."""
        if not self.cells:
            raise ParameterError("Centroids have no extent: leave out the model that limits it.")
        return np.mean([column.spread() for column in self.cells.values()], axis=0)

    @cached_property
    def sensitive_stats(self) -> GroupStats:
        """Counts of every sensitive attribute in every class."""
        attributes = [attribute(self.table.domain, [name]) for name in self.table.schema.sensitive]
        return count_groups(self.table, self.classes, self.n_classes, attributes)

    @property
    def n_suppressed(self) -> int:
        """Rows in no class."""
        return int((self.classes < 0).sum())

    def suppress(self, bad: np.ndarray) -> Released:
        """The same release without the flagged classes."""
        if not bad.any():
            return self
        number = np.where(bad, -1, np.cumsum(~bad) - 1).astype(np.int32)
        classes = np.where(self.classes >= 0, number[self.classes], -1).astype(np.int32)
        kept = np.flatnonzero(~bad)
        cells = {name: column.take(kept) for name, column in self.cells.items()}
        return replace(self, classes=classes, n_classes=kept.size, cells=cells)

    def price_stats(self) -> PriceStats:
        """What measures see."""
        return PriceStats(self)


class PriceStats:
    """Sizes, cells and label counts of a release's classes: all that a measure may use."""

    def __init__(self, released: Released) -> None:
        self._released = released
        self.n = released.table.n
        self.sizes = released.sizes
        self.n_suppressed = released.n_suppressed
        self.n_released = self.n - self.n_suppressed
        self.cells: Sequence[CellColumn] = list(released.cells.values())
        self.weights = released.table.domain.quasi_weights
        self.levels = released.levels
        self.k = released.k
        self.domain = released.table.domain
        self.sensitive = list(self.domain.schema.sensitive)

    @property
    def kind(self) -> Kind:
        """How quasi-identifiers are published."""
        return self._released.made

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
        return self._released.table.joined(names)

    def counts(self, name: str) -> tuple[Attribute, Histogram]:
        """A sensitive attribute, and how often each of its values occurs in each class."""
        one = attribute(self._released.table.domain, [name])
        return one, self._released.sensitive_stats.histograms[one.key]

    def majority(self, name: str) -> np.ndarray:
        """Rows of each class that carry its commonest value of a sensitive attribute."""
        table = self._released.table
        if name not in table.schema.sensitive:
            raise ParameterError(
                f"'{name}' is not a sensitive attribute of the table: choose another target."
            )
        column = table.columns[name]
        ids, first, counts = group_rows(
            np.stack([self._released.classes + 1, table.codes[name]]), np.array([self.sizes.size + 1, column.card])
        )
        best = np.zeros(self.sizes.size + 1, dtype=np.int64)
        np.maximum.at(best, self._released.classes[first] + 1, counts)
        return best[1:]

    def surprise(self, place: int) -> np.ndarray:
        """Sum over each class's rows of minus log2 of their value's share of the table."""
        if not self.kind.generalises:  # a value says all there is, whoever's it is
            return -self.sizes * np.log2(np.maximum(self.cells[place].mass(), 1.0) / self.n)
        table = self._released.table
        column = table.quasi[place]
        shares = column.frequencies / max(self.n, 1)
        with np.errstate(divide="ignore"):
            bits = -np.log2(np.where(shares > 0, shares, 1.0))
        return group_sums(bits[table.codes[column.name]], self._released.classes, self.sizes.size)

    def whole_surprise(self, place: int, suppressed: bool) -> float:
        """The same over suppressed rows (or all), as if their cells covered everything."""
        column = self._released.table.quasi[place]
        shares = column.frequencies / max(self.n, 1)
        bits = -np.log2(np.where(shares > 0, shares, 1.0))
        rows = self._released.classes < 0 if suppressed else slice(None)
        return float(bits[self._released.table.codes[column.name][rows]].sum())


def apply_recoding(table: Table, recoding: Recoding) -> Released:
    """Recode every record and number the classes, as the kind of the recoding does."""
    made: Released = recoding.kind.part("classes")(table, recoding)
    return replace(made, made=recoding.kind, recoding=recoding)


def generalised(table: Table, recoding: Grouping | FullDomain | Subtree) -> Released:
    """Generalise every record; classes are what has equal cells."""
    if isinstance(recoding, Grouping):
        cells = [_extent_cells(column, table.codes[column.name], recoding) for column in table.quasi]
        return _merge(table, recoding.ids, recoding.groups, cells, None)
    if isinstance(recoding, Subtree):
        codes = np.stack([_checked_nodes(column, recoding)[table.codes[column.name]] for column in table.quasi])
        ids, first, _ = group_rows(codes.astype(np.int32), codes.max(axis=1, initial=0) + 1)
        cells = [TreeCells.at_nodes(column, nodes) for column, nodes in zip(table.quasi, codes[:, first], strict=True)]
        made = _merge(table, ids, first.size, cells, None)
        return replace(made, written={name: _labels(table, name, nodes) for name, nodes in recoding.sensitive.items()})
    levels = {column.name: _checked_level(column, recoding) for column in table.quasi}
    codes = np.stack([_codes_at(column, table.codes[column.name], levels[column.name]) for column in table.quasi])
    ids, first, _ = group_rows(codes, codes.max(axis=1, initial=0) + 1)
    cells = [level_cells(column, table.codes[column.name][first], levels[column.name]) for column in table.quasi]
    return _merge(table, ids, first.size, cells, levels)


def _labels(table: Table, name: str, nodes: np.ndarray) -> pl.Series:
    """Labels of a sensitive column's nodes, missing ones null."""
    column = table.columns[name]
    tree = column.hierarchy
    if tree is None or column.kind != TREE:
        raise ParameterError(f"The sensitive column '{name}' has no hierarchy, so its values have no nodes above them.")
    labels = pl.Series(tree.node_labels, dtype=pl.String).gather(nodes).alias(name)
    return labels if column.missing < 0 else labels.set(pl.Series(nodes == column.missing), None)


def _merge(
    table: Table, ids: np.ndarray, groups: int, cells: list[CellColumn], levels: Mapping[str, int] | None
) -> Released:
    keys = (
        np.stack([column.keys for column in cells]) if groups else np.zeros((len(cells), 0), dtype=np.int32)
    )
    class_of, first, _ = group_rows(keys, keys.max(axis=1, initial=0) + 1)
    lookup = np.append(class_of, -1).astype(np.int32)
    return Released(
        table=table,
        classes=lookup[ids],
        n_classes=first.size,
        cells={column.column.name: column.merge(class_of, first) for column in cells},
        levels=levels,
        groups=groups,
    )


def _extent_cells(column: Column, codes: np.ndarray, grouping: Grouping) -> CellColumn:
    if column.kind == FLAT:
        column.check_sets(grouping.groups)
        return SetCells.of(column, group_bits(codes, grouping.ids, grouping.groups, column.card))
    low, high = group_ranges(codes, grouping.ids, grouping.groups)
    return TreeCells.of(column, low, high) if column.kind == TREE else IntervalCells.of(column, low, high)


def top_level(column: Column) -> int:
    """Highest level of a column: its hierarchy's height, or 1 for a column that is published or starred."""
    return column.hierarchy.height if column.kind == TREE and column.hierarchy is not None else 1


def _checked_level(column: Column, recoding: FullDomain) -> int:
    level = recoding.levels.get(column.name, 0)
    top = top_level(column)
    if not isinstance(level, int) or isinstance(level, bool) or not 0 <= level <= top:
        raise ParameterError(
            f"The level of '{column.name}' must be a whole number from 0 to {top}. Got {level!r}."
        )
    return level


def _checked_nodes(column: Column, recoding: Subtree) -> np.ndarray:
    """Node of every leaf code, after checking that each is above its leaf and takes all leaves below it."""
    nodes, tree = recoding.nodes.get(column.name), column.hierarchy
    if nodes is None or tree is None or column.kind != TREE or nodes.shape != (column.card,):
        raise ParameterError(f"A subtree recoding needs a hierarchy of '{column.name}' and a node for each value.")
    first, after = tree.node_first[nodes], tree.node_first[nodes] + tree.node_leaves[nodes]
    leaves = np.arange(column.card)
    whole = np.bincount(nodes)[nodes] == tree.node_leaves[nodes]
    if not ((first <= leaves) & (leaves < after) & whole).all():
        raise ParameterError(f"The nodes of '{column.name}' are not above their values, or one is below another.")
    return nodes


def _codes_at(column: Column, codes: np.ndarray, level: int) -> np.ndarray:
    if column.kind == TREE:
        return column.hierarchy.ancestors[level][codes]  # type: ignore[union-attr]
    return codes if level == 0 else np.zeros_like(codes)


def level_cells(column: Column, leaves: np.ndarray, level: int) -> CellColumn:
    """The cells of some leaf codes at one level."""
    if column.kind == TREE:
        return TreeCells.at_level(column, leaves, level)
    if column.kind == FLAT:
        column.check_sets(leaves.size)
        if level == 0:
            return SetCells(column, one_bit(leaves, column.card))
        return SetCells(column, np.repeat(all_bits(column.card)[None, :], leaves.size, axis=0))
    star = np.full(leaves.size, level == 1)
    return ExactCells(column, leaves, leaves, star)


class ExactCells(IntervalCells):
    """Single values published as they are: the user's own choice of level 0, so nothing is snapped."""

    @cached_property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """The value itself, twice."""
        values = self.column.numbers[np.minimum(self.low, max(self.column.numbers.size - 1, 0))]  # type: ignore
        return values, values

    def take(self, index: np.ndarray) -> ExactCells:
        """The cells of some groups."""
        return ExactCells(self.column, self.low[index], self.high[index], self.star[index])
