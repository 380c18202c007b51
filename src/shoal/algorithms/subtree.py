"""Greedy top-down specialisation: from every column at its root, one node after another gives way to its children."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from shoal.algorithms.base import Algorithm, Problem
from shoal.algorithms.lattice.verdicts import infeasible, suppression_is_monotone
from shoal.data.classes import Cells
from shoal.data.column import TREE, Column
from shoal.data.hierarchy import ROOT, Hierarchy
from shoal.kernels.grouping import group_rows
from shoal.models.base import Model
from shoal.params import choice
from shoal.recoding.recodings import Subtree
from shoal.registry import load
from shoal.utility.base import search_prices

MEASURES = ("lm", "ncp", "entropy")
# Shares of the whole loss below this are rounding errors; scores that agree to so many digits are a tie.
_NOTHING, _DIGITS = 1e-14, 10


@dataclass(frozen=True, kw_only=True)
class TopDownSubtree(Algorithm):
    """Start with every column at its root and specialise while the models hold (Iyengar's full-subtree recoding).

    Each step replaces one node of one column, everywhere, by its children. Of the steps after which no more rows
    fail than may be suppressed, it takes the one that lowers the measure most for each class that it adds. Ties go to
    the lower loss, then to the earlier column, then to the node of earlier leaves. A node with one child counts as
    that child.

    Parameters
    ----------
    measure
        What a step has to lower, suppressed rows at their full price: ``lm``, ``ncp`` or ``entropy``.
    k
        Shorthand that adds the model ``k``.

    Examples
    --------
    >>> TopDownSubtree(k=5).parameters()
    {'name': 'top-down-subtree', 'suppression_limit': 0.0, 'measure': 'lm'}
    """

    name: ClassVar[str] = "top-down-subtree"
    shorthand: ClassVar[tuple[str, ...]] = ("k",)
    measure: str = "lm"
    k: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        choice("TopDownSubtree", "measure", self.measure, MEASURES)

    def models(self) -> list[Model]:
        """The model that ``k`` stands for."""
        return [] if self.k is None else [load("model", "k")(k=self.k)]

    @property
    def from_cells(self) -> bool:
        """The frequency table is all that it looks at."""
        return True

    def run(self, problem: Problem) -> Subtree:
        """Specialise until nothing can be."""
        allowed = self.rows_allowed(problem.domain.n)
        cut = Cut(problem, self.measure, min(allowed, problem.domain.n - 1))
        steps = 0
        while (step := cut.best_step()) is not None:
            cut.take(step)
            steps += 1
            problem.progress(f"specialised {steps} nodes")
        if cut.suppressed > cut.allowed:
            raise infeasible(problem, allowed)
        nodes = cut.nodes()
        labels = {name: int(np.unique(ids).size) for name, ids in nodes.items()}
        notes = {"steps": steps, "judged": cut.judged, "suppressed": cut.suppressed, "labels": labels}
        return Subtree(nodes=nodes, notes=notes)


@dataclass(eq=False)
class Node:
    """A node of the cut that could be specialised.

    ``level`` is the one on which its children stand; ``rows`` are the combinations below it, ``gain`` what each of
    their records would be spared, as a share of the whole loss; ``loss`` is the sum of that by the loss metric.
    ``narrower`` is what the mean Q-diversity of their cells would fall by.
    """

    column: int
    first: int
    after: int
    level: int
    rows: np.ndarray
    gain: np.ndarray
    loss: float
    narrower: np.ndarray


@dataclass(eq=False)
class Step:
    """What specialising a node would do: new class of each of its rows, which fail, what is gained."""

    node: Node
    classes: np.ndarray
    bad: np.ndarray
    added: int
    suppressed: int
    gained: float

    @property
    def order(self) -> tuple[float, float, int, int]:
        """Best first; a step that adds no class costs nothing."""
        score = self.gained / self.added if self.added else math.inf * self.gained if self.gained else 0.0
        return -_rounded(score), -_rounded(self.node.loss), self.node.column, self.node.first


class Cut:
    """The nodes in use, the classes they make of the frequency table, and which of those fail."""

    def __init__(self, problem: Problem, measure: str, allowed: int) -> None:
        self.problem, self.allowed = problem, allowed
        self.columns = problem.domain.quasi
        self.trees = [_tree_of(column) for column in self.columns]
        frequency = problem.rows.frequency([])
        self.codes, size = frequency.codes, frequency.rows.size
        self.weight = frequency.rows.astype(np.float64)
        self.monotone = suppression_is_monotone(problem.judge, allowed)
        self._prices = [_leaf_prices(problem, name) for name in (measure, "lm")]
        # What every record costs now and when it is suppressed, both as shares of the whole.
        self.full = sum(full[codes] for (_, full), codes in zip(self._prices[0], self.codes, strict=True))
        self.price = sum(leaf[-1, codes] for (leaf, _), codes in zip(self._prices[0], self.codes, strict=True))
        self.classes = np.zeros(size, dtype=np.int32)
        self.spread = _mean_spreads(self.trees, self.codes)
        self.judged = 0
        self.bad = np.zeros(size, dtype=bool)
        if not self._judge(self.classes, 1, self.spread)[0]:
            self.bad[:] = True
        self.suppressed = self._count(self.bad)
        self.open: list[Node] = []
        self.closed: list[tuple[int, int, int]] = []
        for place, column in enumerate(self.columns):
            self._add(place, 0, column.card, np.arange(size))

    def nodes(self) -> dict[str, np.ndarray]:
        """Column to the id of the node in use for every leaf, on the lowest level where it stands."""
        found = {column.name: np.empty(column.card, dtype=np.int64) for column in self.columns}
        for place, first, after in [*self.closed, *((node.column, node.first, node.after) for node in self.open)]:
            tree = self.trees[place]
            found[self.columns[place].name][first:after] = tree.node_id(_level(tree, first, after), np.array([first]))
        return found

    def best_step(self) -> Step | None:
        """The best allowed step, None when there is none."""
        if self.monotone and self.suppressed > self.allowed:
            return None
        best: Step | None = None
        for node in list(self.open):
            step = self._try(node)
            if step.suppressed > max(self.allowed, self.suppressed):
                if self.monotone:
                    self._close(node)
            elif self._useful(step) and (best is None or step.order < best.order):
                best = step
        return best

    def _useful(self, step: Step) -> bool:
        """Whether a step gains anything, or at least may let later ones."""
        if step.gained == 0 and step.suppressed <= self.suppressed:
            return not self.monotone or step.added == 0
        return step.gained > 0

    def take(self, step: Step) -> None:
        """Replace a node by its children."""
        node = step.node
        self.classes[node.rows] = step.classes + (int(self.classes.max()) + 1)
        self.price[node.rows] -= node.gain
        self.spread[node.rows] -= node.narrower
        self.bad[node.rows] = step.bad
        self.suppressed = step.suppressed
        self.open.remove(node)
        above = self.trees[node.column].ancestors[node.level]
        starts = np.flatnonzero(np.diff(above[node.first : node.after], prepend=-1)) + node.first
        mine = above[self.codes[node.column, node.rows]]
        for first, after in zip(starts.tolist(), [*starts[1:].tolist(), node.after], strict=True):
            self._add(node.column, first, after, node.rows[mine == above[first]])

    def _try(self, node: Node) -> Step:
        above = self.trees[node.column].ancestors[node.level]
        child = above[self.codes[node.column, node.rows]] - above[node.first]
        pair = np.stack([self.classes[node.rows], child.astype(np.int32)])
        classes, first, _ = group_rows(pair, pair.max(axis=1) + 1)
        added = first.size - np.unique(pair[0, first]).size
        inside = np.full(self.classes.size, -1, dtype=np.int32)
        inside[node.rows] = classes
        bad = ~self._judge(inside, first.size, self.spread[node.rows] - node.narrower)[classes]
        was = self.bad[node.rows]
        full, price = self.full[node.rows], self.price[node.rows]
        spared = np.where(was, full, price) - np.where(bad, full, price - node.gain)
        suppressed = self.suppressed + self._count(bad, node.rows) - self._count(was, node.rows)
        gained = float(spared @ self.weight[node.rows])
        gained = gained if abs(gained) > _NOTHING else 0.0
        return Step(node, classes, bad, added, suppressed, gained)

    def _judge(self, classes: np.ndarray, count: int, spread: np.ndarray) -> np.ndarray:
        """Which classes of combinations (negative: in none) satisfy the models, given their members' spreads."""
        self.judged += 1
        judge = self.problem.judge
        stats = self.problem.rows.stats(Cells(classes, count), judge.attributes)
        spreads = np.empty(count)
        spreads[classes[classes >= 0]] = spread
        return judge.ok(replace(stats, spreads=spreads))

    def _count(self, flags: np.ndarray, rows: np.ndarray | slice = slice(None)) -> int:
        return int(self.weight[rows][flags].sum())

    def _add(self, place: int, first: int, after: int, rows: np.ndarray) -> None:
        """Put a node into the cut; it stays open when it has children and records."""
        level = _level(self.trees[place], first, after) - 1
        if level < 0 or not rows.size:
            self.closed.append((place, first, after))
            return
        codes, weight = self.codes[place, rows], self.weight[rows]
        above, below = (_spread_at(self.trees[place], one, codes) for one in (level + 1, level))
        gain, loss = ((leaf[level + 1] - leaf[level])[codes] for leaf, _ in (prices[place] for prices in self._prices))
        narrower = (above - below) / len(self.columns)
        self.open.append(Node(place, first, after, level, rows, gain, float(loss @ weight), narrower))

    def _close(self, node: Node) -> None:
        self.open.remove(node)
        self.closed.append((node.column, node.first, node.after))


def _rounded(score: float) -> float:
    return float(f"{score:.{_DIGITS}g}")


def _tree_of(column: Column) -> Hierarchy:
    """A column's hierarchy; where it has none, its values under a root, as which it is published or starred."""
    if column.kind == TREE and column.hierarchy is not None:
        return column.hierarchy
    ancestors = np.stack([np.arange(column.card), np.zeros(column.card)]).astype(np.int32)
    return Hierarchy(column.name, (tuple(column.texts.to_list()), (ROOT,)), ancestors)


def _level(tree: Hierarchy, first: int, after: int) -> int:
    """The lowest level on which a run of leaves is one node; on the one below it are its children."""
    return int(tree.common_level(np.array(first), np.array(after - 1)))


def _spread_at(tree: Hierarchy, level: int, codes: np.ndarray) -> np.ndarray:
    """Q-diversity of the nodes above some leaves on one level."""
    return (tree.leaf_counts[level, codes] - 1.0) / max(tree.n_leaves - 1.0, 1.0)


def _mean_spreads(trees: Sequence[Hierarchy], codes: np.ndarray) -> np.ndarray:
    """Mean Q-diversity of every combination with all columns at their roots."""
    return np.mean([_spread_at(tree, -1, mine) for tree, mine in zip(trees, codes, strict=True)], axis=0)


def _leaf_prices(problem: Problem, measure: str) -> list[tuple[np.ndarray, np.ndarray]]:
    """By column: what a record costs by level and code, and suppressed by code, as shares of the whole loss."""
    columns = problem.domain.quasi
    prices = search_prices(load("measure", measure)(), problem.domain)
    assert prices is not None
    weighted = [
        (weight * leaf, weight * full)
        for leaf, full, weight in zip(prices.leaf, prices.full, prices.weight, strict=True)
    ]
    whole = sum(float(full @ column.frequencies) for (_, full), column in zip(weighted, columns, strict=True))
    return [(leaf / (whole or 1.0), full / (whole or 1.0)) for leaf, full in weighted]
