"""Rows on a Spark cluster: tallied, coded and published by its machines, counted by Spark SQL.

The driver sees dictionaries, cells of the frequency table and classes; rows it sees batch by batch, as files that the
machines wrote to a scratch folder that all of them share, where the gate reads them.
"""

from __future__ import annotations

import hashlib
import math
import re
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import polars as pl

from shoal.data.classes import Cells, Grouped, RowIds
from shoal.data.coding import canonical_text
from shoal.data.domain import Domain, Places
from shoal.data.gather import Gathering
from shoal.data.keys import Keys, key_hashes
from shoal.data.rows import Listed
from shoal.data.schema import Schema
from shoal.data.stats import Attribute, attribute
from shoal.data.table import Table, spilling
from shoal.data.texts import Spellings, as_seen, refuse_alike
from shoal.engines import sql, sql_rows
from shoal.engines.base import Capability, Dictionaries
from shoal.engines.coder import dictionaries
from shoal.engines.external_rows import KeptRows, Reading, StoredBatch
from shoal.engines.scratch import scratch
from shoal.engines.spark_files import (
    LEFT_OUT,
    READ,
    Coder,
    Coding,
    Different,
    Files,
    LeftOut,
    Publishing,
    Reader,
    bucket_bits,
    files_of,
    refuse_mixed,
    run_rows,
)
from shoal.engines.spark_session import carried_out, collected, mapped, task, told
from shoal.engines.spark_tasks import (
    TALLY,
    Each,
    InCells,
    Mapped,
    OfRows,
    Seen,
    Staging,
    Tallying,
    everybody,
    with_forms,
)
from shoal.errors import InputError, ParameterError, SchemaError
from shoal.recoding.publish import RELEASE_ORDER, Published, Publisher

# ----------------------------------------
# Coded rows as views of a Spark session, and what Spark SQL counts of them.


_NUMBERS = 1 << 25  # that are kept of what was asked for
_SENT = 1 << 20  # rows of a table that goes to every machine whole
_VIEWS = re.compile(r"\b(coded|classes|gone|narrow)\b")


class SparkDatabase:
    """Coded rows that Spark SQL counts, under names that nobody else uses.

    Parameters
    ----------
    files
        Where they are.
    """

    def __init__(self, session: Any, files: Sequence[Path]) -> None:
        self.session = session
        self._files = files
        self._own = f"shoal_{secrets.token_hex(6)}_"
        self._views: set[str] = set()
        self._sent: dict[str, tuple[str, Any]] = {}
        self._known: dict[tuple[str, ...], dict[str, np.ndarray]] = {}

    def relate(self, subject: str | None) -> None:
        """Make the relation ``coded``, in which ``s`` says whose a row is."""
        whose = [] if subject is None else [f"{subject} AS s"]
        self._make("coded", rows_in(self.session, self._files).selectExpr("*", *whose))

    def ask(self, query: str) -> dict[str, np.ndarray]:
        """What a query of whole numbers finds; what was asked before is not asked again."""
        key = query, *(digest for name, (digest, _) in self._sent.items() if name in query)
        if key not in self._known:
            for name in [name for name, (_, rows) in self._sent.items() if rows is not None and name in query]:
                digest, rows = self._sent[name]
                self._make(name, self._given(rows))
                self._sent[name] = digest, None
            with told():
                found = collected(self.session.sql(_VIEWS.sub(rf"{self._own}\1", query)))
            if sum(column.size for one in self._known.values() for column in one.values()) > _NUMBERS:
                self._known.clear()
            self._known[key] = {name: found[name].cast(pl.Int64).to_numpy() for name in found.columns}
        return self._known[key]

    def spellings(self, subject: str) -> Spellings | None:
        """Count people whose names (``s``) may be spellings of each other; names stay where they are."""
        names = self.session.table(f"{self._own}coded").selectExpr("s AS t").distinct()
        forms = mapped(names, Mapped(Each(with_forms)), with_forms(pl.DataFrame(schema={"t": pl.String})))
        alike = forms.groupBy("form").count().where("count > 1")
        with told():
            found = collected(alike.selectExpr("coalesce(sum(count), 0) AS n", "count(*) AS m"))
        ((n, m),) = found.rows()
        return Spellings(column=subject, role="subject", spellings=int(n), values=int(m)) if m else None

    def forget(self) -> None:
        """Ask again for whatever is wanted from now on."""
        self._known.clear()

    def send(self, name: str, columns: Mapping[str, np.ndarray]) -> None:
        """Make a table of whole numbers, once something is asked of it."""
        frame = pl.DataFrame({key: np.asarray(values, dtype=np.int64) for key, values in columns.items()})
        digest = hashlib.sha256(b"".join(frame[key].to_numpy().tobytes() for key in columns)).hexdigest()
        self._sent[name] = digest, frame

    def _given(self, rows: pl.DataFrame) -> Any:
        """A table of ours there: with every machine whole where it is small, else in the folder that all see."""
        if rows.height <= _SENT:
            return self.session.createDataFrame(rows.to_arrow()).hint("broadcast")
        folder = self._files[0].parent.parent / f"sent-{secrets.token_hex(6)}"
        folder.mkdir(0o700)
        with spilling():
            rows.write_parquet(folder / "part-0.parquet", row_group_size=_SENT)
        return self.session.read.parquet(folder.as_uri())

    def _make(self, name: str, rows: Any) -> None:
        rows.createOrReplaceTempView(self._own + name)
        self._views.add(self._own + name)

    def close(self) -> None:
        """Forget the relations."""
        for name in self._views:
            with suppress(Exception):  # the session may have ended before
                self.session.catalog.dropTempView(name)


