"""What an engine's open table can do: count. All else works on dictionaries, or asks for the rows in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
import polars as pl

from shoal.data.classes import ClassMap, Everybody, Grouped, Together
from shoal.data.domain import Domain, Joint
from shoal.data.stats import Attribute, GroupStats, Histogram, Key, Possible
from shoal.data.texts import all_told, told
from shoal.errors import ParameterError

if TYPE_CHECKING:
    from shoal.data.table import Table


@dataclass(frozen=True, eq=False)
class Frequency:
    """Distinct combinations of quasi-identifier codes: all that full-domain methods ever see of the rows.

    Attributes
    ----------
    codes
        int32, shape (m, cells): the combinations, in ascending order of the first code, then the second, ...
    rows
        int64, rows of each cell.
    sizes
        int64, people of each cell (rows, when there is no subject column). People do not add up over cells.
    histograms
        Counts of the attributes asked for in each cell, by attribute key.
    """

    codes: np.ndarray
    rows: np.ndarray
    sizes: np.ndarray
    histograms: dict[Key, Histogram]


class Batch(Protocol):
    """Some coded rows, as far as what is published of them follows from them."""

    @property
    def rows(self) -> np.ndarray:
        """int64, their numbers among all that take part."""
        ...

    @property
    def keys(self) -> np.ndarray:
        """uint64, what their random draws are keyed by."""
        ...

    @property
    def codes(self) -> Mapping[str, np.ndarray]:
        """Codes of the quasi-identifiers and sensitive attributes."""
        ...

    @property
    def read(self) -> pl.DataFrame:
        """Every column, with dates of another format parsed."""
        ...

    def as_read(self, name: str) -> pl.Series:
        """A column as it was read, its texts one by one."""
        ...

    def column(self, name: str) -> pl.Series:
        """The same in the form in which it is kept: texts that repeat may be numbers of the different ones."""
        ...

    def held(self, names: Sequence[str]) -> pl.DataFrame:
        """Some columns in that form, with dates of another format parsed."""
        ...

    def take(self, places: np.ndarray | slice) -> Batch:
        """Some of the rows."""
        ...


@dataclass(frozen=True, eq=False)
class TableBatch:
    """Rows of a table in memory: all of them, or some in any order."""

    table: Table
    places: np.ndarray | slice = field(default_factory=lambda: slice(None))

    @cached_property
    def rows(self) -> np.ndarray:
        """Their numbers."""
        return np.arange(self.table.n)[self.places] if isinstance(self.places, slice) else self.places

    @cached_property
    def keys(self) -> np.ndarray:
        """What their random draws are keyed by."""
        return self.table.row_keys[self.places]

    @cached_property
    def codes(self) -> Mapping[str, np.ndarray]:
        """Codes of the quasi-identifiers and sensitive attributes."""
        return _Chosen(self.table.codes, self.places)

    @property
    def read(self) -> pl.DataFrame:
        """Every column, with dates of another format parsed."""
        return all_told(self.table.dated[self.places])

    def as_read(self, name: str) -> pl.Series:
        """A column as it was read."""
        return told(self.column(name))

    def column(self, name: str) -> pl.Series:
        """The same in the form in which the table keeps it."""
        return self.table.kept[name][self.places]

    def held(self, names: Sequence[str]) -> pl.DataFrame:
        """Some columns in that form, with dates of another format parsed."""
        return self.table.dated.select(names)[self.places] if names else pl.DataFrame()

    def take(self, places: np.ndarray | slice) -> TableBatch:
        """Some of the rows."""
        if isinstance(self.places, slice) and isinstance(places, slice):
            chosen = range(self.table.n)[self.places][places]
            return TableBatch(self.table, slice(chosen.start, chosen.stop))
        return TableBatch(self.table, self.rows[places])


class _Chosen(Mapping[str, np.ndarray]):
    """Entries of arrays at some places, looked up when they are asked for."""

    def __init__(self, whole: Mapping[str, np.ndarray], places: np.ndarray | slice) -> None:
        self._whole, self._places = whole, places

    def __getitem__(self, name: str) -> np.ndarray:
        return self._whole[name][self._places]

    def __iter__(self) -> Iterator[str]:
        return iter(self._whole)

    def __len__(self) -> int:
        return len(self._whole)


class Rows(Protocol):
    """An engine's open table."""

    @property
    def domain(self) -> Domain:
        """Roles, dictionaries and counts."""
        ...

    def knowing(self, domain: Domain) -> Rows:
        """The same rows with something else known of them."""
        ...

    def joined(self, names: tuple[str, ...]) -> Joint:
        """The dictionary of a tuple of columns."""
        ...

    def frequency(self, attributes: Sequence[Attribute]) -> Frequency:
        """Distinct combinations of quasi-identifier codes with weights and histograms."""
        ...

    def stats(self, classes: ClassMap, attributes: Sequence[Attribute]) -> GroupStats:
        """Sizes and histograms of classes."""
        ...

    def of_people(
        self, stats: GroupStats, classes: Grouped, guarded: Sequence[tuple[str, int]], lifted: Mapping[str, np.ndarray]
    ) -> GroupStats:
        """The same statistics with what is known of the people behind the rows.

        Sizes leave out counterfeits, breaches are those of the nodes that people guard (``guarded``: by sensitive
        column and level, -1 for the guard column; ``lifted``: nodes that stand for its values, one a row), and classes
        are broken where somebody was among other values in an earlier release.
        """
        ...

    def alone(self, columns: Sequence[str]) -> int:
        """Rows that no other row equals on some columns as they were read."""
        ...

    def narrowed(self, classes: Grouped, one: Attribute, possible: Possible) -> np.ndarray:
        """Numbers, ascending, of all rows of people for whom their classes leave too little possible.

        People who have different known values of the attribute in rows that are in a class are left out.
        """
        ...


