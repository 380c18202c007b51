"""Rows on a Spark cluster: tallied, coded and published by its machines, counted by Spark SQL.

The driver sees dictionaries, cells of the frequency table and classes; rows it sees batch by batch, as files that the
machines wrote to a scratch folder that all of them share, where the gate reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import polars as pl

from shoal.engines import sql
from shoal.engines.cluster import collected, mapped, told
from shoal.engines.kept import Dictionaries, KeptRows, Publisher, Reading, StoredBatch
from shoal.engines.scratch import scratch
from shoal.engines.spread import (
    CHANGED,
    PLACE_BITS,
    Coder,
    Dropped,
    Each,
    InCells,
    Mapped,
    OfRows,
    Seen,
    Staging,
    everybody,
)
from shoal.engines.stored import dictionaries
from shoal.engines.views import SparkDatabase
from shoal.errors import InputError, ParameterError, SchemaError
from shoal.recoding.publish import RELEASE_ORDER
from shoal.table.classmap import Grouped, RowIds
from shoal.table.coding import canonical_text
from shoal.table.domain import Domain
from shoal.table.gathering import Gathering
from shoal.table.invisible import as_seen, refuse_alike
from shoal.table.keys import Keys, key_hashes
from shoal.table.packing import Places
from shoal.table.rows import Listed
from shoal.table.schema import Schema
from shoal.table.stats import Attribute
from shoal.table.table import Table
from shoal.table.tallying import TALLY, Tallying

_BATCH = 1 << 18


class Arrived(Protocol):
    """A Spark DataFrame, and what is to be done to batches of its rows before they are looked at."""

    @property
    def name(self) -> str: ...

    @property
    def frame(self) -> Any: ...

    def watched(self) -> Any: ...

    def faults(self, frame: pl.DataFrame) -> dict[tuple[str, str], int]: ...

    def clean(self, frame: pl.DataFrame) -> pl.DataFrame: ...

    def refuse(self, found: Mapping[tuple[str, str], int]) -> None: ...


class SparkEngine:
    """Rows of a Spark DataFrame.

    Parameters
    ----------
    memory
        What a run may take is said in Spark's own settings, so that this is not looked at.
    folder
        Where scratch files go: a folder that the driver and all executors see under this name. By default the
        system's temporary folder, which does for ``local`` masters.
    """

    in_parts = False  # records of a part are nowhere together
    ordered = False  # nor do rows have places
    lists_people = False  # nor people numbers

    def __init__(self, *, memory: int = 0, folder: Path | None = None) -> None:
        self.folder = None if folder is None else folder.resolve()

    @contextmanager
    def opened(
        self,
        source: Arrived,
        schema: Schema,
        build: Callable[..., Table],
        keys: Keys,
        *,
        missing: str,
        name: str | None = None,
        progress: Callable[[str], None] = lambda step: None,
    ) -> Iterator[SparkRows]:
        """The rows of a source, until they are no longer needed."""
        if schema.key is None:
            raise SchemaError("The engine 'spark' needs a column with the role 'key': there is no order of rows there.")
        names = list(source.frame.columns)
        schema.check(names)
        with scratch(self.folder) as folder, told():
            opening = _Opening(source, schema, missing, [one for one in names if one not in schema.drop])
            progress("reading: counting the values of every column")
            gathering = opening.gathering()
            known = dictionaries(gathering, replace(schema, subject=None), build, name or source.name)
            progress("coding the rows")
            reading = opening.coded(gathering, known, keys, folder / "coded")
            database = SparkDatabase(source.frame.sparkSession, folder / "coded")
            try:
                yield opening.rows(reading, database, folder)
            finally:
                database.close()


class _Opening:
    """A source on its way into the scratch folder."""

    def __init__(self, source: Arrived, schema: Schema, missing: str, wanted: Sequence[str]) -> None:
        self.source, self.schema, self.missing, self.wanted = source, schema, missing, list(wanted)
        self.raw = self._numbered(source.frame)
        self._empty = collected(self.raw.limit(0)).rename(dict(zip(self.raw.columns, wanted, strict=True)))
        self.types = dict(source.clean(self._empty).schema)
        self._tallying = Tallying(
            schema=schema, columns=self.wanted, missing=missing, faults=source.faults, clean=source.clean
        )

    def _numbered(self, frame: Any) -> Any:
        """The wanted columns by number, since names may hold dots, and differ in nothing but their case."""
        names = list(frame.columns)
        return frame.toDF(*(f"x{at}" for at in range(len(names)))).select(
            *(f"x{names.index(name)}" for name in self.wanted)
        )

    def gathering(self) -> Gathering:
        """What one reading of all rows tells; one shuffle, of different values."""
        rows = self._numbered(self.source.watched())
        tallied = mapped(rows, Mapped(self._tallying.tallies, self.wanted), pl.DataFrame(schema=TALLY))
        total = collected(tallied.groupBy("what", "col", "t", "w").sum("n")).rename({"sum(n)": "n"})
        self.source.refuse(self._tallying.faulty(total))
        found = self._tallying.gathering(total, self.types)
        if self._tallying.has_odd_people(total):
            self._refuse_lookalikes()
        return found

    def coded(self, gathering: Gathering, known: Dictionaries, keys: Keys, folder: Path) -> Reading:
        """Write rows as codes; no shuffle."""
        schema = self.schema
        places = {name: at for at, name in enumerate([*schema.quasi, *schema.sensitive])}
        others = [name for name in self.wanted if name not in places]
        coder = Coder(
            schema=schema, missing=self.missing, clean=self.source.clean, codes=known.codes, spelled=known.spelled,
            values={name: gathering.columns[name].values for name in places}, places=places, others=others,
            stream=keys.stream(RELEASE_ORDER),
        )  # fmt: skip
        rows = self._mapped(self.raw, coder, coder(self._empty))
        rows.selectExpr("monotonically_increasing_id() AS r", "*").write.parquet(folder.as_uri())
        if self.missing == "drop" and gathering.n < gathering.n_read:
            dropped = Dropped(schema=schema, clean=self.source.clean)
            self._mapped(self.raw, dropped, dropped(self._empty)).write.parquet((folder.parent / "dropped").as_uri())
        zones = {name: zone for name in others if (zone := getattr(self.types[name], "time_zone", None)) is not None}
        domain = replace(known.domain, schema=schema)
        return Reading(known=replace(known, domain=domain), places=places, others=others, zones=zones)

    def rows(self, reading: Reading, database: SparkDatabase, folder: Path) -> SparkRows:
        """The rows in their files, after checking that they are all there, once."""
        domain, key = reading.known.domain, self.schema.key or ""
        people = ", count(DISTINCT s) AS p" if self.schema.subject is not None else ""
        subject = None if self.schema.subject is None else f"o{reading.others.index(self.schema.subject)}"
        database.relate(subject)
        first = starts(folder / "coded")
        if first[-1] != domain.n:
            raise InputError(CHANGED)
        found = database.ask(f"SELECT count(DISTINCT b) AS d{people} FROM coded")
        at = reading.others.index(key)
        # Different draws have different keys; equal ones may be chance.
        drawn = found["d"][0] == domain.n
        if not drawn and database.ask(f"SELECT count(DISTINCT o{at}) AS d FROM coded")["d"][0] < domain.n:
            raise InputError(f"The key column '{key}' repeats values: a key must name one row.")
        if subject is not None:
            domain = replace(domain, n_subjects=int(found["p"][0]))
        counted = replace(reading, known=replace(reading.known, domain=domain))
        return SparkRows(counted, database, folder, first)

    def _mapped(self, rows: Any, made: Callable[[pl.DataFrame], pl.DataFrame], empty: pl.DataFrame) -> Any:
        return mapped(rows, Mapped(Each(made), self.wanted), empty)

    def _refuse_lookalikes(self) -> None:
        """Refuse people whose names differ in nothing that is seen; names stay where they are."""
        name = self.schema.subject or ""
        seen = Seen(schema=self.schema, clean=self.source.clean)
        texts = self._mapped(self.raw, seen, seen(self._empty)).selectExpr("t", "seen", "1 AS mine")
        others = pl.Series(["", "*", *map(str, self.schema.spec(name).non_answers)]).unique()
        listed = pl.DataFrame({"t": others, "seen": as_seen(others), "mine": pl.repeat(0, len(others), eager=True)})
        more = self.raw.sparkSession.createDataFrame(listed.to_arrow(compat_level=pl.CompatLevel.oldest()))
        each = texts.union(more).groupBy("t", "seen").agg({"mine": "max"}).toDF("t", "seen", "mine")
        alike = each.groupBy("seen").agg({"t": "count", "mine": "sum"})
        alike = alike.selectExpr("`count(t)` AS n", "`sum(mine)` AS m")
        refuse_alike(name, int(collected(alike.where("n > 1").selectExpr("coalesce(sum(m), 0) AS m"))["m"][0]))


class SparkRows(KeptRows):
    """Rows in files of the scratch folder, which Spark counts and publishes.

    Parameters
    ----------
    starts
        The number of the first row of every part.
    """

    database: SparkDatabase

    def __init__(self, reading: Reading, database: SparkDatabase, folder: Path, starts: np.ndarray) -> None:
        super().__init__(reading, database)
        self._folder, self._starts = folder, starts
        self._columns: list[str] = []

    def knowing(self, domain: Domain) -> SparkRows:
        """The same rows with something else known of them."""
        return SparkRows(self._told(domain), self.database, self._folder, self._starts)

    def parts(self, columns: list[str] | None = None) -> Iterator[pl.DataFrame]:
        """The coded rows as they were written, or some columns of them."""
        return self._numbered(self._folder / "coded", columns)

    def held(self, one: Attribute | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Not told: people are counted, and not numbered."""
        raise _unnumbered()

    def listed(self, classes: Grouped, columns: Sequence[str]) -> Iterator[Listed]:
        """The rows that are in a class, batch by batch, where rows are people."""
        if self.domain.by_people:
            raise _unnumbered()
        return super().listed(classes, columns)

    def coded(self) -> Iterator[tuple[Mapping[str, np.ndarray], np.ndarray]]:
        """Codes of all columns and what random draws are keyed by, batch by batch, in the order of their numbers."""
        key, codes = self.domain.schema.key or "", {name: f"c{at}" for name, at in self.places.items()}
        for part in self.parts([self.column(key), *codes.values()]):
            drawn = key_hashes(canonical_text(self.reading.uncoded(part)[key]))
            yield {name: part[code].to_numpy() for name, code in codes.items()}, drawn

    def placing(self, classes: Grouped) -> Callable[[StoredBatch], np.ndarray]:
        """The class of every row by its cell, or by its number where rows were redrawn."""
        if isinstance(classes, RowIds):
            return OfRows(classes.ids)
        return InCells(
            packing=self.packing, places=Places(self._cells[0]), of=self._class_of_cells(classes),
            quasi=self.domain.schema.quasi,
        )  # fmt: skip

    def published(self, publisher: Publisher, order: str) -> Iterator[tuple[StoredBatch, np.ndarray, pl.DataFrame]]:
        """Released rows, their classes, and what is published of them: by executors, one shuffle, of all rows."""
        reading, placing = self._told(replace(self.domain, population=None)), publisher.classes
        if by_number := isinstance(placing, OfRows):  # of methods that suppress nobody
            publisher = replace(publisher, classes=everybody)
        staging = Staging(reading=reading, publisher=publisher)
        coded = self.database.session.read.parquet((self._folder / "coded").as_uri())
        empty = next(self.parts()).head(0)
        with told():
            ordered = coded.select(*empty.columns).orderBy("b", "r")
            mapped(ordered, Mapped(Each(staging)), staging(empty)).write.parquet(
                (self._folder / "staged").as_uri(), mode="overwrite"
            )
        self._columns = publisher.frame(self.reading.batch(empty), np.zeros(0, dtype=np.int32)).columns
        return self._staged(placing if by_number else None)

    def _staged(
        self, placing: Callable[[StoredBatch], np.ndarray] | None
    ) -> Iterator[tuple[StoredBatch, np.ndarray, pl.DataFrame]]:
        for part in self._numbered(self._folder / "staged", None):
            batch = self.reading.batch(part)
            yield batch, part["g"].to_numpy() if placing is None else placing(batch), part.select(self._shown)

    @property
    def _shown(self) -> list[pl.Expr]:
        return [pl.col(f"p{at}").alias(name) for at, name in enumerate(self._columns)]

    def released(self) -> Iterator[pl.DataFrame]:
        """What was published, once more."""
        for part in _frames(self._folder / "staged", [f"p{at}" for at in range(len(self._columns))]):
            yield part.select(self._shown)

    def frame(self) -> Any:
        """What was published, as a Spark DataFrame of the files that the gate saw."""
        rows = self.database.session.read.parquet((self._folder / "staged").as_uri())
        return rows.select(*(f"p{at}" for at in range(len(self._columns)))).toDF(*self._columns)

    def others(self) -> Iterator[pl.DataFrame]:
        """Columns that are not coded, and rows that were left out, as they were read."""
        yield from super().others()
        if (self._folder / "dropped").is_dir():
            names = [name for name in self.domain.types if name not in self.domain.schema.drop]
            for part in _frames(self._folder / "dropped", None):
                yield part.rename(dict(zip(part.columns, names, strict=True)))

    def private(self, name: str) -> Path:
        """A new folder in the scratch of these rows."""
        folder = self._folder / name
        folder.mkdir(0o700)
        return folder

    def _asked_cells(self, most: int | None) -> dict[str, np.ndarray]:
        """Words, rows and people of the cells: added up from the values in it, which are asked for later anyway."""
        sensitive = self.domain.schema.sensitive
        if self.domain.by_people or not sensitive or most is not None:
            return super()._asked_cells(most)
        code = sql.code(self.places[sensitive[0]])
        found = pl.DataFrame(self.database.ask(sql.counted({**self._words, "v0": code})))
        cells = found.group_by(list(self._words)).agg(pl.col("n").sum())
        return {name: cells[name].to_numpy() for name in cells.columns}

    def _numbers(self, rows: np.ndarray) -> np.ndarray:
        """What rows are called by the machines that wrote them."""
        part = np.searchsorted(self._starts, rows, side="right") - 1
        return (part << PLACE_BITS) + rows - self._starts[part]

    def _numbered(self, folder: Path, columns: list[str] | None) -> Iterator[pl.DataFrame]:
        for part in _frames(folder, columns):
            if "r" in part.columns:
                rows = part["r"].to_numpy()
                place = self._starts[rows >> PLACE_BITS] + (rows & ((1 << PLACE_BITS) - 1))
                part = part.with_columns(pl.Series("r", place))
            yield part


