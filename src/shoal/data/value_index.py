"""Different values that come bit by bit, found again by their hashes and compared.

They are kept in runs, each longer than twice the next, so that a look takes hardly longer the more values are known,
and every value is put in order a few times in all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import polars as pl

from shoal.kernels.grouping import number_key_rows

# ----------------------------------------
# The different cells of a column, found by their hashes and compared, so that long columns are looked at once.


def number_cells(cells: pl.Series, most: int | None = None) -> tuple[np.ndarray, pl.Series] | None:
    """Number cells as they first come; null is a cell like any other.

    Parameters
    ----------
    most
        Give up where there are more than so many different ones.

    Returns
    -------
    tuple or None
        uint32 number of every cell and the different ones, or None where there are too many.
    """
    numbers, first = number_key_rows(hashes(cells), cells.len() if most is None else most)
    if cells.len() and not first.size:
        return None
    different = cells.gather(first)
    if different.gather(numbers).eq_missing(cells).all():
        return numbers, different
    # Two cells of one hash.
    different = cells.unique(maintain_order=True)
    known = different.alias("cell").to_frame().with_row_index("number")
    joined = cells.alias("cell").to_frame().join(known, on="cell", how="left", nulls_equal=True, maintain_order="left")
    return joined["number"].to_numpy(), different


def hashes(cells: pl.Series) -> np.ndarray:
    """uint64 of every cell, the same for equal ones."""
    return cells.hash().to_numpy()


class _Run(NamedTuple):
    """Values that came one after another; their hashes ascend, each with the number of its value."""

    values: pl.Series
    keys: np.ndarray
    numbers: np.ndarray


class Known:
    """Different values, numbered as they came; null is one of them."""

    def __init__(self, kind: pl.DataType) -> None:
        self.count = 0
        self._none = pl.Series("value", [], dtype=kind)
        self._runs: list[_Run] = []
        self._hashed = True

    @property
    def values(self) -> pl.Series:
        """All of them, by their numbers."""
        return pl.concat([self._none, *(run.values for run in self._runs)])

    def add(self, values: pl.Series) -> None:
        """Take in values that differ from each other and from those before."""
        if not values.len():
            return
        numbers = np.arange(self.count, self.count + values.len(), dtype=np.uint32)
        self._runs.append(_sorted(values.alias("value"), hashes(values), numbers))
        self.count += values.len()
        while len(self._runs) > 1 and 2 * self._runs[-1].keys.size > self._runs[-2].keys.size:
            last, before = self._runs.pop(), self._runs.pop()
            keys, numbers = (np.concatenate([before[at], last[at]]) for at in (1, 2))
            self._runs.append(_sorted(pl.concat([before.values, last.values], rechunk=True), keys, numbers))

    def find(self, wanted: pl.Series) -> np.ndarray:
        """int64 number of each value, -1 for one that is none of them."""
        found = self._looked_up(wanted) if self._hashed else None
        if found is not None:
            return found
        self._hashed = False  # two values of one hash
        known = self.values.to_frame().with_row_index("number")
        rows = wanted.alias("value").to_frame()
        joined = rows.join(known, on="value", how="left", nulls_equal=True, maintain_order="left")["number"]
        return joined.cast(pl.Int64).fill_null(-1).to_numpy().copy()

    def _looked_up(self, wanted: pl.Series) -> np.ndarray | None:
        """The same by hashes; None where two different values have one."""
        found = np.full(wanted.len(), -1, dtype=np.int64)
        keys = hashes(wanted)
        order = np.argsort(keys)
        keys, start = keys[order], 0
        for run in self._runs:
            at = np.minimum(np.searchsorted(run.keys, keys), run.keys.size - 1)
            hits = np.flatnonzero(run.keys[at] == keys)
            numbers, mine = run.numbers[at[hits]].astype(np.int64), order[hits]
            if not run.values.gather(numbers - start).eq_missing(wanted.gather(mine)).all():
                return None
            found[mine] = numbers
            start += run.keys.size
        return found


class Different:
    """The different cells of columns that come bit by bit, without null.

    Parameters
    ----------
    known
        Those that came before.
    """

    def __init__(self, known: Mapping[str, pl.Series] | None = None) -> None:
        self._known: dict[str, Known] = {}
        for name, cells in (known or {}).items():
            self.see(cells.alias(name))

    def see(self, cells: pl.Series) -> None:
        """Take in more cells of a column, by its name."""
        found = cells.drop_nulls().unique()
        known = self._known.setdefault(cells.name, Known(found.dtype))
        known.add(found.gather(np.flatnonzero(known.find(found) < 0)))

    @property
    def columns(self) -> dict[str, pl.Series]:
        """All of them, by column."""
        return {name: known.values.alias(name) for name, known in self._known.items()}


def _sorted(values: pl.Series, keys: np.ndarray, numbers: np.ndarray) -> _Run:
    order = np.argsort(keys, kind="stable")
    return _Run(values, keys[order], numbers[order])
