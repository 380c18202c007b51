"""Records as the clustering kernels need them: quasi-identifiers and sensitive columns side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from shoal.algorithms.base import Problem, column_geometry, with_pairs
from shoal.kernels.partition.median import halve
from shoal.kernels.price.geometry import FLAT, INTERVAL, Geometry, list_pairs
from shoal.kernels.price.pools import Pool
from shoal.table.closeness import closeness
from shoal.table.column import Column
from shoal.table.stats import unknown_flags
from shoal.table.table import Table

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
    geo
        Geometry of all columns, sensitive ones by their distance and with weight 0.
    starts
        int64 where each subspace begins, and the number of rows.
    quasi
        Number of quasi-identifiers.
    """

    order: np.ndarray
    pool: Pool
    geo: Geometry
    starts: np.ndarray
    quasi: int

    @property
    def parts(self) -> int:
        """Number of subspaces."""
        return self.starts.size - 1

    def halved(self, size: int, *, raw: bool = False) -> Records:
        """In subspaces of at least ``size`` rows (Algorithm 2); the codes of these records are moved."""
        places, starts = halve(self.pool.codes, self.geo, size, raw)
        pool = Pool(self.pool.codes, *(one[places] if one.size else one for one in self.pool[1:]))
        return replace(self, order=self.order[places], pool=pool, starts=starts)

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
    geo = _geometry(table, sensitive)
    return Records(order, pool, geo, np.array([0, order.size], dtype=np.int64), len(table.quasi))


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


def _geometry(table: Table, sensitive: Sequence[Column]) -> Geometry:
    """Sensitive columns are published as they are, so nothing is snapped, and unknown values have no place."""
    quasi = len(table.quasi)
    weights = np.concatenate((table.domain.quasi_weights, np.zeros(len(sensitive))))
    geo = column_geometry([*table.quasi, *sensitive], weights, table.domain.cuts)
    for place, column in enumerate(sensitive, start=quasi):
        near = closeness(column, unknown_flags(column))
        geo.missing[place] = -1
        geo.scale[place] = 1.0 / near.scale if near.scale > 0 else 0.0
        if geo.kind[place] == INTERVAL:
            mine = slice(geo.place_at[place], geo.place_at[place + 1])
            geo.place[mine] = geo.top[mine] = near.ref
        elif geo.kind[place] != FLAT:
            geo.leaves[geo.tree_at[place] : geo.tree_at[place + 1]] = near.ref
    return with_pairs(geo)._replace(pair=list_pairs(geo, geo.pair_at, geo.pair.size))
