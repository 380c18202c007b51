"""What a search that takes the best node gives away: no node below the one that it took was better."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from shoal.data.hierarchy import Hierarchy
from shoal.kernels.rules import SIZE
from shoal.models.base import merging_keeps
from shoal.models.feasibility import whole_reference
from shoal.models.judge import Judge
from shoal.recoding.cells import TreeCells
from shoal.recoding.recodings import FullDomain, Subtree
from shoal.registry import load, make
from shoal.results import Release
from shoal.utility.base import Prices

# Searches that take the best of all nodes; the others stop where they stand.
BEST = ("optimal", "incognito", "samarati")
# Costs nearer than this, as a share, count as equal.
_TIE = 1e-9
# Lattices below a node that are looked at as a whole.
_NODES = 4096


@dataclass(frozen=True, eq=False, kw_only=True)
class Forced:
    """Why the nodes below a released one were not taken.

    A node below was not taken because too many rows would have been in classes that fail, or because suppressing them
    would have cost more than finer cells are worth. Nothing else is possible: with no class failing it would have been
    better.

    Attributes
    ----------
    judge
        The models, on the whole table.
    allowed
        Rows of the release, beside those that are suppressed, that might have been suppressed too.
    prices
        What a search by prices minimised; None where only failing counts (a smallest height), or the measure is not one
        of single records.
    by_height
        Whether a node of less height is better whatever it suppresses.
    """

    release: Release
    judge: Judge
    allowed: int
    prices: Prices | None
    by_height: bool

    @property
    def levels(self) -> dict[str, int]:
        """Level of each column of the release."""
        levels = self.release.released.levels
        assert levels is not None
        return dict(levels)

    @property
    def sizes_only(self) -> bool:
        """Whether classes can fail by their numbers of rows alone."""
        rules = [rule for _, rules in self.judge.sets for rule in rules]
        return self.release.table.subjects is None and all(rule.op == SIZE for rule in rules)

    @property
    def inherited(self) -> bool:
        """Whether a node that fails makes all below it fail, so that only the nearest ones tell anything."""
        return self.allowed == 0 and all(merging_keeps(model, rules) for model, rules in self.judge.sets)

    def below(self) -> Iterator[dict[str, int]]:
        """Levels of the nodes below, the nearest first; only these where others follow from them."""
        levels = self.levels
        deep = not self.inherited and math.prod(level + 1 for level in levels.values()) <= _NODES
        if deep:
            drops = sorted(product(*(range(level + 1) for level in levels.values())), key=lambda one: (sum(one), one))
        else:
            drops = [tuple(int(name == one) for one in levels) for name, level in levels.items() if level]
        for drop in drops:
            if any(drop):
                yield {name: level - down for (name, level), down in zip(levels.items(), drop, strict=True)}

    def refused(self, levels: dict[str, int], bad: np.ndarray, rows: np.ndarray) -> bool:
        """Whether a node below is or may be worse than the released one if some of its rows were in failing classes.

        Parameters
        ----------
        bad
            Flags of the released rows.
        rows
            Their places in the table.
        """
        many = int(bad.sum())
        if many == 0 or many > self.allowed:
            return many > self.allowed
        if self.by_height:
            return False
        if self.prices is None:
            return True
        return self.change(levels, bad, rows) >= -_TIE

    def change(self, levels: dict[str, int], bad: np.ndarray, rows: np.ndarray) -> float:
        """What a node below costs more, as a share of the released one's cost on the released rows."""
        assert self.prices is not None
        table, own = self.release.table, self.levels
        before = after = 0.0
        for place, column in enumerate(table.quasi):
            unit = self.prices.weight[place] * self.prices.factor[place]
            leaf, full = self.prices.leaf[place], self.prices.full[place]
            codes = table.codes[column.name][rows]
            before += unit * float(leaf[own[column.name], codes].sum())
            after += unit * float(np.where(bad, full[codes], leaf[levels[column.name], codes]).sum())
        return (after - before) / max(abs(before), 1e-300)


