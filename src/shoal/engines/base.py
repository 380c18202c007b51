"""Protocols and capabilities of engines, which open a table and count its rows."""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import polars as pl

from shoal.data.classes import Grouped
from shoal.data.coding import numbered
from shoal.data.domain import Domain, History
from shoal.data.keys import Keys
from shoal.data.rows import ArrayRows, Batch, PeopledRows, Rows
from shoal.data.stats import Attribute
from shoal.data.table import Table
from shoal.recoding.publish import Published, Publisher


class Capability(enum.Enum):
    """An ability of some engines, beyond counting rows and giving them back batch by batch."""

    ARRAYS = "hold all rows as arrays of this process"
    LOAD = "bring records into memory, some at a time or all of them"
    SOURCE_ORDER = "keep the order of the source"
    PEOPLE = "list people who have several rows"
    GUARDS = "look up guarded nodes row by row"
    DERIVE = "change columns before they are coded"
    SAMPLE = "draw a sample of the rows"
    FORMATS = "read decimal and thousands marks, sheets, items and markers of single columns"
    HISTORY = "follow people through earlier releases"
    WORKLOAD = "weigh columns by what a workload asks of the rows"


class Engine(Protocol):
    """Where the rows of a table are counted."""

    capabilities: frozenset[Capability]

    def open(self, table: Table) -> Rows:
        """The table's rows, ready to be counted."""
        ...


Arrange = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


class OpenRows(PeopledRows, Protocol):
    """The rows of a source, from which a release can be made: they are counted, and come back in batches."""

    @property
    def capabilities(self) -> frozenset[Capability]:
        """Abilities of their engine."""
        ...

    @property
    def n_read(self) -> int:
        """Rows that were read."""
        ...

    @property
    def n_dropped(self) -> int:
        """Rows that take no part, for missing cells or because they were not drawn."""
        ...

    @property
    def counterfeits(self) -> int:
        """How many of the last rows were made up by the method."""
        ...

    @property
    def followed(self) -> list[str]:
        """Columns that are dropped and can be looked at, or hashes of their cells."""
        ...

    @property
    def history(self) -> pl.Series | None:
        """Values that the classes of each row's person had in earlier releases, None where nothing is known of any."""
        ...

    def knowing(self, domain: Domain) -> OpenRows:
        """The same rows with something else known of them."""
        ...

    def remembering(self, history: History) -> OpenRows:
        """The same rows with what earlier releases left of their people, on an engine that follows them."""
        ...

    def batches(self, order: str = "kept") -> Iterator[Batch]:
        """All rows in the order of the source."""
        ...

    @property
    def ordered(self) -> Mapping[str, pl.Series]:
        """Values of coded columns, ascending, by which rows can be hashed batch by batch; empty where they need not."""
        ...

    def ranked(self, batch: Any) -> pl.DataFrame | None:
        """Every column as it was read, values of coded ones as their places in `ordered`."""
        ...

    def arranged(self, bits: Arrange) -> Iterator[Batch]:
        """Rows in another order: told numbers and keys, ``bits`` gives who is kept, and by what."""
        ...

    def placing(self, classes: Grouped) -> Callable[[Any], np.ndarray]:
        """Return a function that gives the class of every row of a batch."""
        ...

    def published(self, publisher: Publisher, order: str, keys: Keys) -> Iterator[Published]:
        """Released rows, their classes, and what is published of them."""
        ...

    def suppressed(self, classes: Grouped) -> np.ndarray:
        """Numbers of the rows that are in no class."""
        ...

    def row_keys(self) -> np.ndarray:
        """uint64, what the random draws of every row are keyed by."""
        ...

    def fetched(self, rows: np.ndarray | None, attributes: Sequence[Attribute]) -> ArrayRows:
        """Some rows, or all of them, as arrays of codes."""
        ...

    def most(self, memory: int) -> int:
        """Rows whose records can be grouped in so many bytes."""
        ...

    def needed(self, rows: int) -> float:
        """Bytes in which so many rows can be grouped."""
        ...

    def most_cells(self, memory: int) -> int:
        """Combinations of quasi-identifiers that can be searched in so many bytes."""
        ...

    def n_cells(self) -> int:
        """How many combinations of quasi-identifiers there are."""
        ...

    def holds_cells(self, most: int) -> bool:
        """Whether there are no more than so many of them."""
        ...

    def cells_needed(self, cells: int) -> float:
        """Bytes in which so many combinations can be searched."""
        ...

    def people_needed(self, names: int) -> int:
        """Bytes in which the gate can look for so many different identifiers, and for everybody."""
        ...

    def people_with(self, name: str) -> np.ndarray:
        """How many people have each value of a column."""
        ...

    def cell_of(self, codes: Sequence[np.ndarray]) -> np.ndarray:
        """Places in the frequency table of some quasi-identifier codes."""
        ...

    def cells(self, name: str) -> Iterator[pl.Series]:
        """All cells of a column that is not coded, as they are kept."""
        ...

    def left_out(self, names: Sequence[str]) -> dict[str, pl.Series]:
        """Cells of some columns in rows that take no part."""
        ...

    def read_columns(self) -> Iterator[tuple[str, pl.Series]]:
        """Everything that was read, by column."""
        ...

    def forget(self) -> None:
        """Leave what was counted."""
        ...

    def private(self, name: str) -> Path:
        """A new folder in the scratch of these rows."""
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
