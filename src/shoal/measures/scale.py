"""What a column's values are on a number line, and which of them each level puts together."""

from __future__ import annotations

from datetime import date
from decimal import Decimal, InvalidOperation

import numpy as np

from shoal.data.column import TREE, Column


def is_numeric(column: Column) -> bool:
    """Whether values have distances: numbers and dates."""
    return column.type in ("numeric", "date")


def level_groups(column: Column) -> list[np.ndarray]:
    """Group of every code, level by level; a column without a hierarchy is published or starred."""
    if column.kind == TREE and column.hierarchy is not None:
        return list(column.hierarchy.ancestors)
    return [np.arange(column.card, dtype=np.int32), np.zeros(column.card, dtype=np.int32)]


def exact_number(kind: str, text: str) -> Decimal | None:
    """The number behind a text, days for dates; None where there is none."""
    try:
        found = Decimal(date.fromisoformat(text).toordinal()) if kind == "date" else Decimal(text)
    except (InvalidOperation, ValueError):
        return None
    return found if found.is_finite() else None


def exact_numbers(column: Column) -> list[Decimal | None]:
    """The exact number of every code of a numeric or date column; None for the missing one."""
    return [exact_number(column.type, text) for text in column.texts.to_list()]


def places(column: Column) -> np.ndarray:
    """Place of every code on the number line, counted from the lowest; NaN for the missing one."""
    if column.numbers is not None:
        return np.where(np.isinf(column.positions), np.nan, column.positions)
    numbers = exact_numbers(column)
    low = min((number for number in numbers if number is not None), default=Decimal(0))
    return np.array([np.nan if number is None else float(number - low) for number in numbers])


def spans(column: Column, groups: np.ndarray) -> np.ndarray:
    """Number of values that each group of a tree column reaches over, both ends included.

    Whole numbers and dates count every whole number between the lowest and the highest leaf; other numbers count the
    hierarchy's own leaves between them. A group without numbers spans one value, itself.
    """
    steps = places(column)
    known = np.flatnonzero(~np.isnan(steps))
    if (steps[known] != np.round(steps[known])).any():
        steps[known] = np.unique(steps[known], return_inverse=True)[1]
    count = int(groups.max(initial=0)) + 1
    low, high = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(low, groups[known], steps[known])
    np.maximum.at(high, groups[known], steps[known])
    return np.where(np.isinf(low), 1.0, high - low + 1.0)