def best_of_all(release: Release | None) -> bool:
    """Whether a release is the best node that a search found, and the search saw all of them."""
    if release is None or release.released.levels is None or not isinstance(release.released.recoding, FullDomain):
        return False
    algorithm = release.evidence.get("algorithm", {})
    proven = release.released.recoding.notes.get("proven", True)
    # A research value may rise with a level, so less generalisation need not be better; a workload has its own prices.
    known = "models" in release.evidence and algorithm.get("name") in BEST and algorithm.get("measure") != "rv"
    return bool(known and proven and algorithm.get("node") is None and release.table.domain.workload is None)


def forced(release: Release) -> Forced:
    """What follows from a release of :func:`best_of_all`."""
    table, algorithm = release.table, release.evidence["algorithm"]
    prices = None
    limit = make("algorithm", algorithm).rows_allowed(table.n)
    measure = "height" if algorithm["name"] == "samarati" else algorithm["measure"]
    if measure not in ("dm", "c-avg", "height"):
        prices = load("measure", measure)().prices(table.domain)
    return Forced(
        release=release, judge=judge_of(release), by_height=measure == "height",
        allowed=max(0, min(limit, table.n - 1) - release.released.n_suppressed),
        prices=None if prices is None or prices.log else prices,
    )  # fmt: skip


def judge_of(release: Release) -> Judge:
    """The models of a release, on its table."""
    models = [make("model", spec) for spec in release.evidence["models"]]
    return Judge(models, whole_reference(load("engine", "memory")().open(release.table), models))


# ----------------------------------------
# What must have been in the classes of a full-domain or subtree release, because generalising less would not do.
#
# One level less in a column, every class whose node has several children there may split into parts that fail. How
# many rows can be in failing parts is bounded for every class, and how many must be over all classes is known;
# where the other classes cannot make up for it, a class has to hold some, and that bounds how its rows lie under
# the children from below.


# Measures whose price of a cell follows from the hierarchy alone, which everybody knows.
_KNOWN_PRICES = ("lm", "ncp", "ilm", "genc", "precision")


def forced_splits(release: Release) -> dict[str, np.ndarray]:
    """By column, for every class: rows that certainly lie under each child of its node there; 0 where none need.

    Sound for releases that are the best of all nodes, and for subtree recodings that were specialised until nothing
    more could be; others get no entry.
    """
    released = release.released
    if best_of_all(release):
        why = forced(release)
        k = why.judge.k if why.sizes_only else None
        return {
            name: _full_domain(why, name, cells, k)
            for name, cells in released.cells.items()
            if isinstance(cells, TreeCells) and why.levels[name] > 0
        }
    if isinstance(released.recoding, Subtree) and release.evidence["algorithm"]["name"] == "top-down-subtree":
        k = _size_alone(release)
        priced = zip(released.table.quasi, released.table.domain.quasi_weights, strict=True)
        # A column without weight gains nothing from being specialised.
        return {
            column.name: _subtree(cells, released.sizes, k)
            for column, weight in priced
            if weight > 0 and isinstance(cells := released.cells[column.name], TreeCells)
        }
    return {}


def _size_alone(release: Release) -> int | None:
    judge = judge_of(release)
    alone = release.table.subjects is None and all(rule.op == SIZE for _, rules in judge.sets for rule in rules)
    return judge.k if alone else None


def _full_domain(why: Forced, name: str, cells: TreeCells, k: int | None) -> np.ndarray:
    """All nodes of a column split together, one level down."""
    tree = cells.column.hierarchy
    assert tree is not None
    sizes = why.release.released.sizes.astype(np.int64)
    children, below = tree_children(tree)
    parts = np.where(below[cells.nodes] == why.levels[name] - 1, children[cells.nodes], 1)
    return least_rows(sizes, parts, k, _needed(why, name, cells, parts))


def _subtree(cells: TreeCells, sizes: np.ndarray, k: int | None) -> np.ndarray:
    """The classes of one node split together."""
    tree = cells.column.hierarchy
    assert tree is not None
    parts = tree_children(tree)[0][cells.nodes]
    _, of = np.unique(cells.nodes, return_inverse=True)
    return least_rows(sizes.astype(np.int64), np.maximum(parts, 1), k, 1, of)


