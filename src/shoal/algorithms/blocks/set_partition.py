"""Set-partitioning from below: every value alone, and blocks merged while that brings rows into good classes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.algorithms.base import Algorithm, Problem
from shoal.algorithms.blocks.board import Board, Cuts, State, cuts_of
from shoal.algorithms.lattice.verdicts import infeasible
from shoal.data.column import FLAT, TREE, Column
from shoal.kernels.grouping import group_ranges
from shoal.models.base import Model
from shoal.params import choice
from shoal.recoding.cells import IntervalCells, SetCells
from shoal.recoding.recodings import Blocks
from shoal.registry import load

ORDERS = ("ordered", "unordered")
# Gains that agree to so many digits are a tie.
_DIGITS = 10
# Order among mergers, column, its blocks after one, and the cut given up (-1: two blocks were joined).
Way = tuple[tuple[int, float], int, np.ndarray, int]


@dataclass(frozen=True, kw_only=True)
class SetPartition(Algorithm):
    """Merge blocks of values, in every column, until no more rows fail than may be suppressed.

    A step takes the merger that adds the least loss for each row that it brings into a class of at least k; where none
    brings any, the one that adds the least loss for each row that it touches.

    Parameters
    ----------
    order
        ``ordered``: blocks are runs of a column's values (Bayardo & Agrawal). ``unordered``: blocks of categories
        without a hierarchy are any sets of them (Li & Li); numbers stay in runs, hierarchies in nodes either way.
    k
        Shorthand that adds the model ``k``.

    Examples
    --------
    >>> SetPartition(k=5).parameters()
    {'name': 'set-partition', 'suppression_limit': 0.0, 'order': 'unordered'}
    """

    name: ClassVar[str] = "set-partition"
    shorthand: ClassVar[tuple[str, ...]] = ("k",)
    order: str = "unordered"
    k: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        choice("SetPartition", "order", self.order, ORDERS)

    def models(self) -> list[Model]:
        """The model that ``k`` stands for."""
        return [] if self.k is None else [load("model", "k")(k=self.k)]

    @property
    def from_cells(self) -> bool:
        """The frequency table is all that it looks at."""
        return True

    def run(self, problem: Problem) -> Blocks:
        """Merge, step by step."""
        allowed = self.rows_allowed(problem.domain.n)
        merging = Merging(Board(problem, "lm", None, allowed), self.order == "unordered")
        steps = 0
        while merging.state.suppressed > merging.board.allowed and merging.step():
            steps += 1
            problem.progress(f"merged {steps} times, {merging.state.suppressed} rows fail")
        if merging.state.suppressed > merging.board.allowed:
            raise infeasible(problem, allowed)
        blocks = dict(zip(problem.domain.schema.quasi, merging.state.blocks, strict=True))
        counts = {name: int(np.unique(of).size) for name, of in blocks.items()}
        notes = {"steps": steps, "suppressed": merging.state.suppressed, "blocks": counts}
        return Blocks(blocks=blocks, notes=notes)


class Merging:
    """Blocks of every column, and the ways to merge some of one."""

    def __init__(self, board: Board, unordered: bool) -> None:
        self.board = board
        self.cuts: Cuts = cuts_of(board.columns)
        self.free = [unordered and column.kind == FLAT for column in board.columns]
        self.used = np.ones(self.cuts.size, dtype=bool)
        self.state: State = board.state(self.cuts.blocks(self.used))

    def step(self) -> bool:
        """Take the best merger; False when there is none."""
        best: Way | None = None
        for place, column in enumerate(self.board.columns):
            for way in self._nodes(place) if column.kind == TREE else self._pairs(place):
                if best is None or way[0] < best[0]:
                    best = way
        if best is None:
            return False
        _, place, merged, item = best
        if item >= 0:
            self.used[item] = False
        self.state = self.board.state(self._with(place, merged))
        return True

    def _nodes(self, place: int) -> Iterator[Way]:
        """Nodes of a hierarchy that could take their children back: order, blocks then, and the cut given up."""
        of, column = self.state.blocks[place], self.board.columns[place]
        above = self.cuts.parent[self.used]
        kept = np.bincount(above[above >= 0], minlength=self.cuts.size)[: self.cuts.size] > 0
        now, few = self.board.spread(place, of), self.board.in_small(self.state.blocks)
        for item in np.flatnonzero(self.used & ~kept & (self.cuts.column == place)).tolist():
            begins = np.diff(of, prepend=of[0])
            begins[self.cuts.after[item] + 1] = 0
            merged = np.cumsum(begins, dtype=np.int32)
            wider = self.board.spread(place, merged) - now
            touched = column.frequencies[wider > 0].sum()
            helped = few - self.board.in_small(self._with(place, merged))
            order = self._orders(place, np.array([wider @ column.frequencies]), np.array([touched]), np.array([helped]))
            yield (int(order[0][0]), float(order[1][0])), place, merged, item

    def _pairs(self, place: int) -> Iterator[Way]:
        """The best two blocks of a column without a hierarchy: order, and blocks with them joined."""
        column = self.board.columns[place]
        of = np.unique(self.state.blocks[place], return_inverse=True)[1].astype(np.int32)
        count = int(of.max(initial=0)) + 1
        first, second = np.triu_indices(count, 1) if self.free[place] else (np.arange(count - 1), np.arange(1, count))
        if not first.size:
            return
        rows = np.bincount(of, weights=column.frequencies, minlength=count)
        alone, joined = _spreads(column, of, first, second)
        touched = rows[first] + rows[second]
        loss = touched * joined - rows[first] * alone[first] - rows[second] * alone[second]
        helped = self.board.gains(self._with(place, of), place)[first, second]
        useless, per = self._orders(place, loss, touched, helped)
        best = int(np.lexsort((per, useless))[0])
        merged = np.where(of == second[best], first[best], of).astype(np.int32)
        yield (int(useless[best]), float(per[best])), place, merged, -1

    def _with(self, place: int, merged: np.ndarray) -> list[np.ndarray]:
        return [*self.state.blocks[:place], merged, *self.state.blocks[place + 1 :]]

    def _orders(
        self, place: int, loss: np.ndarray, touched: np.ndarray, helped: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Whether mergers help nobody, and what they cost for each row that they help, or else that they touch."""
        useless = helped <= 0
        per = self.board.weights[place] * loss / np.maximum(np.where(useless, touched, helped), 1.0)
        digits = 10.0 ** (_DIGITS - 1 - np.floor(np.log10(np.maximum(np.abs(per), 1e-200))))
        return useless, np.where(per == 0.0, 0.0, np.round(per * digits) / digits)


def _spreads(column: Column, of: np.ndarray, first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Spread of every block, and of the joined blocks of every pair."""
    codes, count = np.arange(column.card, dtype=np.int32), int(of.max(initial=0)) + 1
    if column.kind == FLAT:
        sizes = np.bincount(of, minlength=count)
        # Blocks have no value in common, and a missing one is nothing to publish beside others.
        both = sizes[first] + sizes[second]
        mixed = (of[column.missing] == first) | (of[column.missing] == second) if column.missing >= 0 else False
        alone = SetCells.of(column, codes, of, count).spread()
        return alone, (np.where(mixed, column.card, both) - 1.0) / max(column.card - 1.0, 1.0)
    low, high = group_ranges(codes, of, count)
    alone = IntervalCells.of(column, low, high).spread()
    return alone, IntervalCells.of(column, low[first], high[second]).spread()
