"""What an engine must do: open a table, and count its rows for whoever asks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np
import polars as pl

from shoal.data.coding import numbered
from shoal.data.domain import Domain
from shoal.data.rows import Rows
from shoal.data.table import Table


class Engine(Protocol):
    """Where the rows of a table are counted."""

    def open(self, table: Table) -> Rows:
        """The table's rows, ready to be counted."""
        ...


@runtime_checkable
class Keeping(Protocol):
    """Where rows come from, and a release can go to as a table."""

    def write(
        self, frames: Iterable[pl.DataFrame], types: Sequence[pl.DataType], unchanged: Collection[str], comment: str
    ) -> int:
        """Write the table that the source was opened with, for nobody to see yet; gives how many rows it has."""
        ...

    def commit(self) -> None:
        """Let everybody see it."""
        ...


# ----------------------------------------
# What the coder made of the different values of a source that an engine keeps.


@dataclass(frozen=True, eq=False, kw_only=True)
class Dictionaries:
    """What the coder made of the different values of a source.

    Attributes
    ----------
    domain
        Roles, dictionaries and counts of all rows.
    plain, parsed
        Coded column to its values as they were read, by their numbers; with dates of another format parsed.
    codes
        Coded column to the code of every value.
    subjects
        The people, by their numbers; None where rows are people, or hold who they are about themselves.
    dropped
        Column to values of rows that are left out.
    """

    domain: Domain
    plain: Mapping[str, pl.Series]
    parsed: Mapping[str, pl.Series]
    codes: Mapping[str, np.ndarray]
    subjects: pl.Series | None
    dropped: Mapping[str, pl.Series]
    n_read: int

    @cached_property
    def spelled(self) -> list[str]:
        """Columns in which several values have one code, such as 1 and 1.0."""
        return [name for name, codes in self.codes.items() if np.unique(codes).size < codes.size]

    @cached_property
    def ordered(self) -> dict[str, pl.Series]:
        """Coded column to its values as they were read, in ascending order, however they were numbered."""
        return {name: column.sort() for name, column in self.plain.items()}

    @cached_property
    def ranks(self) -> dict[str, np.ndarray]:
        """The place there of every value, in as few bytes as it takes, by what those of rows are looked up by."""
        found = {}
        for name, column in self.plain.items():
            ranks = np.empty(column.len(), dtype=np.min_scalar_type(column.len()))
            ranks[column.arg_sort().to_numpy()] = np.arange(column.len())
            found[name] = pl.Series(ranks)
        return {name: ranks.to_numpy() for name, ranks in self._looked_up(found).items()}

    @cached_property
    def as_read(self) -> dict[str, pl.Series]:
        """The values as they were read, by the same."""
        return self._looked_up(self.plain)

    @cached_property
    def as_parsed(self) -> dict[str, pl.Series]:
        """The same with dates of another format parsed."""
        return self._looked_up(self.parsed)

    @cached_property
    def held(self) -> dict[str, pl.Series]:
        """The parsed values, texts as numbers of themselves: rows that are made of them hold no text of their own."""
        return {name: numbered(column) for name, column in self.as_parsed.items()}

    def _looked_up(self, values: Mapping[str, pl.Series]) -> dict[str, pl.Series]:
        """Something of every value by its code, or by its number where several have one code."""
        found = dict(values)
        for name in values.keys() - set(self.spelled):
            value_of = np.zeros(self.domain.columns[name].card, dtype=np.int64)
            value_of[self.codes[name]] = np.arange(self.codes[name].size)
            found[name] = values[name].gather(value_of)
        return found