def rows_in(session: Any, files: Sequence[Path]) -> Any:
    """What some files hold, as a Spark DataFrame."""
    return session.read.parquet(*(path.as_uri() for path in files))


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
        What Java and the executors may take is said in Spark's own settings, so that this is not looked at; what is
        searched and held in the driver's Python is looked at later.
    folder
        Where scratch files go: a folder that the driver and all executors see under this name. By default the
        system's temporary folder, which does for ``local`` masters.
    """

    capabilities = frozenset[Capability]()  # rows have no places there, people no numbers

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
        followed: Sequence[str] = (),
        progress: Callable[[str], None] = lambda step: None,
    ) -> Iterator[SparkRows]:
        """The rows of a source, until they are no longer needed; of ``followed`` dropped columns, hashes."""
        if schema.key is None:
            raise SchemaError("The engine 'spark' needs a column with the role 'key': there is no order of rows there.")
        names = list(source.frame.columns)
        schema.check(names)
        with scratch(self.folder) as folder, told():
            wanted = [one for one in names if one not in schema.drop or one in followed]
            opening = _Opening(source, schema, missing, wanted, folder)
            progress("reading: counting the values of every column")
            gathering = opening.gathering(keys)
            known = dictionaries(gathering, replace(schema, subject=None), build, name or source.name)
            progress("coding the rows")
            files = opening.coded(gathering, known)
            database = SparkDatabase(source.frame.sparkSession, files.coded)
            try:
                yield opening.rows(known, database, files)
            finally:
                database.close()


class _Opening:
    """A source on its way into the scratch folder."""

    def __init__(self, source: Arrived, schema: Schema, missing: str, wanted: Sequence[str], folder: Path) -> None:
        self.source, self.schema, self.missing, self.wanted = source, schema, missing, list(wanted)
        self.folder, self.session = folder, source.frame.sparkSession
        self.places = {name: at for at, name in enumerate([*schema.quasi, *schema.sensitive])}
        self.others = [name for name in self.wanted if name not in self.places]
        self.raw = self._numbered(source.frame)
        self._empty = collected(self.raw.limit(0)).rename(dict(zip(self.raw.columns, wanted, strict=True)))
        self.types = dict(source.clean(self._empty).schema)
        self._tallying = Tallying(
            schema=schema, columns=self.wanted, missing=missing, faults=source.faults, clean=source.clean
        )

    def _numbered(self, frame: Any) -> Any:
        """The wanted columns by number, since names may hold dots, and differ in nothing but their case."""
        names = list(frame.columns)
        return frame.toDF(*(f"x{at}" for at in range(len(names)))).selectExpr(
            *(self._expression(name, f"x{names.index(name)}") for name in self.wanted)
        )

    def _expression(self, name: str, column: str) -> str:
        """A column as it is read: of one that nobody publishes, a hash."""
        text = f"nullif(trim(CAST({column} AS STRING)), '')"
        hashed = f"CASE WHEN {text} IS NOT NULL THEN xxhash64({text}) END AS {column}"
        return hashed if name in self.schema.drop else column

    def gathering(self, keys: Keys) -> Gathering:
        """What one reading of all rows tells, which it writes as numbers; one shuffle, of different values."""
        rows = self._numbered(self.source.watched())
        for name in ("read", "dropped", "coded"):
            (self.folder / name).mkdir(0o700)
        reader = Reader(
            tallying=self._tallying, others=self.others, stream=keys.stream(RELEASE_ORDER), folder=self.folder / "read",
            task=task,
        )  # fmt: skip
        tallied = mapped(rows, Mapped(reader, self.wanted), pl.DataFrame(schema=TALLY))
        total = collected(tallied.groupBy("what", "col", "t", "w").sum("n")).rename({"sum(n)": "n"})
        self.source.refuse(self._tallying.faulty(total))
        found = self._tallying.gathering(total, self.types)
        if self._tallying.has_odd_people(total):
            self._refuse_lookalikes()
        self._files = total.filter(pl.col("what").is_in([READ, LEFT_OUT])).sort("col", "w")
        return found

    def coded(self, gathering: Gathering, known: Dictionaries) -> Files:
        """Write rows as codes; no shuffle."""
        read = self._files.filter(what=READ)
        dropped = [self.folder / "dropped" / name for name in self._files.filter(what=LEFT_OUT)["t"]]
        refuse_mixed(self._files, gathering.n, gathering.n_read - gathering.n)
        files = [self.folder / "read" / name for name in read["t"]]
        _refuse_unseen([*files, *dropped], self.folder)
        ends = np.cumsum(read["n"].to_numpy())
        run = (ends - 1) // run_rows(gathering.n)
        first = np.flatnonzero(np.diff(run, prepend=-1))
        runs = [names.tolist() for names in np.split(read["t"].to_numpy(), first[1:])]
        bits = bucket_bits(gathering.n)
        coder = Coder(
            values={name: gathering.columns[name].values for name in self.places}, codes=known.codes,
            spelled=known.spelled, places=self.places,
        )  # fmt: skip
        coding = Coding(
            coder=coder, read=self.folder / "read", folder=self.folder / "coded", runs=runs,
            starts=np.append(0, ends)[first].tolist(), bits=bits, task=task,
        )  # fmt: skip
        written = carried_out(self.session, len(runs), coding)
        shutil.rmtree(self.folder / "read", ignore_errors=True)  # a network disk may hold a file a moment longer
        coded = [self.folder / "coded" / name for name in written["name"]]
        found = Files(folder=self.folder, runs=coded, dropped=dropped, bits=bits)
        _refuse_unseen(found.coded, self.folder)
        return found

    def rows(self, known: Dictionaries, database: SparkDatabase, files: Files) -> SparkRows:
        """The rows in their files, after checking that each has a key of its own."""
        domain, key, subject = replace(known.domain, schema=self.schema), self.schema.key or "", self.schema.subject
        database.relate(None if subject is None else f"o{self.others.index(subject)}")
        drawn = int(carried_out(self.session, 1 << files.bits, Different(files.buckets))["n"].sum())
        # Different draws have different keys; equal ones may be chance.
        asked = f"SELECT count(DISTINCT o{self.others.index(key)}) AS d FROM coded"
        if drawn < domain.n and database.ask(asked)["d"][0] < domain.n:
            raise InputError(f"The key column '{key}' repeats values: a key must name one row.")
        if subject is not None:
            people = database.ask("SELECT count(DISTINCT s) AS p FROM coded")["p"][0]
            alike = database.spellings(subject) if self.types[subject] == pl.String else None
            domain = replace(domain, n_subjects=int(people), subject_spellings=alike)
        times = {name: getattr(self.types[name], "time_zone", None) for name in self.others}
        zones = {name: zone for name, zone in times.items() if zone is not None}
        reading = Reading(known=replace(known, domain=domain), places=self.places, others=self.others, zones=zones)
        return SparkRows(reading, database, files)

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
    """Rows in files of the scratch folder, which Spark counts and publishes."""

    database: SparkDatabase

    def __init__(self, reading: Reading, database: SparkDatabase, files: Files) -> None:
        super().__init__(reading, database)
        self._files = files
        self._staged_files: Sequence[Path] = ()
        self._columns: list[str] = []

    def knowing(self, domain: Domain) -> SparkRows:
        """The same rows with something else known of them."""
        found = SparkRows(self._told(domain), self.database, self._files)
        found._shares_cells(self)
        return found

    def parts(self, columns: list[str] | None = None) -> Iterator[pl.DataFrame]:
        """The coded rows as they came, or some columns of them."""
        wanted = None if columns is None else list(dict.fromkeys([*columns, "r"]))
        for run in self._files.runs:  # in which they stand bucket by bucket
            rows = pl.concat(_read(path, wanted) for path in files_of(run, self._files.bits))
            rows = rows[np.argsort(rows["r"].to_numpy())]
            yield from rows.select(rows.columns if columns is None else columns).iter_slices(_BATCH)

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
        cells = classes if isinstance(classes, Cells) else Cells(self._class_of_cells(classes), classes.groups)
        return InCells(
            packing=self.packing, places=Places(self._cells[0]), classes=cells, quasi=self.domain.schema.quasi
        )

    def published(self, publisher: Publisher, order: str, keys: Keys) -> Iterator[Published]:
        """Released rows, their classes, and what is published of them: by executors, bucket by bucket."""
        reading, placing = self._told(replace(self.domain, population=None)), publisher.classes
        if by_number := isinstance(placing, OfRows):  # of methods that suppress nobody
            publisher = replace(publisher, classes=everybody)
        folder = self._files.folder / f"staged-{secrets.token_hex(6)}"
        folder.mkdir(0o700)
        staging = Staging(reading=reading, publisher=publisher)
        publishing = Publishing(buckets=self._files.buckets, staging=staging, folder=folder, task=task)
        with told():
            written = carried_out(self.database.session, 1 << self._files.bits, publishing)
        self._staged_files = [folder / name for name in written["name"]]
        _refuse_unseen(self._staged_files, self._files.folder)
        empty = next(self.parts()).head(0)
        self._columns = publisher.frame(self.reading.batch(empty), np.zeros(0, dtype=np.int32)).columns
        return self._staged(placing if by_number else None)

    def _staged(
        self, placing: Callable[[StoredBatch], np.ndarray] | None
    ) -> Iterator[tuple[StoredBatch, np.ndarray, pl.DataFrame]]:
        for part in _frames(self._staged_files, None):
            batch = self.reading.batch(part)
            yield batch, part["g"].to_numpy() if placing is None else placing(batch), part.select(self._shown)

    @property
    def _shown(self) -> list[pl.Expr]:
        return [pl.col(f"p{at}").alias(name) for at, name in enumerate(self._columns)]

    def released(self) -> Iterator[pl.DataFrame]:
        """What was published, once more."""
        for part in _frames(self._staged_files, [f"p{at}" for at in range(len(self._columns))]):
            yield part.select(self._shown)

    def frame(self) -> Any:
        """What was published, as a Spark DataFrame of the files that the gate saw."""
        rows = rows_in(self.database.session, self._staged_files)
        return rows.select(*(f"p{at}" for at in range(len(self._columns)))).toDF(*self._columns)

    def others(self) -> Iterator[pl.DataFrame]:
        """Columns that are not coded, and rows that were left out, as they were read."""
        yield from super().others()
        yield from self._left_out.frames()

    def left_out(self, names: Sequence[str]) -> dict[str, pl.Series]:
        """The different cells of some columns in rows that take no part."""
        return self._left_out.different(names)

    @property
    def _left_out(self) -> LeftOut:
        read = [name for name in self.domain.types if name not in self.domain.schema.drop]
        return LeftOut(files=self._files.dropped, columns=read, zones=self.reading.zones)

    def forget(self) -> None:
        """Leave what was counted of values, and every answer that tells of them."""
        super().forget()
        self.database.forget()

    def private(self, name: str) -> Path:
        """A new folder in the scratch of these rows."""
        return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self._files.folder))

    def holds_cells(self, most: int) -> bool:
        """Whether there are no more than about so many combinations of quasi-identifier codes; none of them come."""
        return min(self.domain.n, math.prod(self.packing.cards)) <= most or self._about(self._words) <= most

    def _about(self, keys: dict[str, str]) -> int:
        return int(self.database.ask(sql.about(keys))["n"][0])

    def _asked_cells(self, most: int | None) -> dict[str, np.ndarray]:
        """Words, rows and people of the cells: added up from few values in them, which are asked for later anyway."""
        first = self.domain.schema.sensitive[:1]
        if self.domain.by_people or not first or most is not None:
            return super()._asked_cells(most)
        one = attribute(self.domain, first, people=False)
        if not self._few_pairs(one, math.prod(self.packing.cards)):
            return super()._asked_cells(most)
        found = pl.DataFrame(self.database.ask(sql.counted({**self._words, **self._values(one)})))
        cells = found.group_by(list(self._words)).agg(pl.col("n").sum())
        return {name: cells[name].to_numpy() for name in cells.columns}

    def _few_pairs(self, one: Attribute, cells: int) -> bool:
        """Whether all pairs of cell and value may come at once, by a guess where there might be many."""
        return super()._few_pairs(one, cells) or self._about({**self._words, **self._values(one)}) <= sql_rows.PAIRS


def _unnumbered() -> ParameterError:
    return ParameterError("People with several rows are counted here, and not numbered: use the engine 'duckdb'.")


def _refuse_unseen(files: Sequence[Path], folder: Path) -> None:
    """Refuse files that executors wrote and the driver does not see."""
    if not all(path.is_file() for path in files):
        raise InputError(
            f"The executors of Spark wrote nothing to '{folder}' that the driver can see: name a folder that all "
            "machines share as 'scratch' under [engine]."
        )


def _frames(files: Sequence[Path], columns: list[str] | None) -> Iterator[pl.DataFrame]:
    """What machines wrote to files, in their order, batch by batch; none of them is empty."""
    for path in files:
        yield from _read(path, columns).iter_slices(_BATCH)


def _read(path: Path, columns: list[str] | None) -> pl.DataFrame:
    with path.open("rb") as file:  # Polars would take brackets in a name for a pattern
        return pl.read_parquet(file, columns=columns)
