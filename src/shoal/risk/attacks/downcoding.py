"""Downcoding: narrowing published cells because an algorithm that generalises no more than it must made them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.data.column import Column
from shoal.kernels.grouping import group_ranges
from shoal.recoding.cells import CellColumn, IntervalCells, SetCells, TreeCells
from shoal.recoding.recoded import Released
from shoal.recoding.recodings import CellGrouping, Grouping
from shoal.risk.attacks.base import Attack, AttackResult, figure
from shoal.risk.attacks.case import AttackCase
from shoal.risk.attacks.optimality_leak import forced_splits, tree_children


@dataclass(frozen=True, eq=False, kw_only=True)
class _Claims:
    """Claims about one column, a class: how many are made and how many are true.

    ``wide`` flags classes whose cell covers several values; ``naive`` is how many of as many values drawn from the cell
    would occur in the class.
    """

    made: np.ndarray
    true: np.ndarray
    naive: np.ndarray
    wide: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Downcoding(Attack):
    """The attacker knows that cells are no wider than they must be, and deduces values that have to be in a class.

    Of groups that are generalised to their own extent, both ends of an interval occur, every value of a set, and both
    children of a node that has two. Of full-domain and subtree recodings, enough rows would have been in bad classes
    one level below; where all other classes together cannot have held so many, a class did split, and into how many
    parts follows (Cohen 2022). Every value that is deduced narrows the cell of one record of the class. The baseline
    draws as many values at random from the cell.
    """

    name: ClassVar = "downcoding"
    needs: ClassVar = ("input",)

    def run(self, case: AttackCase) -> AttackResult:
        """Deduce, then check against the input."""
        assert case.release is not None
        released = case.release.released
        local = isinstance(released.recoding, Grouping | CellGrouping)
        splits = {} if local else forced_splits(case.release)
        none = np.zeros(released.n_classes, dtype=np.int64)
        found = {
            name: _claims(released, cells, None if local else splits.get(name, none))
            for name, cells in released.cells.items()
        }
        sizes = released.sizes.astype(np.float64)
        cells = sum((sizes * one.wide for one in found.values()), np.zeros(sizes.size))
        true = sum((one.true for one in found.values()), np.zeros(sizes.size))
        naive = sum((one.naive for one in found.values()), np.zeros(sizes.size))
        made = float(sum(one.made.sum() for one in found.values()))
        total = float(cells.sum())
        share, baseline = (float(true.sum()) / total, float(naive.sum()) / total) if total else (0.0, 0.0)
        trials = _worth(true, cells, share)
        how = "the extents of groups" if local else "the fact that less generalisation would not do"
        right = f", and {true.sum() / made:.1%} of what was deduced is true" if made else ""
        sentence = (
            f"From {how}, {share:.1%} of the {total:,.0f} generalised cells are narrowed{right}; values drawn from the "
            f"cells at random would narrow {baseline:.1%}."
        )
        columns = {name: float(one.true.sum() / max((sizes * one.wide).sum(), 1.0)) for name, one in found.items()}
        return self.result(
            [figure("downcoding", share, trials, sentence, baseline=baseline)],
            "What is deduced is which values occur among the records of a class, and people outside the data have none "
            "there, so no control is possible.", columns=columns, claims=made,
        )  # fmt: skip


def _worth(true: np.ndarray, cells: np.ndarray, share: float) -> int:
    """Trials that the share is worth: cells of one class are narrowed together."""
    total = float(cells.sum())
    variance = float(((true - share * cells) ** 2).sum()) / max(total, 1.0) ** 2
    if variance <= 0.0 or share * (1.0 - share) <= 1e-12:
        return int(min(total, max(1, (cells > 0).sum()))) if total else 0
    return int(min(total, max(1.0, share * (1.0 - share) / variance)))


def _claims(released: Released, cells: CellColumn, least: np.ndarray | None) -> _Claims:
    """Claims about a column; ``least`` rows are certain for each child of a node, None where extents are known."""
    column = cells.column
    rows = np.flatnonzero(released.classes >= 0)
    classes, codes = released.classes[rows], released.table.codes[column.name][rows]
    if isinstance(cells, TreeCells):
        return _node_claims(cells, classes, codes, least)
    if least is not None:  # published or starred as a whole
        return _nothing(released.n_classes, cells.covered() > 1 if column.whole else cells.spread() > 0)
    if isinstance(cells, SetCells):
        return _set_claims(cells, classes, codes, released.n_classes)
    assert isinstance(cells, IntervalCells)
    return _interval_claims(cells, classes, codes, released.n_classes)


def _nothing(n: int, wide: np.ndarray) -> _Claims:
    zero = np.zeros(n)
    return _Claims(made=zero, true=zero, naive=zero, wide=np.asarray(wide, dtype=bool))


def _distinct(column: Column, classes: np.ndarray, codes: np.ndarray, n: int) -> np.ndarray:
    """Different values of each class."""
    return np.bincount(np.unique(classes.astype(np.int64) * column.card + codes) // column.card, minlength=n)


def _drawn(present: np.ndarray, covered: np.ndarray, claims: np.ndarray) -> np.ndarray:
    """Expected different values of a class among as many draws from what its cell covers."""
    return present * (1.0 - (1.0 - 1.0 / np.maximum(covered, 1.0)) ** claims)


def _interval_claims(cells: IntervalCells, classes: np.ndarray, codes: np.ndarray, n: int) -> _Claims:
    """Both ends of an interval, or of a run of ordered values."""
    column = cells.column
    low, high = group_ranges(codes, classes, n)
    if column.numbers is not None and column.numbers.size:
        ends = cells.bounds
        top = column.numbers.size - 1
        at = [np.clip(np.searchsorted(column.numbers, end), 0, top) for end in ends]
        real = [column.numbers[place] == end for place, end in zip(at, ends, strict=True)]
        first = np.searchsorted(column.numbers, ends[0], side="left")
        last = np.searchsorted(column.numbers, ends[1], side="right") - 1
        wide = ends[0] != ends[1]
    else:
        at, real = [cells.low, cells.high], [np.ones(n, dtype=bool)] * 2
        first, last, wide = cells.low, cells.high, cells.low != cells.high
    open_ = np.asarray(wide, dtype=bool) & ~cells.star & ~cells.missing
    true = (real[0] & (at[0] == low)).astype(np.float64) + (real[1] & (at[1] == high))
    made = np.where(open_, 2.0, 0.0)
    naive = _drawn(_distinct(column, classes, codes, n), (last - first + 1).astype(np.float64), made)
    return _Claims(
        made=made, true=np.where(open_, true, 0.0), naive=np.where(open_, naive, 0.0), wide=open_ | cells.star
    )


def _set_claims(cells: SetCells, classes: np.ndarray, codes: np.ndarray, n: int) -> _Claims:
    """Every value of a set; one that was widened because a value is missing says nothing."""
    covered = cells.covered()
    present = _distinct(cells.column, classes, codes, n).astype(np.float64)
    open_ = (covered > 1) & ~((covered == cells.column.card) & (cells.column.missing >= 0))
    made = np.where(open_, covered, 0.0)
    naive = np.where(open_, _drawn(present, covered, made), 0.0)
    return _Claims(made=made, true=np.where(open_, present, 0.0), naive=naive, wide=covered > 1)


def _node_claims(cells: TreeCells, classes: np.ndarray, codes: np.ndarray, least: np.ndarray | None) -> _Claims:
    """Both children of a node that has two in classes of their own extent; else each child in ``least`` rows."""
    tree = cells.column.hierarchy
    assert tree is not None
    n = cells.nodes.size
    wide = tree.node_leaves[cells.nodes] > 1
    children, below = tree_children(tree)
    many = children[cells.nodes]
    each = (wide & (many == 2)).astype(np.int64) if least is None else np.where(wide, least, 0)
    # Rows of each class under each child.
    pairs = classes.astype(np.int64) * tree.n_leaves + tree.ancestors[below[cells.nodes[classes]], codes]
    pair, rows = np.unique(pairs, return_counts=True)
    of = pair // tree.n_leaves
    true = np.bincount(of, weights=np.minimum(rows, each[of]), minlength=n)
    naive = np.zeros(n)
    for parts, share in {(int(a), int(b)) for a, b in zip(many[each > 0], each[each > 0], strict=True)}:
        mine = np.flatnonzero((many[of] == parts) & (each[of] == share))
        naive += np.bincount(of[mine], weights=_expected(parts, share, rows[mine]), minlength=n)
    return _Claims(made=(each * many).astype(np.float64), true=true, naive=naive, wide=wide)


def _expected(parts: int, share: int, rows: np.ndarray) -> np.ndarray:
    """Rows of a child that as many guesses as are claimed, drawn at random among the children, would name on average.

    Guesses of one child are binomial; no more of them are right than it has rows, nor count than are claimed of it.
    """
    draws, p = parts * share, 1.0 / parts
    chance = np.array([math.comb(draws, d) * p**d * (1.0 - p) ** (draws - d) for d in range(draws + 1)])
    at_least = np.cumsum(chance[::-1])[::-1]
    sums = np.concatenate([[0.0], np.cumsum(at_least[1:])])
    return sums[np.minimum(rows, share)]
