"""Records as the clustering kernels need them: quasi-identifiers and sensitive columns side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from shoal.algorithms.base import Problem, shuffled_codes
from shoal.algorithms.grouping import Grouper
from shoal.algorithms.prices import (
    FINE,
    ColumnPrices,
    pack,
    prices_of,
    quasi_columns,
    quasi_weights,
    sensitive_columns,
    units_of,
    weighted,
)
from shoal.data.column import Column
from shoal.data.stats import unknown_flags
from shoal.data.table import Table
from shoal.errors import ParameterError
from shoal.kernels.grouping import group_rows
from shoal.kernels.median_split import Pool, halve
from shoal.kernels.prices import Prices
from shoal.params import whole
from shoal.recoding.recodings import Grouping

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


# ----------------------------------------
# What the clustering methods share: the keyed order of the rows, and subspaces in which they can work.


@dataclass(frozen=True, eq=False)
class Parts:
    """Rows part by part, and in keyed order within each; the place of a row is its number in this order.

    Attributes
    ----------
    rows
        int32 row of the table at each place.
    codes
        (n, columns) quasi-identifier codes at each place.
    starts
        int64 (parts + 1): first place of each part, and n.
    """

    rows: np.ndarray
    codes: np.ndarray
    starts: np.ndarray

    @property
    def count(self) -> int:
        """How many parts there are."""
        return self.starts.size - 1

    @property
    def said(self) -> str:
        """Where the work is done, for progress."""
        return f" in {self.count} subspaces" if self.count > 1 else ""

    def numbers(self) -> np.ndarray:
        """The part of each place."""
        return np.repeat(np.arange(self.count), np.diff(self.starts))


@dataclass(frozen=True, kw_only=True)
class Clusterer(Grouper):
    """A grouper whose cost grows with the square of the rows, unless it works in subspaces.

    Parameters
    ----------
    prepartition
        Halve the table along medians first, into subspaces of this many rows up to twice as many, and work in each
        by itself. Off by default: groups across subspaces are never found.
    """

    prepartition: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.prepartition is not None:
            size = whole(type(self).__name__, "prepartition", self.prepartition, least=2)
            object.__setattr__(self, "prepartition", size)
        if self.k is not None:
            self._check_size(self.k)

    def _check_size(self, k: int) -> None:
        if self.prepartition is not None and self.prepartition < k:
            raise ParameterError(
                f"The 'prepartition' of {type(self).__name__} must be at least k = {k}. Got {self.prepartition}."
            )

    def parts(self, problem: Problem) -> Parts:
        """The subspaces to work in, or everything as one."""
        self._check_size(problem.judge.k)
        order, codes = shuffled_codes(problem)
        if self.prepartition is None:
            return Parts(order, codes, np.array([0, codes.shape[0]], dtype=np.int64))
        problem.progress("halving the table into subspaces")
        moved, starts = halve(codes, prices_of(problem.domain), self.prepartition)
        return Parts(order[moved], codes, starts)

    def grouping(self, parts: Parts, ids: np.ndarray, notes: Mapping[str, Any]) -> Grouping:
        """Group numbers of places (-1: suppressed), without gaps, as a grouping of rows."""
        found = np.empty(ids.size, dtype=np.int32)
        found[parts.rows] = ids
        groups = int(ids.max(initial=-1)) + 1
        kept = int((ids >= 0).sum())
        common: dict[str, Any] = {"clusters": groups, "mean_size": kept / groups if groups else 0.0}
        if self.prepartition is not None:
            common |= {"prepartition": self.prepartition, "subspaces": parts.count}
        return Grouping(ids=found, groups=groups, notes=common | dict(notes))


def across_parts(parts: Parts, ids: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Group numbers that start from 0 in each part, made distinct."""
    first = np.cumsum(counts) - counts
    return (ids + first[parts.numbers()]).astype(np.int32)


def equal_records(parts: Parts, codes: np.ndarray, cards: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Equal records of a part as one entry; ``codes`` is (columns, n).

    Returns places, an entry after another and in order within each; where each entry starts, and n; its part.
    """
    same, kinds, _ = group_rows(np.ascontiguousarray(codes, dtype=np.int32), cards)
    keys = parts.numbers() * kinds.size + same
    places = np.argsort(keys, kind="stable")
    first = np.flatnonzero(np.diff(keys[places], prepend=-1))
    return places, np.append(first, places.size), keys[places[first]] // kinds.size


def local_values(
    part: np.ndarray, count: int, codes: np.ndarray, cards: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each part's own values of every column, so that tables of prices are no longer than the part.

    Parameters
    ----------
    part
        Part of each item, of ``count`` parts.
    codes
        (columns, items).

    Returns
    -------
    local, values, value_at
        int32 (columns, items) number of each value among its part's; the values, part after part and column after
        column within each; (parts, columns + 1) where they start.
    """
    m = cards.size
    local = np.empty(codes.shape, dtype=np.int32)
    sizes = np.empty((count, m), dtype=np.int64)
    owners, found = [], []
    for a, card in enumerate(cards.tolist()):
        pairs, places = np.unique(part * card + codes[a], return_inverse=True)
        starts = np.searchsorted(pairs, np.arange(count + 1) * card)
        local[a] = places - starts[part]
        sizes[:, a] = np.diff(starts)
        owners.append(pairs // card * m + a)
        found.append(pairs % card)
    ends = np.cumsum(sizes.ravel()).reshape(sizes.shape)
    value_at = np.concatenate([ends[:, :1] - sizes[:, :1], ends], axis=1)
    order = np.argsort(np.concatenate(owners), kind="stable")
    return local, np.concatenate(found)[order].astype(np.int32), value_at
