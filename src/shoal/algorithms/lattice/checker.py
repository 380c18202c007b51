"""The one thing that stands between a search and the data: level vector in, figures of that node out."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from shoal.algorithms.base import Problem
from shoal.algorithms.lattice.frequency import Numbering, Rolled, RolledTables, owners
from shoal.algorithms.lattice.verdicts import Verdicts
from shoal.data.classes import Cells
from shoal.data.column import TREE, Column
from shoal.data.stats import GroupStats, Histogram
from shoal.kernels.grouping import group_rows
from shoal.kernels.lattice import Layout
from shoal.kernels.lattice_verdicts import class_histograms, lost_codes, lost_prices, price_gone, price_others
from shoal.models.suppression import set_classes, settled, settled_sets
from shoal.recoding.lattice import Lattice, top_level
from shoal.utility.base import Prices

# ----------------------------------------
# Prices of a measure as the kernels of a lattice need them.


class PriceTable:
    """Prices of a measure laid out for the kernels: relative to the full price, one row a level.

    Attributes
    ----------
    leaf
        (levels, codes of all columns): price less full price.
    rows
        (attributes, levels): the same summed over all rows.
    """

    def __init__(self, prices: Prices, columns: Sequence[Column]) -> None:
        levels = max(table.shape[0] for table in prices.leaf)
        ends = np.cumsum([0, *(table.shape[1] for table in prices.leaf)])
        self.leaf = np.zeros((levels, ends[-1]))
        padded = [self.leaf[:, start:end] for start, end in zip(ends[:-1], ends[1:], strict=True)]
        for table, leaf, full in zip(padded, prices.leaf, prices.full, strict=True):
            table[: leaf.shape[0]] = leaf - full
        if prices.levels_only:
            self.rows = np.stack([table[:, 0] for table in padded])
            self.leaf[:] = 0.0
        else:
            self.rows = np.stack([table @ column.frequencies for table, column in zip(padded, columns, strict=True)])
        full = np.array([f @ column.frequencies for f, column in zip(prices.full, columns, strict=True)])
        self.factor = np.asarray(prices.factor, dtype=np.float64)
        self.offset = prices.offset + prices.factor * full
        self.weight = np.asarray(prices.weight, dtype=np.float64)
        self.log = prices.log
        self.terms = self.price(self.rows)

    def unsuppressed(self) -> PriceTable:
        """The same prices, but a suppressed row costs what it would if it were kept."""
        other = copy.copy(self)
        other.leaf = np.zeros_like(self.leaf)
        return other

    def price(self, sums: np.ndarray) -> np.ndarray:
        """What each attribute adds to the cost, from its sum of relative prices; one or one a level."""
        terms = (self.offset + self.factor * sums.T).T
        return (self.weight * (np.log(terms) if self.log else terms).T).T


_NONE = np.empty(0, dtype=np.uint8)


@dataclass(frozen=True, eq=False, kw_only=True)
class NodeCheck:
    """What a node does to the table.

    Attributes
    ----------
    suppressed
        Rows in classes that fail a model.
    inherited
        Rows that every finer node suppresses: in classes that fail in a way that it repeats, and those that other
        failing classes lose whatever their parts; at most ``suppressed``.
    classes, squares
        Classes that hold, and the sum of their squared sizes.
    all_classes, all_squares
        The same over every class.
    """

    suppressed: int
    inherited: int
    classes: int
    squares: float
    all_classes: int
    all_squares: float


class Checker:
    """Counts the classes of nodes on the frequency table; one kernel call or a few a node.

    Nodes are counted on the table rolled up to their own levels of the attributes with most values, which many nodes
    share. People do not add up, so with subjects each class is counted from the rows.

    Parameters
    ----------
    problem
        Rows and models. A quasi-identifier without a hierarchy has two levels, as it is and everything.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.columns = problem.domain.quasi
        self.lattice = Lattice(tuple(top_level(column) for column in self.columns))
        self.checked = 0
        self._combine()
        self._verdicts = Verdicts(problem.judge, self.weight.size)
        self._sets = [[self._place(name) for name in one] for one in problem.domain.schema.quasi_sets]
        # Where classes of other sets decide, rows that fail are not those of classes that are too small.
        self.rows_only = self._verdicts.rows_only and not self._sets
        judge = problem.judge
        asked = self._verdicts.relative or judge.needs_spreads or judge.needs_population
        # Classes are judged by their own rows and values, and nothing else.
        self._alone = not (self._by_row or self._sets or asked)

    def _combine(self) -> None:
        """The frequency table, sorted so that neighbours share classes."""
        judge = self.problem.judge
        self._by_row = self.problem.domain.by_people
        looked_at = [] if self._by_row else judge.attributes
        found = self.problem.rows.frequency(looked_at)
        histograms = [(owners(h.indptr), h.codes, h.counts) for h in (found.histograms[one.key] for one in looked_at)]
        self.weight = found.rows
        self._layout = _lay_out(self.columns)
        self._row_at = self._layout.row_at[:-1].tolist()
        self._numbering = Numbering(found.rows.size)
        room = self._numbering.room
        self._class_of, self._sizes, self._first = room.class_of, room.sizes, room.first
        self._leaves = Rolled(
            leaf=np.ascontiguousarray(found.codes, dtype=np.int32), weight=found.rows, histograms=histograms,
            layout=self._layout, entry_of=np.arange(found.rows.size, dtype=np.int32),
        )  # fmt: skip
        self._tables = RolledTables(self._leaves, self.columns, self._numbering)
        self._entries = self._leaves
        # Rows lost for good by code, which check they belong to, and what they were priced by last.
        self._lost = np.zeros(self._layout.card_at[-1])
        self._lost_of = -1
        self._priced_by: PriceTable | None = None
        self._priced = self._lost

    @cached_property
    def _every(self) -> np.ndarray:
        """Rows by code."""
        pairs = zip(self._leaves.leaf, self.columns, strict=True)
        return np.concatenate([np.bincount(codes, self.weight, column.card) for codes, column in pairs])

    def check(self, levels: Sequence[int] | np.ndarray) -> NodeCheck:
        """Count a node's classes and judge them; the last check's classes stay in ``class_of``."""
        levels = np.asarray(levels, dtype=np.int64)
        self._entries = entries = self._leaves if self._by_row else self._tables.at(levels)
        numbering, verdicts, found = self._numbering, self._verdicts, -1
        if self._alone:
            found = verdicts.check_sizes(entries, levels, numbering)
        if found < 0:
            rows = self._layout.row_at[:-1] + levels
            cards = self._layout.cards[np.arange(levels.size), levels]
            found = numbering.number(entries.codes, rows, cards, entries.weight)
            self._judge(levels, found)
            verdicts.tally(self._sizes, found)
        elif not self.rows_only:
            verdicts.by_values(found, self._class_of[: entries.weight.size], entries.histograms, None)
            verdicts.tally(self._sizes, found)
        self._levels, self._found = levels, found
        suppressed, classes, squares, all_squares, inherited = verdicts.tallied
        self.checked += 1
        return NodeCheck(
            suppressed=int(suppressed), inherited=int(inherited), classes=int(classes), squares=squares,
            all_classes=found, all_squares=all_squares,
        )  # fmt: skip

    @property
    def class_of(self) -> np.ndarray:
        """Class of each combination of leaf codes at the node checked last."""
        mine = self._class_of[: self._entries.weight.size]
        return mine if self._entries is self._leaves else mine[self._entries.entry_of]

    @property
    def classes(self) -> Cells:
        """The classes of the node checked last."""
        of = self.class_of
        return Cells(of, int(of.max(initial=-1)) + 1)

    def _place(self, name: str) -> int:
        return next(at for at, column in enumerate(self.columns) if column.name == name)

    def _judge_sets(self, levels: np.ndarray, found: int) -> None:
        """Judge each class by the classes of every set of quasi-identifiers that it is in."""
        judge, first = self.problem.judge, self._first[:found]
        codes, places = self._entries.codes, zip(self._row_at, levels.tolist(), strict=True)
        cells = [codes[at + level, first] for at, level in places]
        maps = [set_classes([cells[place] for place in one]) for one in self._sets]
        sizes, class_of = self._sizes[:found], self.class_of
        alone = self._verdicts.rows_only and not self._by_row

        def counted(group: np.ndarray, groups: int) -> GroupStats:
            if not alone:
                mine = np.append(group, -1).astype(np.int32)[class_of]
                return self.problem.rows.stats(Cells(mine, groups), judge.attributes)
            rows = np.bincount(group[group >= 0], weights=sizes[group >= 0], minlength=groups).astype(np.int64)
            return GroupStats(sizes=rows, rows=rows, histograms={})

        good, small = settled_sets(judge, maps, counted)
        self._verdicts.bad[:found], self._verdicts.inherits[:found] = ~good, small
        self._verdicts.gone[:found] = 0

    def _judge(self, levels: np.ndarray, found: int) -> None:
        if self._sets:
            self._judge_sets(levels, found)
            return
        spreads = self._spreads(levels, found) if self.problem.judge.needs_spreads else None
        population = self._population(levels, found) if self.problem.judge.needs_population else None
        if self._by_row:
            self._judge_people(found, spreads, population)
        elif self._verdicts.relative:
            self._judge_released(found, spreads, population)
        else:
            self._verdicts.by_size(self._sizes, found)
            if not self.rows_only:
                class_of = self._class_of[: self._entries.weight.size]
                self._verdicts.by_values(found, class_of, self._entries.histograms, spreads)

    def _spreads(self, levels: np.ndarray, found: int) -> np.ndarray:
        """Mean Q-diversity of each class's cells, which are those of any of its entries."""
        first = self._first[:found]
        spreads = np.zeros(found)
        for column, at, level in zip(self.columns, self._row_at, levels.tolist(), strict=True):
            leaves = np.bincount(_level_codes(column)[level])[self._entries.codes[at + level, first]]
            spreads += (leaves - 1.0) / max(column.card - 1.0, 1.0)
        return spreads / len(self.columns)

    def _population(self, levels: np.ndarray, found: int) -> np.ndarray | None:
        """People of the population in each class: those whose values are generalised to the same cells."""
        population = self.problem.domain.population
        if population is None:
            return None
        first = self._first[:found]
        cells = []
        for column, at, level in zip(self.columns, self._row_at, levels.tolist(), strict=True):
            nodes, codes = _level_codes(column)[level], population.codes[column.name]
            # What the table does not know is in the cell that covers everything alone.
            theirs = np.where(codes >= 0, nodes[np.maximum(codes, 0)], -int(nodes.max(initial=0) > 0))
            cells.append(np.concatenate([self._entries.codes[at + level, first], theirs]))
        met = np.concatenate([np.ones(found, dtype=bool), np.min([mine[found:] for mine in cells], axis=0) >= 0])
        stacked = np.stack(cells).astype(np.int32)[:, met]
        ids, groups, _ = group_rows(stacked, stacked.max(axis=1, initial=0) + 1)
        people = np.bincount(ids[found:], weights=population.counts[met[found:]], minlength=groups.size)
        return people[ids[:found]].astype(np.int64)

    def _judge_people(self, found: int, spreads: np.ndarray | None, population: np.ndarray | None) -> None:
        """Distinct people do not add up, so their classes are counted from the rows each time."""
        judge, classes = self.problem.judge, self.classes
        stats = self.problem.rows.stats(classes, judge.attributes)
        stats = replace(stats, spreads=spreads, population=population)
        self._verdicts.bad[:found] = ~settled(judge, stats, classes, self.problem.rows)
        self._verdicts.inherits[:found] = stats.sizes < judge.k

    def _judge_released(self, found: int, spreads: np.ndarray | None, population: np.ndarray | None) -> None:
        """Suppressing changes what classes are compared with: judge as a release would be, until none fails."""
        judge, sizes = self.problem.judge, self._sizes[:found].copy()
        class_of = self._class_of[: self._entries.weight.size]
        histograms = {
            one.key: Histogram(*class_histograms(class_of, found, counts, one.unknown, _NONE, _NONE))
            for one, counts in zip(judge.attributes, self._entries.histograms, strict=True)
        }
        stats = GroupStats(sizes=sizes, rows=sizes, histograms=histograms, spreads=spreads, population=population)
        good = settled(judge, stats, self.classes, self.problem.rows)
        self._verdicts.bad[:found] = ~good
        self._verdicts.inherits[:found] = sizes < judge.k

    @property
    def failing(self) -> np.ndarray:
        """Flags of the last check's classes: those that fail a model."""
        return self._verdicts.bad != 0

    def suppressed(self, prices: PriceTable) -> np.ndarray:
        """Prices of the rows the last check suppressed, at its own levels, one an attribute."""
        lost = self._lost_classes(prices)[np.arange(self._levels.size), self._levels]
        if self.rows_only:
            return lost
        judged, codes = self._verdicts, self._entries.codes
        return lost + price_others(
            self._sizes[: self._found], judged.bad, judged.inherits, codes, self._first, self._levels, self._layout,
            prices.leaf,
        )  # fmt: skip

    def inherited(self, prices: PriceTable) -> np.ndarray:
        """Prices of the rows the last check lost for good, (attributes, levels)."""
        lost = self._lost_classes(prices)
        if not self.rows_only:
            lost = lost.copy()
            gone, codes = self._verdicts.gone[: self._found], self._entries.codes
            price_gone(gone, codes, self._first, self._levels, self._layout, prices.leaf, lost)
        return lost

    def _lost_classes(self, prices: PriceTable) -> np.ndarray:
        """Prices of the rows in classes that the last check lost for good, (attributes, levels)."""
        if self._lost_of != self.checked:
            class_of = self._class_of[: self._entries.weight.size]
            lost_codes(self._entries.losing, class_of, self._verdicts.inherits, self._every, self._lost)
            self._lost_of, self._priced_by = self.checked, None
        if self._priced_by is not prices:
            self._priced = lost_prices(self._lost, prices.leaf, self._layout.card_at)
            self._priced_by = prices
        return self._priced


def _level_codes(column: Column) -> list[np.ndarray]:
    """Node of every code at every level."""
    if column.kind == TREE and column.hierarchy is not None:
        return list(column.hierarchy.ancestors)
    return [np.arange(column.card, dtype=np.int32), np.zeros(column.card, dtype=np.int32)]


def _lay_out(columns: Sequence[Column]) -> Layout:
    """Where kernels find what."""
    trees = [_level_codes(column) for column in columns]
    row_at = np.cumsum([0, *map(len, trees)], dtype=np.int64)
    card_at = np.cumsum([0, *(column.card for column in columns)], dtype=np.int64)
    levels = max(map(len, trees))
    cards = np.ones((len(trees), levels), dtype=np.int64)
    labels = np.zeros((levels, card_at[-1]), dtype=np.int32)
    for a, tree in enumerate(trees):
        cards[a, : len(tree)] = [int(level.max(initial=0)) + 1 for level in tree]
        labels[: len(tree), card_at[a] : card_at[a + 1]] = tree
    return Layout(cards, row_at, card_at, labels)
