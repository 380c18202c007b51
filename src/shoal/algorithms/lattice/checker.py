"""The one thing that stands between a search and the data: level vector in, figures of that node out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from shoal.algorithms.base import Problem
from shoal.algorithms.lattice.prices import PriceTable
from shoal.errors import SchemaError
from shoal.judging.settle import settled
from shoal.kernels.count.grouping import group_rows
from shoal.kernels.judge.rules import EXTENT, SIZE, judge_rule
from shoal.kernels.lattice import nodes as kernel
from shoal.models.judge import average_known, compare, compile_rules
from shoal.recoding.applied import top_level
from shoal.recoding.lattice import Lattice
from shoal.table.classmap import Cells
from shoal.table.column import TREE, Column
from shoal.table.stats import GroupStats, Histogram

# Rolled-up tables share the levels of this many attributes, and together take no more than so much room.
_ROLLED_ATTRIBUTES = 1
_ROLLED_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True, eq=False, kw_only=True)
class NodeCheck:
    """What a node does to the table.

    Attributes
    ----------
    suppressed
        Rows in classes that fail a model.
    inherited
        Rows in classes that fail in a way every finer node repeats; at most ``suppressed``.
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
    codes
        (levels of all attributes, entries): node of each entry, right for this node's levels and coarser ones.
    weight
        Rows of each entry.
    histograms
        Compressed sensitive counts, one a judged attribute.
    entry_of
        Entry of each combination of leaf codes, None when entries are those combinations.
    """

    codes: np.ndarray
    weight: np.ndarray
    histograms: list[tuple[np.ndarray, np.ndarray, np.ndarray]]
    entry_of: np.ndarray | None


class Checker:
    """Counts the classes of nodes on the frequency table; one kernel call or a few a node.

    Nodes are counted on the table rolled up to their own levels of the attributes with most values, which many nodes
    share. People do not add up, so with subjects each class is counted from the rows.

    Parameters
    ----------
    problem
        Rows and models. Every quasi-identifier needs a hierarchy.
    flat
        Let a column without one have two levels, as it is and everything.
    """

    def __init__(self, problem: Problem, *, flat: bool = False) -> None:
        self.problem = problem
        self.columns = problem.domain.quasi
        if not flat:
            refuse_flat(self.columns)
        self.lattice = Lattice(tuple(top_level(column) for column in self.columns))
        self.checked = 0
        self.numbered = 0
        self._combine()
        self._prepare_models()
        widest = np.argsort([-column.card for column in self.columns], kind="stable")[:_ROLLED_ATTRIBUTES]
        self._widest = sorted(int(a) for a in widest)
        self._rolled: dict[tuple[int, ...], Rolled] = {}
        self._room = _ROLLED_BYTES

    def _combine(self) -> None:
        """The frequency table, sorted so that neighbours share classes."""
        judge = self.problem.judge
        self._by_row = self.problem.domain.by_people
        looked_at = [] if self._by_row else judge.attributes
        found = self.problem.rows.frequency(looked_at)
        self._histograms = [(h.indptr, h.codes, h.counts) for h in (found.histograms[one.key] for one in looked_at)]
        rows: list[np.ndarray] = []
        self._row_at: list[int] = []
        self._cards: list[list[int]] = []
        for column, codes in zip(self.columns, found.codes, strict=True):
            self._row_at.append(len(rows))
            tree = _level_codes(column)
            rows.extend(level[codes] for level in tree)
            self._cards.append([int(level.max(initial=0)) + 1 for level in tree])
        card_at = np.cumsum([0, *(column.card for column in self.columns)], dtype=np.int64)
        self.frequency = kernel.Combinations(
            np.ascontiguousarray(np.stack(rows), dtype=np.int32), found.codes, found.rows, card_at
        )
        size = self.frequency.weight.size
        slots = max(kernel.DENSE, 1 << (2 * size - 1).bit_length())
        self._slots = kernel.Slots(np.full((slots, 2), -1, dtype=np.int32), np.empty(slots, dtype=np.uint64))
        self._class_of = np.empty(size, dtype=np.int32)
        self._sizes = np.empty(size, dtype=np.int64)
        self._scratch = kernel.Room(
            np.empty(size, dtype=np.int32), np.empty(size, dtype=np.int64), self._class_of, self._sizes
        )
        cards = np.ones((len(self.columns), max(map(len, self._cards))), dtype=np.int64)
        for a, mine in enumerate(self._cards):
            cards[a, : len(mine)] = mine
        self._layout = kernel.Layout(cards, np.array(self._row_at, dtype=np.int64))
        self._bad = np.zeros(size, dtype=np.uint8)
        self._inherits = np.zeros(size, dtype=np.uint8)
        self._out = np.empty(4)
        # Suppressed rows by code, of all failing and of inherited classes, and which check they belong to.
        self._lost = np.zeros((2, card_at[-1]))
        self._lost_of = [-1, -1]

    def _prepare_models(self) -> None:
        """Compile the models' rules together with the conditions that failing classes hand down."""
        judge = self.problem.judge
        sets = [pair for pair in judge.sets if pair[1][0].op >= 0]
        necessary = [
            (model, rules) for model in judge.models for rules in model.all_necessary(judge.reference) if rules
        ]
        self.rules = compile_rules([*sets, *necessary], judge.attributes)
        flags = [1] * sum(len(rules) for _, rules in sets) + [2] * sum(len(rules) for _, rules in necessary)
        self._flags = np.array(flags, dtype=np.uint8)
        # What kernels do not know is judged as a release would be, and so is what suppressing changes.
        unknown = len(sets) < len(judge.sets)
        self.rows_only = not unknown and bool((self.rules.op == SIZE).all())
        self._relative = unknown or (judge.reference.whole and any(model.relative for model in judge.models))
        self._leaves = Rolled(self.frequency.codes, self.frequency.weight, self._histograms, None)
        self._entries = self._leaves

    def check(self, levels: Sequence[int] | np.ndarray) -> NodeCheck:
        """Count a node's classes and judge them; the last check's classes stay in ``class_of``."""
        levels = np.asarray(levels, dtype=np.int64)
        self._entries = self._leaves if self._by_row else self._roll(levels)
        found = self._number(levels, self._entries)
        sizes = self._sizes
        if self.rows_only and not self._by_row:
            kernel.judge_sizes(sizes, found, self.problem.judge.k, self._bad, self._out)
        else:
            self._judge(levels, found)
            kernel.tally(sizes, found, self._bad, self._out)
        suppressed, classes, squares, all_squares = self._out.tolist()
        inherited = suppressed
        if not self.rows_only:
            inherited = float(sizes[:found][self._inherits[:found] != 0].sum())
        self.checked += 1
        return NodeCheck(
            suppressed=int(suppressed), inherited=int(inherited), classes=int(classes), squares=squares,
            all_classes=found, all_squares=all_squares,
        )  # fmt: skip

    @property
    def class_of(self) -> np.ndarray:
        """Class of each combination of leaf codes at the node checked last."""
        mine = self._class_of[: self._entries.weight.size]
        return mine if self._entries.entry_of is None else mine[self._entries.entry_of]

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
        first = np.empty(found, dtype=np.int64)
        first[of[::-1]] = np.arange(of.size - 1, -1, -1)
        table = Rolled(
            np.ascontiguousarray(self.frequency.codes[:, first]),
            self._sizes[:found].copy(),
            [kernel.class_histograms(of, found, one, _known(one))[:3] for one in self._leaves.histograms],
            of,
        )
        size = table.codes.nbytes + of.nbytes
        if size <= self._room:
            self._room -= size
            self._rolled[key] = table
        self.numbered += 1
        return table

    def _number(self, levels: np.ndarray, table: Rolled) -> int:
        self.numbered += 1
        found = kernel.count_node(
            table.codes, table.weight, self._layout, levels, self.numbered, self._slots, self._scratch
        )
        if found >= 0:
            return int(found)
        return self._number_wide([at + level for at, level in zip(self._row_at, levels, strict=True)], table)

    def _number_wide(self, rows: list[int], table: Rolled) -> int:
        """Nodes whose keys do not fit into 64 bits are grouped column by column."""
        codes = table.codes[rows]
        ids, first, _ = group_rows(codes, codes.max(axis=1, initial=0) + 1)
        self._class_of[: ids.size] = ids
        self._sizes[: first.size] = np.bincount(ids, weights=table.weight, minlength=first.size)
        return int(first.size)

    def _judge(self, levels: np.ndarray, found: int) -> None:
        spreads = self._spreads(levels, found) if self.problem.judge.needs_spreads else None
        population = self._population(levels, found) if self.problem.judge.needs_population else None
        if self._by_row:
            self._judge_people(found, spreads, population)
        elif self._relative:
            self._judge_released(found, spreads, population)
        else:
            self._judge_values(found, spreads)

    def _spreads(self, levels: np.ndarray, found: int) -> np.ndarray:
        """Mean Q-diversity of each class's cells, which are those of any of its entries."""
        of = self._class_of[: self._entries.weight.size]
        first = np.empty(found, dtype=np.int64)
        first[of] = np.arange(of.size)
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
        of = self._class_of[: self._entries.weight.size]
        first = np.empty(found, dtype=np.int64)
        first[of] = np.arange(of.size)
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

    def _judge_values(self, found: int, spreads: np.ndarray | None) -> None:
        """Evaluate every rule on the classes' histograms; flag failing classes, and those that stay so below."""
        rules = self.rules
        values: list[np.ndarray] = [self._sizes[:found]] * rules.op.size
        if spreads is not None:
            values = [spreads if op == EXTENT else value for op, value in zip(rules.op, values, strict=True)]
        class_of = self._class_of[: self._entries.weight.size]
        for attr, histogram in enumerate(self._entries.histograms):
            flags = rules.unknown[rules.unknown_at[attr] : rules.unknown_at[attr + 1]]
            mine = kernel.class_histograms(class_of, found, histogram, flags)
            for r in np.flatnonzero(rules.attr == attr):
                values[r] = judge_rule(rules, int(r), *mine)
        bad, inherits = np.zeros(found, dtype=bool), np.zeros(found, dtype=bool)
        for r in np.flatnonzero(rules.combine):
            value = values[r]
            if rules.combine[r] > 1:
                value = average_known(values[r : r + rules.combine[r]])
            fails = ~(compare(value, rules.sense[r], rules.limit[r]) | np.isnan(value))
            if self._flags[r] & 1:
                bad |= fails
            else:
                inherits |= fails
        self._bad[:found] = bad
        self._inherits[:found] = inherits

    def _judge_people(self, found: int, spreads: np.ndarray | None, population: np.ndarray | None) -> None:
        """Distinct people do not add up, so their classes are counted from the rows each time."""
        judge, classes = self.problem.judge, self.classes
        stats = self.problem.rows.stats(classes, judge.attributes)
        stats = replace(stats, spreads=spreads, population=population)
        self._bad[:found] = ~settled(judge, stats, classes, self.problem.rows)
        self._inherits[:found] = stats.sizes < judge.k

    def _judge_released(self, found: int, spreads: np.ndarray | None, population: np.ndarray | None) -> None:
        """Suppressing changes what classes are compared with: judge as a release would be, until none fails."""
        judge, sizes = self.problem.judge, self._sizes[:found].copy()
        class_of = self._class_of[: self._entries.weight.size]
        histograms = {
            one.key: Histogram(*kernel.class_histograms(class_of, found, counts, one.unknown))
            for one, counts in zip(judge.attributes, self._entries.histograms, strict=True)
        }
        stats = GroupStats(sizes=sizes, rows=sizes, histograms=histograms, spreads=spreads, population=population)
        good = settled(judge, stats, self.classes, self.problem.rows)
        self._bad[:found] = ~good
        self._inherits[:found] = sizes < judge.k

    @property
    def failing(self) -> np.ndarray:
        """Flags of the last check's classes: those that fail a model."""
        return self._bad != 0

    def lost(self, prices: PriceTable, *, inherited: bool) -> np.ndarray:
        """Prices of the rows the last check suppressed, (attributes, levels); of inherited ones if asked."""
        which = int(inherited and not self.rows_only)
        if self._lost_of[which] != self.checked:
            bad = self._inherits if which else self._bad
            kernel.lost_codes(self.frequency, self.class_of, bad, self._lost[which])
            self._lost_of[which] = self.checked
        kernel.lost_prices(self._lost[which], prices.leaf, self.frequency.card_at, prices.out)
        return prices.out


def _known(histogram: tuple[np.ndarray, np.ndarray, np.ndarray]) -> np.ndarray:
    return np.zeros(int(histogram[1].max(initial=-1)) + 1, dtype=np.uint8)


def refuse_flat(columns: Sequence[Column]) -> None:
    """Say which quasi-identifier has no hierarchy to generalise along, and how to give it one."""
    for column in columns:
        if column.kind != TREE:
            how = "{ widths = [5, 10, 20] }" if column.type == "numeric" else f'"{column.name}.csv"'
            raise SchemaError(
                f"The quasi-identifier '{column.name}' has no hierarchy, which this algorithm needs: add one "
                f"under 'hierarchies', for example {column.name} = {how}."
            )


def _level_codes(column: Column) -> list[np.ndarray]:
    """Node of every code at every level."""
    if column.kind == TREE and column.hierarchy is not None:
        return list(column.hierarchy.ancestors)
    return [np.arange(column.card, dtype=np.int32), np.zeros(column.card, dtype=np.int32)]
