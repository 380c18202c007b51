"""Records as the clustering kernels need them: quasi-identifiers and sensitive columns side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from shoal.algorithms.base import Problem
from shoal.algorithms.prices import (
    FINE,
    ColumnPrices,
    pack,
    quasi_columns,
    quasi_weights,
    sensitive_columns,
    units_of,
    weighted,
)
from shoal.data.column import Column
from shoal.data.stats import unknown_flags
from shoal.data.table import Table
from shoal.kernels.median_split import Pool, halve
from shoal.kernels.prices import Prices

_NONE = np.empty(0, dtype=np.int32)


@dataclass(frozen=True, eq=False)
class Records:
    """Rows in keyed order, or subspace after subspace.

    Attributes
    ----------
    order
        int32 input row of each.
    pool
        Codes, quasi-identifiers first; a sensitive value that is unknown is -1. Subjects and turns as seeds.
    columns
        Prices of all columns, sensitive ones by their distance.
    weights
        Of the quasi-identifiers.
    starts
        int64 where each subspace begins, and the number of rows.
    rows
        Rows of the table, which may be a sample's many times over.
    """

    order: np.ndarray
    pool: Pool
    columns: Sequence[ColumnPrices]
    weights: np.ndarray
    starts: np.ndarray
    rows: int

    @property
    def quasi(self) -> int:
        """Number of quasi-identifiers."""
        return self.weights.size

    @property
    def parts(self) -> int:
        """Number of subspaces."""
        return self.starts.size - 1

    def halved(self, size: int, *, raw: bool = False) -> Records:
        """In subspaces of at least ``size`` rows (Algorithm 2); the codes of these records are moved."""
        unseen = [0.0] * (len(self.columns) - self.quasi)
        if raw:
            widths = [column.width for column in self.columns[: self.quasi]]
            prices = pack(self.columns, *units_of(self.columns, widths + unseen, FINE))
        else:
            prices = self.prices([*self.weights, *unseen])
        places, starts = halve(self.pool.codes, prices, size)
        pool = Pool(self.pool.codes, *(one[places] if one.size else one for one in self.pool[1:]))
        return replace(self, order=self.order[places], pool=pool, starts=starts)

    def prices(self, weights: Sequence[float | Fraction]) -> Prices:
        """All columns under some weights, which may be below 0 where loss counts in favour."""
        return weighted(self.columns, weights, self.rows)

    def copy(self) -> Records:
        """The same with codes of its own."""
        pool = self.pool._replace(codes=self.pool.codes.copy())
        return replace(self, pool=pool)


def collect(
    problem: Problem, order: np.ndarray, sensitive: Sequence[Column], *, random_seeds: bool = False
) -> Records:
    """The rows numbered ``order`` as one subspace; with ``random_seeds`` every row has a turn of its own."""
    table = problem.table
    turn = _NONE
    if random_seeds and not problem.keys.identity:
        turn = (problem.keys.bits("seeds", table.row_keys[order]) >> np.uint64(33)).astype(np.int32)
    subjects = _NONE if table.subjects is None else table.subjects[order]
    pool = Pool(_codes(table, order, sensitive), subjects, turn)
    columns = [*quasi_columns(table.domain), *sensitive_columns(sensitive)]
    starts = np.array([0, order.size], dtype=np.int64)
    return Records(order, pool, columns, quasi_weights(table.domain), starts, table.n)


def _codes(table: Table, order: np.ndarray, sensitive: Sequence[Column]) -> np.ndarray:
    """As narrow as they can be, because moving them is what takes the time."""
    columns = [*table.quasi, *sensitive]
    narrow = np.int16 if max(column.card for column in columns) < 1 << 15 else np.int32
    whole = order.size == table.n
    rows = np.empty((order.size, len(columns)), dtype=narrow)
    for place, column in enumerate(columns):
        codes = table.codes[column.name] if whole else table.codes[column.name][order]
        if place >= len(table.quasi):
            known = np.where(unknown_flags(column) == 0, np.arange(column.card), -1).astype(narrow)
            codes = known[codes]
        rows[:, place] = codes
    return rows.take(order, axis=0) if whole else rows
