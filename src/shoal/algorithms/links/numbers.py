"""Records as points: numbers behind codes and distances between categories, for methods that reckon with them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from shoal.data.coding import code_dates, code_numbers
from shoal.data.column import TREE, Column
from shoal.data.table import Table
from shoal.errors import ParameterError
from shoal.kernels.microaggregation import Records


def is_number(column: Column) -> bool:
    """Whether a column is of numbers or dates, with a hierarchy or without."""
    return column.type in ("numeric", "date")


def is_ordered(column: Column) -> bool:
    """Whether a column is of categories in an order of their own."""
    return column.type == "ordinal" and column.kind != TREE


def numbers_of(column: Column) -> np.ndarray:
    """Number or day of every code, whether or not a hierarchy stands above them."""
    if column.numbers is not None:
        return np.array([float(x) for x in column.numbers], dtype=np.float64)
    texts = column.texts.slice(0, column.card - (column.missing >= 0))
    codes, values = code_numbers(column.name, texts) if column.type == "numeric" else code_dates(
        column.name, texts, type(column.spec)()
    )
    return values.astype(np.float64)[codes]


def refuse_missing(owner: str, columns: Sequence[Column]) -> None:
    """Refuse missing cells among numbers, dates and ordered categories: they have no mean and no middle."""
    for column in columns:
        if column.missing >= 0 and (is_number(column) or is_ordered(column)):
            count = int(column.frequencies[column.missing])
            raise ParameterError(
                f"{owner} cannot average the {count} missing cells of '{column.name}': set missing to 'drop', "
                "or fill them."
            )


def published(column: Column, numbers: np.ndarray, spots: np.ndarray) -> tuple[pl.Series, np.ndarray]:
    """Numbers, whole where all of the column are, and days as dates."""
    if column.type == "date":
        days = np.floor(spots + 0.5).astype(np.int32)
        return pl.Series(column.name, days).cast(pl.Date), days.astype(np.float64)
    if (numbers == np.floor(numbers)).all():
        spots = np.floor(spots + 0.5)
        if np.abs(numbers).max() < 1 << 53:
            return pl.Series(column.name, spots.astype(np.int64)), spots
    return pl.Series(column.name, spots), spots


def records_of(table: Table, numbers: dict[str, np.ndarray], order: np.ndarray) -> Records:
    """Coordinates and categories of the rows in keyed order; columns of one value say nothing and are left out."""
    spots, codes, trees, costs, cards = [], [], [], [], []
    for column, weight in zip(table.quasi, table.domain.quasi_weights.tolist(), strict=True):
        if is_number(column) or is_ordered(column):
            values = numbers[column.name] if is_number(column) else np.arange(column.card, dtype=np.float64)
            mine = (values - values[0])[table.codes[column.name][order]]
            deviation = mine.std()
            if deviation > 0:
                spots.append((mine - mine.mean()) * (weight**0.5 / deviation))
        elif column.card > 1:
            tree, cost = _category_distances(column, weight)
            codes.append(table.codes[column.name][order])
            trees.append(tree.ravel())
            costs.append(cost.ravel())
            cards.append(column.card)
    n = order.size
    return Records(
        spots=np.stack(spots) if spots else np.empty((0, n)),
        codes=np.stack(codes) if codes else np.empty((0, n), dtype=np.int32),
        tree=np.concatenate([np.empty(0, dtype=np.int32), *trees]).astype(np.int32),
        cost=np.concatenate([np.empty(0), *costs]),
        tree_at=np.cumsum([0, *(tree.size for tree in trees)], dtype=np.int64),
        card=np.array(cards, dtype=np.int64),
    )


def _category_distances(column: Column, weight: float) -> tuple[np.ndarray, np.ndarray]:
    """Ancestors by level and code, and the squared distance of two values that meet there first."""
    if column.hierarchy is None:
        tree = np.stack([np.arange(column.card, dtype=np.int32), np.zeros(column.card, dtype=np.int32)])
        return tree, np.stack([np.zeros(column.card), np.full(column.card, weight)])
    width = (column.hierarchy.leaf_counts - 1.0) / (column.hierarchy.n_leaves - 1.0)
    return column.hierarchy.ancestors, weight * width**2
