"""What blocks do to the frequency table: classes, those that fail, what that costs, and what any finer blocks cost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from shoal.algorithms.base import Problem
from shoal.algorithms.lattice.verdicts import suppression_is_monotone
from shoal.data.classes import Cells
from shoal.data.column import INTERVAL, TREE, Column
from shoal.data.stats import Attribute, attribute
from shoal.errors import ParameterError
from shoal.kernels.grouping import group_rows
from shoal.kernels.rules import SIZE
from shoal.models.base import failing_stays
from shoal.models.suppression import settled
from shoal.recoding.lattice import block_cells
from shoal.recoding.population_match import with_population
from shoal.recoding.snap import published_ends

MEASURES = ("dm", "cm", "lm")
_REMEMBERED = 4096


@dataclass(frozen=True, eq=False)
class State:
    """Blocks on the table.

    Attributes
    ----------
    classes, count
        Class of each combination of values, and how many there are.
    bad
        Which combinations are in classes that fail a model.
    suppressed
        Their rows.
    cost
        What the measure says, suppressed rows at their full price.
    """

    blocks: Sequence[np.ndarray]
    classes: np.ndarray
    count: int
    bad: np.ndarray
    suppressed: int
    cost: float


class Board:
    """The frequency table, models and one measure.

    Parameters
    ----------
    measure
        ``dm`` (discernibility), ``cm`` (rows that are not of their class's commonest label, and suppressed ones) or
        ``lm`` (mean loss of a cell).
    target
        Label of ``cm``, the first sensitive attribute when None.
    allowed
        Rows that may be suppressed.
    """

    def __init__(self, problem: Problem, measure: str, target: str | None, allowed: int) -> None:
        self.problem, self.measure, self.allowed = problem, measure, min(allowed, problem.domain.n - 1)
        domain, judge = problem.domain, problem.judge
        self.columns, self.n, self.k = domain.quasi, domain.n, judge.k
        self._label = _label(problem, target) if measure == "cm" else None
        found = problem.rows.frequency([] if self._label is None else [self._label])
        self.codes, self.rows = found.codes, found.rows.astype(np.float64)
        if self._label is not None:
            histogram = found.histograms[self._label.key]
            owner = np.repeat(np.arange(self.rows.size), np.diff(histogram.indptr))
            self._labels = owner, histogram.codes, histogram.counts
        weights = domain.quasi_weights
        self.weights = weights / (weights.sum() or 1.0)
        self.monotone = suppression_is_monotone(judge, self.allowed)
        # Whether rows that fail fail in all finer blocks, too.
        self.stays = all(failing_stays(*one) for one in judge.sets)
        self.by_size = not domain.by_people and all(rule.op == SIZE for _, rules in judge.sets for rule in rules)
        self.looked_at = 0
        self._spreads: dict[tuple[int, bytes], np.ndarray] = {}

    def state(self, blocks: Sequence[np.ndarray]) -> State:
        """What some blocks come to."""
        self.looked_at += 1
        classes, count = self._group(np.stack([of[mine] for of, mine in zip(blocks, self.codes, strict=True)]))
        bad = ~self.good(classes, count, blocks)[classes]
        suppressed = int(self.rows[bad].sum())
        return State(blocks, classes, count, bad, suppressed, self._cost(classes, count, bad, blocks))

    def finer(self, state: State, place: int, blocks: np.ndarray) -> tuple[np.ndarray, int, np.ndarray]:
        """Classes, their number and failing combinations when one column's blocks are parted further."""
        self.looked_at += 1
        classes, count = self._group(np.stack([state.classes, blocks[self.codes[place]]]))
        changed = [*state.blocks[:place], blocks, *state.blocks[place + 1 :]]
        return classes, count, ~self.good(classes, count, changed)[classes]

    def good(self, classes: np.ndarray, count: int, blocks: Sequence[np.ndarray]) -> np.ndarray:
        """Which classes satisfy the models."""
        if self.by_size:
            return np.bincount(classes, weights=self.rows, minlength=count) >= self.k
        judge, rows = self.problem.judge, self.problem.rows
        found = Cells(classes, count)
        stats = rows.stats(found, judge.attributes)
        if judge.needs_spreads or judge.needs_population:
            first = np.empty(count, dtype=np.int64)
            first[classes] = np.arange(classes.size)
            made = [block_cells(column, of) for column, of in zip(self.columns, blocks, strict=True)]
            cells = [one.take(of[mine[first]]) for (one, of), mine in zip(made, self.codes, strict=True)]
            stats = replace(stats, spreads=np.mean([one.spread() for one in cells], axis=0))
            if judge.needs_population and rows.domain.population is not None:
                stats = with_population(stats, cells, rows.domain.population, presence=judge.needs_presence)
        return settled(judge, stats, found, rows)

    def least(self, finest: State, bad: np.ndarray) -> float:
        """What no blocks between some and the finest cost less than, where ``bad`` fail in the coarsest already."""
        bad = bad if self.stays else np.zeros(bad.size, dtype=bool)
        lost, kept = float(self.rows[bad].sum()), self.rows * ~bad
        if self.measure == "dm":
            sizes = np.bincount(finest.classes, weights=self.rows, minlength=finest.count)
            return self.n * lost + float(kept @ np.maximum(sizes, self.k)[finest.classes])
        if self.measure == "cm":
            return lost + self._minority(finest.classes, finest.count, bad)
        return (lost + _sum(kept * self._prices(finest.blocks))) / self.n

    def _cost(self, classes: np.ndarray, count: int, bad: np.ndarray, blocks: Sequence[np.ndarray]) -> float:
        lost, kept = float(self.rows[bad].sum()), self.rows * ~bad
        if self.measure == "dm":
            sizes = np.bincount(classes, weights=kept, minlength=count)
            return self.n * lost + float(sizes @ sizes)
        if self.measure == "cm":
            return lost + self._minority(classes, count, bad)
        return (lost + _sum(kept * self._prices(blocks))) / self.n

    def figure(self, cost: float) -> float:
        """What the measure itself says of a cost."""
        return cost / self.n if self.measure == "cm" else cost

    def loss(self, state: State) -> float:
        """The loss metric, whatever the measure."""
        kept = self.rows * ~state.bad
        return (state.suppressed + _sum(kept * self._prices(state.blocks))) / self.n

    def _minority(self, classes: np.ndarray, count: int, bad: np.ndarray) -> float:
        """Rows of classes that do not fail which are not of their class's commonest label."""
        assert self._label is not None
        owner, codes, counts = self._labels
        used = ~bad[owner]
        pairs = np.stack([classes[owner[used]], codes[used]])
        if not pairs.shape[1]:
            return 0.0
        found, first, _ = group_rows(pairs, np.array([count, self._label.card]))
        sums = np.bincount(found, weights=counts[used], minlength=first.size)
        most = np.zeros(count)
        np.maximum.at(most, pairs[0, first], sums)
        return float(sums.sum() - most.sum())

    def _prices(self, blocks: Sequence[np.ndarray]) -> np.ndarray:
        """Mean loss of each combination's cells."""
        total = np.zeros(self.rows.size)
        for place, (of, mine) in enumerate(zip(blocks, self.codes, strict=True)):
            total += self.weights[place] * self.spread(place, of)[mine]
        return total

    def spread(self, place: int, blocks: np.ndarray) -> np.ndarray:
        """Spread of the cell of every code; a search asks for few different blocks of a column very often."""
        key = place, blocks.tobytes()
        if key not in self._spreads:
            if len(self._spreads) >= _REMEMBERED:
                self._spreads.clear()
            cells, number = block_cells(self.columns[place], blocks)
            self._spreads[key] = cells.spread()[number]
        return self._spreads[key]

    def in_small(self, blocks: Sequence[np.ndarray]) -> float:
        """Rows of classes of fewer than k rows."""
        classes, count = self._group(np.stack([of[mine] for of, mine in zip(blocks, self.codes, strict=True)]))
        sizes = np.bincount(classes, weights=self.rows, minlength=count)
        return float(sizes[sizes < self.k].sum())

    def gains(self, blocks: Sequence[np.ndarray], place: int) -> np.ndarray:
        """By two blocks of a column: rows that joining them brings into classes of at least k rows."""
        mine = np.stack([of[codes] for of, codes in zip(blocks, self.codes, strict=True)])
        rest, _ = self._group(np.where(np.arange(len(blocks))[:, None] == place, 0, mine))
        classes, count = self._group(np.stack([rest, mine[place]]))
        first = np.empty(count, dtype=np.int64)
        first[classes] = np.arange(classes.size)
        order = np.lexsort((mine[place, first], rest[first]))
        sizes = np.bincount(classes, weights=self.rows, minlength=count)[order]
        group, block = rest[first][order], mine[place, first][order]
        gained = np.zeros((int(blocks[place].max(initial=0)) + 1,) * 2)
        # Blocks that meet in a class of the other columns stand side by side: neighbours first, then others.
        for step in range(1, count):
            met = np.flatnonzero(group[step:] == group[:-step])
            if not met.size:
                break
            left, right = sizes[met], sizes[met + step]
            lost = left * (left < self.k) + right * (right < self.k)
            np.add.at(gained, (block[met], block[met + step]), lost - (left + right) * (left + right < self.k))
        return gained

    def _group(self, codes: np.ndarray) -> tuple[np.ndarray, int]:
        codes = codes.astype(np.int32)
        classes, first, _ = group_rows(codes, codes.max(axis=1, initial=0).astype(np.int64) + 1)
        return classes, first.size


def _sum(prices: np.ndarray) -> float:
    """A sum that is the same to its last digit on any number of cores, as a product of vectors is not."""
    return float(prices.sum())


def _label(problem: Problem, target: str | None) -> Attribute:
    names = problem.domain.schema.sensitive
    if not names:
        raise ParameterError("The measure 'cm' needs a label: give the table a sensitive attribute, or choose another.")
    if target is not None and target not in names:
        raise ParameterError(f"The target '{target}' is no sensitive attribute: choose one of {', '.join(names)}.")
    return attribute(problem.domain, [target or names[0]], people=False)


# ----------------------------------------
# Where columns may be cut into blocks, as items of a set: any set of them that keeps to parents is a recoding.
#
# An item of an ordered column is one cut between neighbouring values; of a column with a hierarchy it is a node
# that gives way to its children, which asks for the node above to have done so. Codes follow the order of leaves,
# so that either is one or more cuts between codes. Flat columns are cut in the order of their values.


@dataclass(frozen=True, eq=False)
class Cuts:
    """All items of some columns, parents before children.

    Attributes
    ----------
    column
        int64 column of each item.
    parent
        int64 item that each asks for, -1 for none.
    after
        For each item the codes that it cuts after.
    cards
        Codes of every column.
    """

    column: np.ndarray
    parent: np.ndarray
    after: list[np.ndarray]
    cards: list[int]

    @property
    def size(self) -> int:
        """Number of items."""
        return self.parent.size

    def blocks(self, chosen: np.ndarray) -> list[np.ndarray]:
        """int32 block of every code of every column, given flags of the items in use."""
        flags = [np.zeros(card, dtype=np.int32) for card in self.cards]
        for item in np.flatnonzero(chosen).tolist():
            flags[self.column[item]][self.after[item] + 1] = 1
        return [np.cumsum(mine, dtype=np.int32) for mine in flags]

    def closed(self, chosen: np.ndarray) -> np.ndarray:
        """The chosen items without those whose parents are not chosen."""
        kept = chosen.copy()
        for item in np.flatnonzero(kept & (self.parent >= 0)).tolist():
            kept[item] = kept[self.parent[item]]
        return kept


def cuts_of(columns: Iterable[Column]) -> Cuts:
    """Every item of some columns."""
    column: list[int] = []
    parent: list[int] = []
    after: list[np.ndarray] = []
    cards = []
    for place, one in enumerate(columns):
        cards.append(one.card)
        if one.kind == TREE:
            for above, starts in _nodes(one, len(parent)):
                column.append(place)
                parent.append(above)
                after.append(starts - 1)
        else:
            found = cut_places(one)
            column += [place] * found.size
            parent += [-1] * found.size
            after += list(found[:, None])
    return Cuts(np.array(column, dtype=np.int64), np.array(parent, dtype=np.int64), after, cards)


def cut_places(column: Column) -> np.ndarray:
    """Codes that a column without a hierarchy may be cut after: published intervals of both sides must not overlap."""
    last = np.arange(column.card - 1)
    if column.kind != INTERVAL or last.size == 0:
        return last
    low, high = published_ends(column)
    return last[high[:-1] < low[1:]]


def _nodes(column: Column, base: int) -> Iterable[tuple[int, np.ndarray]]:
    """Nodes of several children from the root down: number of the item above, and where later children begin."""
    tree = column.hierarchy
    assert tree is not None
    waiting = [(0, column.card, -1)]
    made = base
    while waiting:
        first, stop, above = waiting.pop()
        level = int(tree.common_level(np.array(first), np.array(stop - 1)))
        if level == 0:
            continue
        starts = np.flatnonzero(np.diff(tree.ancestors[level - 1, first:stop], prepend=-1)) + first
        yield above, starts[1:]
        ends = [*starts[1:].tolist(), stop]
        waiting += [(begin, end, made) for begin, end in zip(starts.tolist(), ends, strict=True)][::-1]
        made += 1
