"""Different rows that come bit by bit, found again by their hashes and compared.

They are kept in runs, each longer than twice the next, so that a look takes hardly longer the more rows are known, and
every row is put in order a few times in all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

# Besides those of lists and records, types that are left to a join.
_UNHASHED = (pl.Categorical, pl.Enum, pl.Decimal, pl.Object, pl.Null)


class _Run(NamedTuple):
    """Rows that came one after another, from the ``start``-th on; their hashes ascend, each with a place among them."""

    start: int
    rows: pl.DataFrame
    keys: np.ndarray
    places: np.ndarray

    def followed(self, more: _Run) -> _Run:
        """These rows and those that came next."""
        keys = np.concatenate([self.keys, more.keys])
        order = np.argsort(keys, kind="stable")
        places = np.concatenate([self.places, more.places + np.uint32(self.rows.height)])
        return _Run(self.start, pl.concat([self.rows, more.rows], rechunk=True), keys[order], places[order])


class Seen:
    """Different rows in the order in which they came, by exact equality; null equals null."""

    def __init__(self) -> None:
        self.count = 0
        self._runs: list[_Run] = []
        self._fresh: list[pl.DataFrame] = []
        self._hashed = True

    @property
    def rows(self) -> pl.DataFrame:
        """All of them."""
        found = [*(run.rows for run in self._runs), *self._fresh]
        return pl.concat(found) if found else pl.DataFrame()

    def add(self, rows: pl.DataFrame) -> None:
        """Take in rows that differ from each other and from those before."""
        if rows.height or not self.count:
            self._fresh.append(rows)
        self.count += rows.height

    def find(self, wanted: pl.DataFrame) -> np.ndarray:
        """int64 place of each row, -1 for one that is none of them."""
        if not self.count:
            return np.full(wanted.height, -1, dtype=np.int64)
        if self._hashed and wanted.width and all(map(_has_hash, wanted.dtypes)):
            self._index()
            if all(run.rows.schema == wanted.schema for run in self._runs):
                found = self._looked_up(wanted)
                if found is not None:
                    return found
                self._hashed = False  # two rows of one hash
        known = self.rows.with_row_index("\x00")
        joined = wanted.join(known, on=wanted.columns, how="left", nulls_equal=True, maintain_order="left")["\x00"]
        return joined.cast(pl.Int64).fill_null(-1).to_numpy().copy()

    def _index(self) -> None:
        """Put rows that came since in order."""
        for rows in self._fresh:
            start = sum(run.rows.height for run in self._runs)
            keys = rows.hash_rows().to_numpy()
            order = np.argsort(keys, kind="stable")
            self._runs.append(_Run(start, rows, keys[order], order.astype(np.uint32)))
        self._fresh = []
        while len(self._runs) > 1 and 2 * self._runs[-1].keys.size > self._runs[-2].keys.size:
            last = self._runs.pop()
            self._runs[-1] = self._runs[-1].followed(last)

    def _looked_up(self, wanted: pl.DataFrame) -> np.ndarray | None:
        """The same by hashes; None where two different rows have one."""
        found = np.full(wanted.height, -1, dtype=np.int64)
        keys = wanted.hash_rows().to_numpy()
        order = np.argsort(keys)
        keys = keys[order]
        for run in self._runs:
            if not run.keys.size:
                continue
            at = np.minimum(np.searchsorted(run.keys, keys), run.keys.size - 1)
            hits = np.flatnonzero(run.keys[at] == keys)
            places, mine = run.places[at[hits]], order[hits]
            if not _same(run.rows[places], wanted[mine]):
                return None
            found[mine] = run.start + places.astype(np.int64)
        return found


def _has_hash(kind: pl.DataType) -> bool:
    """Whether equal cells of a type are known to have one hash."""
    return not kind.is_nested() and not isinstance(kind, _UNHASHED)


def _same(left: pl.DataFrame, right: pl.DataFrame) -> bool:
    return all(left[name].eq_missing(right[name]).all() for name in left.columns)