def _unnumbered() -> ParameterError:
    return ParameterError("People with several rows are counted here, and not numbered: use the engine 'duckdb'.")


def starts(folder: Path) -> np.ndarray:
    """The number of the first row of every part that was written, and how many there are in the end."""
    counts = [0]
    for path in _files(folder):
        rows = pl.scan_parquet(path, glob=False, hive_partitioning=False)
        first = rows.select("r").head(1).collect()["r"].to_numpy() >> PLACE_BITS
        if first.size:
            counts += [0] * (int(first[0]) + 2 - len(counts))
            counts[int(first[0]) + 1] += int(rows.select(pl.len()).collect().item())
    return np.cumsum(counts)


def _files(folder: Path) -> list[Path]:
    """The files of the parts of a folder, in their order: of their numbers, which have five digits or more."""
    files = sorted(folder.glob("part-*.parquet"), key=lambda path: (int(path.name.split("-")[1]), path.name))
    if not files:
        raise InputError(
            f"The executors of Spark wrote nothing to '{folder.parent}' that the driver can see: name a folder that "
            "all machines share as 'scratch' under [engine]."
        )
    return files


def _frames(folder: Path, columns: list[str] | None) -> Iterator[pl.DataFrame]:
    """What machines wrote to a folder, in the order of its parts, batch by batch."""
    rows = pl.scan_parquet(_files(folder), glob=False, hive_partitioning=False)
    if columns is not None:
        rows = rows.select(columns)
    found = False
    for frame in rows.collect_batches(chunk_size=_BATCH, maintain_order=True):
        if frame.height:
            found = True
            yield frame
    if not found:
        yield rows.head(0).collect()
