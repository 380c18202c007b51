"""The one thing that stands between a search and the data: level vector in, figures of that node out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from shoal.algorithms.base import Problem
from shoal.algorithms.lattice.prices import PriceTable
from shoal.algorithms.lattice.verdicts import Verdicts
from shoal.judging.settle import set_classes, settled, settled_sets
from shoal.kernels.count.grouping import group_rows
from shoal.kernels.count.histograms import bucket_rows
from shoal.kernels.lattice import nodes as kernel
from shoal.kernels.lattice.verdicts import Entries, class_histograms, lost_codes, lost_prices, price_classes, price_gone
from shoal.recoding.lattice import Lattice
from shoal.recoding.level_cells import top_level
from shoal.table.classmap import Cells
from shoal.table.column import TREE, Column
from shoal.table.stats import GroupStats, Histogram

# Rolled-up tables share the levels of this many attributes, and together take no more than so much room.
_ROLLED_ATTRIBUTES = 1
_ROLLED_BYTES = 256 * 1024 * 1024
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


@dataclass(frozen=True, eq=False)
class Rolled:
    """The frequency table rolled up to some node: one entry a class there.

    Attributes
    ----------
    histograms
        Compressed sensitive counts, one a judged attribute.
    entry_of
        Entry of each combination of leaf codes.
    entries
        The entries as kernels take them.
    """

    histograms: list[tuple[np.ndarray, np.ndarray, np.ndarray]]
    entry_of: np.ndarray
    entries: Entries

    @property
    def codes(self) -> np.ndarray:
        """(levels of all attributes, entries): node of each entry, right for this node's levels and coarser ones."""
        codes: np.ndarray = self.entries.codes
        return codes

    @property
    def weight(self) -> np.ndarray:
        """Rows of each entry."""
        weight: np.ndarray = self.entries.weight
        return weight


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
        self._verdicts = Verdicts(problem.judge, self.frequency.weight.size)
        self._sets = [[self._place(name) for name in one] for one in problem.domain.schema.quasi_sets]
        # Where classes of other sets decide, rows that fail are not those of classes that are too small.
        self.rows_only = self._verdicts.rows_only and not self._sets
        judge = problem.judge
        asked = self._by_row or self._verdicts.relative or judge.needs_spreads or judge.needs_population
        self._sizes_decide = self.rows_only and not asked
        every = np.arange(self.frequency.weight.size + 1)
        place = every[:-1].astype(np.int32)
        leaves = Entries(self.frequency.codes, self.frequency.weight, place, every)
        self._leaves = Rolled(self._histograms, place, leaves)
        self._entries = self._leaves
        widest = np.argsort([-column.card for column in self.columns], kind="stable")[:_ROLLED_ATTRIBUTES]
        self._widest = sorted(int(a) for a in widest)
        self._rolled: dict[tuple[int, ...], Rolled] = {}
        self._bytes = _ROLLED_BYTES

    def _combine(self) -> None:
        """The frequency table, sorted so that neighbours share classes."""
        judge = self.problem.judge
        self._by_row = self.problem.domain.by_people
        looked_at = [] if self._by_row else judge.attributes
        found = self.problem.rows.frequency(looked_at)
        self._histograms = [(h.indptr, h.codes, h.counts) for h in (found.histograms[one.key] for one in looked_at)]
        trees = [_level_codes(column) for column in self.columns]
        self._row_at = np.cumsum([0, *map(len, trees)]).tolist()[:-1]
        self._cards = [[int(level.max(initial=0)) + 1 for level in tree] for tree in trees]
        rows = np.empty((sum(map(len, trees)), found.rows.size), dtype=np.int32)
        for at, tree, codes in zip(self._row_at, trees, found.codes, strict=True):
            for level, row in zip(tree, rows[at:], strict=False):
                np.take(level.astype(np.int32, copy=False), codes, out=row, mode="clip")
        card_at = np.cumsum([0, *(column.card for column in self.columns)], dtype=np.int64)
        places = np.ascontiguousarray(found.codes.T + card_at[:-1].astype(np.int32))
        self.frequency = kernel.Combinations(rows, found.rows, places)
        self._lay_out(card_at)
        # Rows lost for good by code, and which check they belong to.
        self._lost = np.zeros(card_at[-1])
        self._lost_of = -1

    def _lay_out(self, card_at: np.ndarray) -> None:
        """Room for the kernels, and where they find what."""
        size = self.frequency.weight.size
        slots = 1 << max(2 * size - 1, 16).bit_length()
        self._slots = kernel.Slots(np.empty(slots, dtype=np.int32), np.empty(size, dtype=np.uint64))
        self._room = kernel.Room(
            np.empty(size, dtype=np.int32), np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int32),
            np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int32),
        )  # fmt: skip
        self._class_of, self._sizes, self._first = self._room.class_of, self._room.sizes, self._room.first
        levels = max(map(len, self._cards))
        cards = np.ones((len(self.columns), levels), dtype=np.int64)
        labels = np.zeros((levels, card_at[-1]), dtype=np.int32)
        for a, (mine, column) in enumerate(zip(self._cards, self.columns, strict=True)):
            cards[a, : len(mine)] = mine
            labels[: len(mine), card_at[a] : card_at[a + 1]] = _level_codes(column)
        self._layout = kernel.Layout(cards, np.array(self._row_at, dtype=np.int64), card_at, labels)

    def check(self, levels: Sequence[int] | np.ndarray) -> NodeCheck:
        """Count a node's classes and judge them; the last check's classes stay in ``class_of``."""
        levels = np.asarray(levels, dtype=np.int64)
        self._entries = self._leaves if self._by_row else self._roll(levels)
        found = -1
        if self._sizes_decide:
            entries = self._entries.entries
            found = self._verdicts.check_sizes(entries, self._layout, levels, self._slots, self._room)
        if found < 0:
            found = self._number(levels, self._entries)
            self._judge(levels, found)
            self._verdicts.tally(self._sizes, found)
        self._levels, self._found = levels, found
        suppressed, classes, squares, all_squares, inherited = self._verdicts.tallied
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

    def _roll(self, levels: np.ndarray) -> Rolled:
        """The table rolled up to a node's own levels of the widest attributes; kept while there is room."""
        key = tuple(int(levels[a]) for a in self._widest)
        if not any(key):
            return self._leaves
        if key in self._rolled:
            return self._rolled[key]
        floor = np.zeros(len(self.columns), dtype=np.int64)
        floor[self._widest] = key
        found = self._number(floor, self._leaves)
        of = self._class_of.copy()
        codes = np.take(self.frequency.codes, self._first[:found], axis=1)
        rows, offsets = bucket_rows(of, found)
        entries = Entries(codes, self._sizes[:found].copy(), rows, offsets)
        histograms = [
            class_histograms(of, found, one, _known(one), _NONE, _NONE)[:3] for one in self._leaves.histograms
        ]
        table = Rolled(histograms, of, entries)
        counted = sum(array.nbytes for one in histograms for array in one)
        size = codes.nbytes + 2 * of.nbytes + entries.offsets.nbytes + counted
        if size <= self._bytes:
            self._bytes -= size
            self._rolled[key] = table
        return table

    def _number(self, levels: np.ndarray, table: Rolled) -> int:
        found = kernel.count_node(table.codes, table.weight, self._layout, levels, self._slots, self._room)
        if found >= 0:
            return int(found)
        return self._number_wide([at + level for at, level in zip(self._row_at, levels, strict=True)], table)

    def _number_wide(self, rows: list[int], table: Rolled) -> int:
        """Nodes whose keys do not fit into 64 bits are grouped column by column."""
        codes = table.codes[rows]
        ids, first, _ = group_rows(codes, codes.max(axis=1, initial=0) + 1)
        self._class_of[: ids.size] = ids
        self._first[: first.size] = first
        self._sizes[: first.size] = np.bincount(ids, weights=table.weight, minlength=first.size)
        return int(first.size)

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
        if self.rows_only:
            return self.inherited(prices)[np.arange(self._levels.size), self._levels]
        sizes, codes = self._sizes[: self._found], self._entries.codes
        return price_classes(sizes, self._verdicts.bad, codes, self._first, self._levels, self._layout, prices.leaf)

    def inherited(self, prices: PriceTable) -> np.ndarray:
        """Prices of the rows the last check lost for good, (attributes, levels)."""
        found, table, entries = self._verdicts, self.frequency, self._entries
        if self._lost_of != self.checked:
            class_of = self._class_of[: entries.weight.size]
            lost_codes(table, entries.entries, class_of, found.inherits, self._lost)
            self._lost_of = self.checked
        lost_prices(self._lost, prices.leaf, self._layout.card_at, prices.out)
        if not self.rows_only:
            price_gone(
                found.gone[: self._found], entries.codes, self._first, self._levels, self._layout, prices.leaf,
                prices.out,
            )  # fmt: skip
        return prices.out


def _known(histogram: tuple[np.ndarray, np.ndarray, np.ndarray]) -> np.ndarray:
    return np.zeros(int(histogram[1].max(initial=-1)) + 1, dtype=np.uint8)


def _level_codes(column: Column) -> list[np.ndarray]:
    """Node of every code at every level."""
    if column.kind == TREE and column.hierarchy is not None:
        return list(column.hierarchy.ancestors)
    return [np.arange(column.card, dtype=np.int32), np.zeros(column.card, dtype=np.int32)]