def _needed(why: Forced, name: str, cells: TreeCells, parts: np.ndarray) -> int:
    """Fewest released rows in failing classes one level below in a column: otherwise that node would have been better.

    More than may be suppressed would do. So would fewer, where suppressing them costs as much as the column gains: at
    least the whole gain, divided by what one row can cost.
    """
    if why.allowed == 0 or why.by_height:
        return why.allowed + 1
    prices = why.prices
    if prices is None or why.release.evidence["algorithm"].get("measure") not in _KNOWN_PRICES:
        return 1
    gain, sizes = 0.0, why.release.released.sizes
    cost = np.zeros(sizes.size)
    for place, column in enumerate(why.release.table.quasi):
        unit = float(prices.weight[place] * prices.factor[place])
        own = why.release.released.cells[column.name]
        if not isinstance(own, TreeCells):
            return 1
        level = why.levels[column.name]
        low = _cell_prices(prices, place, own, level)[0]
        if column.name == name:
            now = low
            low, high = _cell_prices(prices, place, own, level - 1)
            gain = unit * float((sizes * (now - high)).sum())
        cost += unit * (float(prices.full[place].max()) - low)
    worst = float(np.max(np.where(parts > 1, cost, 0.0)))
    if worst <= 0.0:
        return 1
    return min(why.allowed + 1, max(1, math.ceil(gain / worst - 1e-6)))


def _cell_prices(prices: Prices, place: int, cells: TreeCells, level: int) -> tuple[np.ndarray, np.ndarray]:
    """Smallest and largest price, at a level, of a value that each class's node covers."""
    tree = cells.column.hierarchy
    assert tree is not None
    first = tree.node_first[cells.nodes].astype(np.int64)
    # Every second entry runs from a node's first leaf to its last; a price more lets the last node end.
    ends = np.stack([first, first + tree.node_leaves[cells.nodes]], axis=1).ravel()
    price = np.append(prices.leaf[place][level], 0.0)
    return np.minimum.reduceat(price, ends)[::2], np.maximum.reduceat(price, ends)[::2]


def least_rows(
    sizes: np.ndarray, parts: np.ndarray, k: int | None, needed: int, together: np.ndarray | None = None
) -> np.ndarray:
    """Rows that each class certainly has in each of its possible parts.

    Parameters
    ----------
    sizes, parts
        Rows of every class, and parts it may split into (1: it stays whole, and stays good).
    k
        Rows that keep a part from failing; None where parts of any size can fail.
    needed
        Rows in failing parts that the classes have between them, at least.
    together
        Group of each class: every group of classes has so many. All are one group by default.
    """
    of = np.zeros(sizes.size, dtype=np.int64) if together is None else together
    most = np.where(parts > 1, _most_bad(sizes, parts, k), 0)
    # What the others of the group cannot make up for.
    own = needed - (np.bincount(of, weights=most)[of].astype(np.int64) - most)
    least = np.zeros(sizes.size, dtype=np.int64)
    must = np.flatnonzero((own > 0) & (parts > 1))
    if k is None:
        least[must[parts[must] == 2]] = 1
        return least
    open_ = must
    for rows in range(k):
        # Fewest rows under a child with which the parts can still be bad enough.
        rest, others = sizes[open_] - rows, parts[open_] - 1
        enough = rows + np.where(rest > 0, _most_bad(rest, others, k), 0) >= own[open_]
        least[open_[enough]] = rows
        open_ = open_[~enough]
    return least


def _most_bad(rows: np.ndarray, parts: np.ndarray, k: int | None) -> np.ndarray:
    """Most rows in failing parts, over all ways to split."""
    if k is None:
        return rows
    return np.where(rows <= parts * (k - 1), rows, (parts - 1) * (k - 1))


def tree_children(tree: Hierarchy) -> tuple[np.ndarray, np.ndarray]:
    """By node id: how many children it has at the next level where it splits, and that level; 0 and 0 for a leaf."""
    total = int(tree.offsets[-1])
    children, below = np.zeros(total, dtype=np.int64), np.zeros(total, dtype=np.int64)
    for level in range(1, tree.height + 1):
        ids = tree.offsets[level] + np.arange(len(tree.labels[level]))
        for lower in range(level - 1, -1, -1):
            pairs = np.unique(tree.ancestors[level].astype(np.int64) * tree.n_leaves + tree.ancestors[lower])
            parts = np.bincount(pairs // tree.n_leaves, minlength=ids.size)
            new = (children[ids] == 0) & (parts > 1)
            children[ids[new]], below[ids[new]] = parts[new], lower
    return children, below
