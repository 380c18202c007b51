"""Which class a row is in: small tables that any engine can join with, or a number a row where rows are in memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class RowIds:
    """The class of every row (int32, negative: in none), for rows in memory."""

    ids: np.ndarray
    groups: int


@dataclass(frozen=True, eq=False)
class Cells:
    """The class of every cell of the frequency table (negative: in none), in the order of its cells."""

    of: np.ndarray
    groups: int


@dataclass(frozen=True)
class Everybody:
    """All rows as one class."""

    groups: int = 1


ClassMap = RowIds | Cells | Everybody


def together(classes: ClassMap, good: np.ndarray) -> ClassMap:
    """The rows of the flagged classes as one class, all others in none."""
    if isinstance(classes, Everybody):
        return classes
    if isinstance(classes, Cells):
        return Cells(_first_or_none(classes.of, good), 1)
    return RowIds(_first_or_none(classes.ids, good), 1)


def _first_or_none(of: np.ndarray, good: np.ndarray) -> np.ndarray:
    return np.where(np.append(good, False)[of], 0, -1).astype(np.int32)