@dataclass(frozen=True, eq=False, kw_only=True)
class Listed:
    """Some rows that are in a class.

    Attributes
    ----------
    numbers
        int64, row of the source, from 1; where rows have a key, their place among those that take part.
    classes
        Class of each.
    cells
        Columns that were asked for, as they were read.
    subjects
        Whose row each is, None where rows are people.
    """

    numbers: np.ndarray
    classes: np.ndarray
    cells: pl.DataFrame
    subjects: np.ndarray | None


@runtime_checkable
class PeopledRows(Rows, Protocol):
    """Rows of which more is asked than sizes and histograms: who stands alone, who has what, and which rows."""

    def singled(self, columns: Sequence[str]) -> int:
        """People who alone have some combination of values of some columns; missing is a value."""
        ...

    def held(self, one: Attribute | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Cell of the frequency table, value of an attribute (0 without one) and person, each combination once.

        In ascending order; where people are counted.
        """
        ...

    def listed(self, classes: Grouped, columns: Sequence[str]) -> Iterator[Listed]:
        """The rows that are in a class, in the order of the source, batch by batch."""
        ...


@runtime_checkable
class CodedRows(Rows, Protocol):
    """Rows whose codes can be had, a column at a time."""

    def codes_of(self, name: str) -> np.ndarray:
        """int32 codes of a column, one a row."""
        ...


@runtime_checkable
class ArrayRows(CodedRows, Protocol):
    """Rows whose codes are arrays of this process, for methods that look at records one by one."""

    table: Table

    def ids(self, classes: Grouped | Everybody | Together) -> np.ndarray:
        """int32 class of every row, negative for none."""
        ...

    def part(self, rows: np.ndarray, attributes: Sequence[Attribute]) -> ArrayRows:
        """Some of the rows, in which tuples of columns are coded as in the whole."""
        ...


@runtime_checkable
class BatchedRows(Rows, Protocol):
    """Rows that come in batches."""

    def values(self, name: str) -> pl.Series:
        """What is published of every code of a column where nothing changes it."""
        ...

    def coded(self) -> Iterator[tuple[Mapping[str, np.ndarray], np.ndarray]]:
        """Codes of all columns and what random draws are keyed by, batch by batch, in the order of their numbers."""
        ...


def in_batches(rows: Rows) -> BatchedRows:
    """The rows batch by batch; an engine that keeps them to itself is refused."""
    if not isinstance(rows, BatchedRows):
        raise ParameterError("This method rewrites rows batch by batch, which this engine does not give: use 'memory'.")
    return rows


def in_memory(rows: Rows) -> ArrayRows:
    """The rows as arrays; an engine that holds them elsewhere is refused."""
    if not isinstance(rows, ArrayRows):
        raise ParameterError("This method looks at rows one by one, for which they must be in memory: use that engine.")
    return rows


def with_codes(rows: Rows) -> CodedRows:
    """Rows whose codes can be had; an engine that keeps them to itself is refused."""
    if not isinstance(rows, CodedRows):
        raise ParameterError("Groups of single records need the codes of all rows: use the engine 'memory'.")
    return rows


def with_tuples(rows: Rows, tuples: Iterable[tuple[str, ...]]) -> Domain:
    """What is known of a table, with the dictionaries of some tuples of its columns."""
    found = {names: rows.joined(names) for names in tuples if len(names) > 1}
    return replace(rows.domain, joint={**rows.domain.joint, **found}) if found else rows.domain
