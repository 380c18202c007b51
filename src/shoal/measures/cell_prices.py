"""What cells lose of their column's research value, from 0 to 1, for methods that group records by prices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoal.data.column import FLAT, TREE, Column
from shoal.measures.constraints import Constraint
from shoal.measures.published import Labels
from shoal.measures.scale import is_numeric, spans

# What a column of numbers is taken to span, as a share of all, before there are groups.
_FIRST = 0.1


def cell_prices(column: Column, by_hand: Sequence[float] | None, rules: Sequence[Constraint]) -> np.ndarray | None:
    """Price of every code's cell at every level, shape (levels, codes); of sets by their size; None for intervals.

    Whoever breaks a rule pays the rule's share of what is left, and for one that must be kept everything.
    """
    if column.kind == FLAT:
        size = np.arange(column.card + 1, dtype=np.float64)
        price = np.where(size > 0, 1.0 - 1.0 / np.maximum(size, 1.0), 0.0)
        price[-1] = float(column.card > 1)
        return price if by_hand is None else (size > 1).astype(np.float64)
    tree = column.hierarchy
    if column.kind != TREE or tree is None:
        return None
    levels = [_level_prices(column, level, by_hand) for level in range(tree.height + 1)]
    total = sum(rule.importance for rule in rules)
    broken = [np.zeros(price.size) for price in levels]
    for rule in rules:
        for flags, mine in zip(rule.breaking(Labels(column)), broken, strict=True):
            mine += flags * (1.0 if rule.keep else 0.0 if by_hand is not None else rule.importance / total)
    return np.stack(
        [
            (price + (1.0 - price) * np.minimum(share, 1.0))[nodes]
            for price, share, nodes in zip(levels, broken, tree.ancestors, strict=True)
        ]
    )


def _level_prices(column: Column, level: int, by_hand: Sequence[float] | None) -> np.ndarray:
    """Price of each node of a level, without rules."""
    tree = column.hierarchy
    assert tree is not None
    nodes = tree.ancestors[level]
    count = len(tree.labels[level])
    if by_hand is not None:
        most = max(by_hand)
        return np.full(count, (most - by_hand[level]) / most if most else 0.0)
    if is_numeric(column):
        return (spans(column, nodes) - 1.0) / max(numbers_spanned(column) - 1.0, 1.0)
    leaves = np.bincount(nodes, minlength=count)
    return np.where(leaves == column.card, float(column.card > 1), 1.0 - 1.0 / leaves)


def numbers_spanned(column: Column) -> float:
    """Number of values that a cell of everything reaches over."""
    if column.kind == TREE:
        return float(spans(column, np.zeros(column.card, dtype=np.int64))[0])
    return float(column.domain_size)


def slope(column: Column, spread: float | None) -> float:
    """How fast the detail of a column falls with the mean price of its cells, where that stands now.

    Detail of numbers is one over the mean of the values spanned; that of others is one less the price.
    """
    if not is_numeric(column):
        return 1.0
    wide = numbers_spanned(column) - 1.0
    return float(wide / (1.0 + (_FIRST if spread is None else spread) * wide) ** 2)
