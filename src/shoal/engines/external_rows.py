"""Rows that an engine keeps elsewhere: what a batch of them is, how it was read, and how it is published."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from shoal.data.classes import Grouped, RowIds
from shoal.data.coding import canonical_text, categories_as_text
from shoal.data.dates import as_declared
from shoal.data.domain import Domain, History
from shoal.data.keys import Keys, key_hashes
from shoal.data.rows import Listed
from shoal.data.schema import ColumnSpec, Schema
from shoal.data.stats import Attribute, Possible
from shoal.engines import sql
from shoal.engines.base import Arrange, Capability, Dictionaries
from shoal.engines.memory import MemoryRows
from shoal.engines.sql_rows import CountedRows, Database
from shoal.errors import InputError
from shoal.recoding.publish import Published, Publisher

# ----------------------------------------
# How much memory a run takes of rows that are kept elsewhere, as measured, and whether it has as much.


# What is left of a run's memory to kernels, and bytes that they take of a cell and of a row.
_KERNELS, _CELL, _ROW = 0.35, 24, 64
# Bytes of a combination and a value that occurs with it, while those of some combinations are put together.
_PAIR = 24
# Bytes that the gate holds of a different value of an identifier, and of a person with rows of their own.
_NAME, _PERSON = 280, 670


class SizedRows(CountedRows):
    """Rows that a database counts, and what is needed for them."""

    def most(self, memory: int) -> int:
        """Rows whose records can be grouped in so many bytes."""
        return max(int(memory * _KERNELS) // self._bytes, 1)

    def needed(self, rows: int) -> float:
        """Bytes in which so many rows can be grouped."""
        return rows * self._bytes / _KERNELS

    def most_cells(self, memory: int) -> int:
        """Combinations of quasi-identifiers that can be searched in so many bytes."""
        most = bisect_right(range(self.domain.n + 1), memory, key=lambda cells: math.ceil(self.cells_needed(cells)))
        return max(most - 1, 1)

    def cells_needed(self, cells: int) -> float:
        """Bytes in which so many combinations can be searched, with the values that occur with them."""
        words = 2 * (8 * len(self.packing.words) + 4 * len(self.domain.quasi) + 24)
        pairs = sum(min(self.domain.n, cells * column.card) for column in self.domain.sensitive)
        return (cells * words + _PAIR * pairs) / _KERNELS

    def people_needed(self, names: int) -> int:
        """Bytes in which the gate can look for so many different identifiers, and for everybody."""
        return names * _NAME + (self.domain.n_subjects * _PERSON if self.domain.by_people else 0)

    @property
    def _bytes(self) -> int:
        return _CELL * len(self.places) + _ROW


@dataclass(frozen=True, eq=False, kw_only=True)
class StoredBatch:
    """Some rows that take part.

    Attributes
    ----------
    rows
        int64, their numbers among all that take part, in the order of the source.
    drawn
        uint64, what their random draws are keyed by; None where that follows from their key alone.
    key
        The column that tells them apart, if one does.
    codes
        Codes of the quasi-identifiers and sensitive attributes.
    spelled
        Numbers of the values of columns in which several have one code.
    others
        Columns that are not coded, as they were read.
    known
        What values the codes stand for.
    """

    rows: np.ndarray
    drawn: np.ndarray | None
    key: str | None
    codes: Mapping[str, np.ndarray]
    spelled: Mapping[str, np.ndarray]
    others: pl.DataFrame
    known: Dictionaries

    @cached_property
    def keys(self) -> np.ndarray:
        """uint64, what their random draws are keyed by."""
        return key_hashes(canonical_text(self.as_read(self.key or ""))) if self.drawn is None else self.drawn

    def as_read(self, name: str) -> pl.Series:
        """A column as it was read."""
        return self.column(name)

    def column(self, name: str) -> pl.Series:
        """The same, which is how it is kept."""
        return self.known.as_read[name].gather(self._numbers(name)) if name in self.codes else self.others[name]

    @cached_property
    def ranked(self) -> pl.DataFrame:
        """Every column as it was read, values of coded ones as their places in `Dictionaries.ordered`."""
        places = [pl.Series(name, self.known.ranks[name][self._numbers(name)]) for name in self.codes]
        return pl.DataFrame([*places, *self.others.iter_columns()])

    @cached_property
    def read(self) -> pl.DataFrame:
        """Every column with dates of another format parsed."""
        coded = [self.known.as_parsed[name].gather(self._numbers(name)) for name in self.codes]
        return pl.DataFrame([*coded, *self._dated.iter_columns()])

    def held(self, names: Sequence[str]) -> pl.DataFrame:
        """Some columns of that, in which texts of coded ones are kept as numbers of the different ones."""
        return pl.DataFrame(
            [
                self.known.held[name].gather(self._numbers(name)) if name in self.codes else self._dated[name]
                for name in names
            ]
        )

    @cached_property
    def _dated(self) -> pl.DataFrame:
        """Columns that are not coded, with dates of another format parsed."""
        return self.others.with_columns(_dates(self.known.domain.schema, self.others))

    def _numbers(self, name: str) -> np.ndarray:
        """What values of rows are looked up by: the codes, or their own numbers where several have one code."""
        return self.spelled[name] if name in self.spelled else self.codes[name]

    def take(self, places: np.ndarray | slice) -> StoredBatch:
        """Some of them."""
        return StoredBatch(
            rows=self.rows[places], drawn=None if self.drawn is None else self.drawn[places], key=self.key,
            codes={name: mine[places] for name, mine in self.codes.items()},
            spelled={name: mine[places] for name, mine in self.spelled.items()},
            others=self.others[places] if self.others.width else self.others, known=self.known,
        )  # fmt: skip


@dataclass(frozen=True, eq=False, kw_only=True)
class Reading:
    """From rows of whole numbers to what was read.

    Attributes
    ----------
    places
        The number of every coded column.
    others
        Columns that are not coded, as they are numbered.
    zones
        Of those that are kept as times of UTC, the zone they were read in.
    kinds
        Of those that are kept as something else, such as whole numbers, what they were read as.
    """

    known: Dictionaries
    places: Mapping[str, int]
    others: Sequence[str]
    zones: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, pl.DataType] = field(default_factory=dict)

    def batch(self, part: pl.DataFrame) -> StoredBatch:
        """Rows numbered ``r``, with keys ``u``, codes ``c0``, ..., numbers ``v0``, ... and other columns ``o0``, ..."""
        known, schema = self.known, self.known.domain.schema
        codes = {name: part[f"c{at}"].to_numpy() for name, at in self.places.items()}
        others = self.uncoded(part)
        others = categories_as_text(as_declared(others, schema), _specs(schema, others))
        if known.subjects is not None and schema.subject not in self.places:
            people = known.subjects.gather(part["s"]).alias(schema.subject or "")
            others = pl.DataFrame([*others.get_columns(), people])
        return StoredBatch(
            rows=part["r"].to_numpy(),
            drawn=part["u"].to_numpy() if "u" in part.columns else None,
            key=schema.key,
            codes=codes,
            spelled={name: part[f"v{self.places[name]}"].to_numpy() for name in known.spelled},
            others=others,
            known=known,
        )

    def uncoded(self, part: pl.DataFrame) -> pl.DataFrame:
        """Columns that are not coded, as they were read, or those of them that are there."""
        there = {name: f"o{at}" for at, name in enumerate(self.others) if f"o{at}" in part.columns}
        others = part.select(pl.col(place).alias(name) for name, place in there.items())
        kinds = [pl.col(name).cast(kind) for name, kind in self.kinds.items() if name in there]
        return in_zones(others, self.zones).with_columns(*kinds)


class KeptRows(SizedRows):
    """Rows that a database counts, and that come back in batches.

    Parameters
    ----------
    reading
        What they were before they were coded.
    """

    def __init__(self, reading: Reading, database: Database) -> None:
        super().__init__(reading.known.domain, database, reading.places)
        self.reading = reading
        self.known = reading.known

    capabilities: frozenset[Capability] = frozenset()
    counterfeits = 0
    history: pl.Series | None = None

    @property
    def n_read(self) -> int:
        """Rows that were read."""
        return self.known.n_read

    @property
    def n_dropped(self) -> int:
        """Rows that take no part, for missing cells or because they were not drawn."""
        return self.known.n_read - self.domain.n

    @property
    def followed(self) -> list[str]:
        """Columns that are dropped, as far as there are hashes of their cells."""
        return [name for name in self.domain.schema.drop if name in self.reading.others]

    def knowing(self, domain: Domain) -> KeptRows:
        """The same rows with something else known of them."""
        raise NotImplementedError

    def parts(self, columns: list[str] | None = None) -> Iterator[pl.DataFrame]:
        """The coded rows in the order of their numbers, or some columns of them."""
        raise NotImplementedError

    def shuffled(self) -> Iterator[pl.DataFrame]:
        """The coded rows in the order of a release."""
        raise NotImplementedError

    def private(self, name: str) -> Path:
        """A new folder in the scratch of these rows."""
        raise NotImplementedError

    def arranged(self, bits: Arrange) -> Iterator[StoredBatch]:
        """Rows in another order: told numbers and keys, ``bits`` gives who is kept, and by what."""
        raise NotImplementedError

    def row_keys(self) -> np.ndarray:
        """uint64, what the random draws of every row are keyed by."""
        raise NotImplementedError

    def fetched(self, rows: np.ndarray | None, attributes: Sequence[Attribute]) -> MemoryRows:
        """Some rows, or all of them, as arrays of codes."""
        raise NotImplementedError

    def remembering(self, history: History) -> KeptRows:
        """The same rows with what earlier releases left of their people."""
        raise NotImplementedError

    def _told(self, domain: Domain) -> Reading:
        return replace(self.reading, known=replace(self.known, domain=domain))

    def column(self, name: str) -> str:
        """What a column as it was read is called there."""
        if name in self.reading.others:
            return f"o{list(self.reading.others).index(name)}"
        at = self.places[name]
        return f"v{at}" if name in self.known.spelled else f"c{at}"

    def values(self, name: str) -> pl.Series:
        """What is published of every code of a column where nothing changes it."""
        plain, column = self.known.plain[name], self.domain.columns[name]
        if plain.dtype == pl.String:
            return column.values
        value_of = np.zeros(column.card, dtype=np.int64)
        value_of[self.known.codes[name]] = np.arange(plain.len())
        return plain.gather(value_of)

    def batches(self, order: str = "kept") -> Iterator[StoredBatch]:
        """All rows, ``"kept"`` in the order of the source or ``"shuffled"`` as a release is."""
        for part in self.parts() if order == "kept" else self.shuffled():
            yield self.reading.batch(part)

    def placing(self, classes: Grouped) -> Callable[[StoredBatch], np.ndarray]:
        """Return a function that gives the class of every row of a batch."""
        quasi = self.domain.schema.quasi
        if not isinstance(classes, RowIds):
            self._class_of_cells(classes)  # asked now: a database that gives rows away answers nothing meanwhile
        return lambda batch: self.class_of(classes, batch.rows, [batch.codes[name] for name in quasi])

    def published(self, publisher: Publisher, order: str, keys: Keys) -> Iterator[Published]:
        """Released rows, their classes, and what is published of them."""
        return publisher.published(self.batches(order))

    def listed(self, classes: Grouped, columns: Sequence[str]) -> Iterator[Listed]:
        """The rows that are in a class, in the order of the source, batch by batch."""
        # A key that is no position leaves only the order of the rows.
        number, people = "u" if self.domain.schema.key is None else "r", self.domain.by_people
        quasi = [f"c{self.places[name]}" for name in self.domain.schema.quasi]
        asked = ["r", number, *quasi, *map(self.column, columns), *(["s"] if people else [])]
        for part in self.parts(list(dict.fromkeys(asked))):
            ids = self.class_of(classes, part["r"].to_numpy(), [part[code].to_numpy() for code in quasi])
            kept = np.flatnonzero(ids >= 0)
            yield Listed(
                numbers=part[number].to_numpy()[kept].astype(np.int64) + 1, classes=ids[kept],
                cells=pl.DataFrame([self._as_read(part[kept], name) for name in columns]),
                subjects=part["s"].to_numpy()[kept] if people else None,
            )  # fmt: skip

    def narrowed(self, classes: Grouped, one: Attribute, possible: Possible) -> np.ndarray:
        """Numbers of all rows of people without different known values whose classes leave too little possible."""
        codes = list(self._values(one).values())
        with self._beside(classes) as (source, keys):
            pairs = self.database.ask(sql.in_several(keys["g"], source, codes, self._known(one)))
        self.database.send("narrow", {"r": possible.narrow(pairs["p"], pairs["g"])})
        return np.sort(self.database.ask(sql.rows_beside("narrow"))["r"])

    def _as_read(self, part: pl.DataFrame, name: str) -> pl.Series:
        """A column of some coded rows as it was read."""
        found = part[self.column(name)].alias(name)
        if name in self.reading.others:
            return found
        return self.known.as_read[name].gather(found)

    @property
    def ordered(self) -> Mapping[str, pl.Series]:
        """Values of coded columns as they were read, in ascending order."""
        return self.known.ordered

    def ranked(self, batch: StoredBatch) -> pl.DataFrame | None:
        """Every column as it was read, values of coded ones as their places there."""
        return batch.ranked

    def read_columns(self) -> Iterator[tuple[str, pl.Series]]:
        """Everything that was read, by column: different values of coded ones, and all cells of others."""
        known = self.known
        for values in (known.plain, known.parsed, known.dropped):
            yield from values.items()
        if known.subjects is not None:
            yield self.domain.schema.subject or "", known.subjects
        for others in self.others():
            yield from others.to_dict().items()

    def others(self) -> Iterator[pl.DataFrame]:
        """Columns that are not coded, as they were read, batch by batch."""
        read = [at for at, name in enumerate(self.reading.others) if name not in self.domain.schema.drop]
        if read:
            for part in self.parts([f"o{at}" for at in read]):
                yield self.reading.uncoded(part)

    def cells(self, name: str) -> Iterator[pl.Series]:
        """All cells of a column that is not coded, as they are kept."""
        place = self.column(name)
        return (part[place] for part in self.parts([place]))

    def left_out(self, names: Sequence[str]) -> dict[str, pl.Series]:
        """The different cells of some columns in rows that take no part."""
        return {name: self.known.dropped[name] for name in names if name in self.known.dropped}

    def suppressed(self, classes: Grouped) -> np.ndarray:
        """Numbers of the rows that are in no class."""
        found = [np.zeros(0, dtype=np.int64)]
        quasi = [self.places[name] for name in self.domain.schema.quasi]
        for part in self.parts(["r", *(f"c{at}" for at in quasi)]):
            rows = part["r"].to_numpy()
            found.append(rows[self.class_of(classes, rows, [part[f"c{at}"].to_numpy() for at in quasi]) < 0])
        return np.concatenate(found)


def in_zones(frame: pl.DataFrame, zones: Mapping[str, str]) -> pl.DataFrame:
    """Rows whose times are kept as those of UTC, with those of the zones that columns were read in."""
    return frame.with_columns(
        pl.col(name).dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
        for name, zone in zones.items()
        if name in frame.columns
    )


def _dates(schema: Schema, others: pl.DataFrame) -> list[pl.Series]:
    """Dates of another format that are to be moved, parsed, so that anybody can compare them."""
    given = {name: schema.spec(name).format for name in schema.shifted if name in others.columns}
    found = []
    for name, format in given.items():
        if format is not None and others[name].dtype == pl.String:
            dates = others[name].str.to_date(format, strict=False)  # else the error quotes cells, in logs of executors
            if dates.null_count() > others[name].null_count():
                raise InputError(
                    f"Column '{name}' is a date column but has cells that are not dates of the form {format}: "
                    "correct them, or give its 'format'."
                )
            found.append(dates)
    return found


def _specs(schema: Schema, frame: pl.DataFrame) -> dict[str, ColumnSpec]:
    return {name: spec for name, spec in schema.specs.items() if name in frame.columns}
