"""Rows on their way through files of the scratch folder: machines read, code and publish them, each by itself.

Every attempt at a piece of work writes files under names that no other attempt has, and says which; what counts is what
the driver hears of, which is what one attempt that succeeded wrote. Rows that were read are numbers of values, of which
each part has a list. Coded rows are in runs, those of a bucket in a row group of their own; the highest bits of its
draw tell the bucket of a row. A run of many buckets is several files, since whoever opens one reads what it says of all
of its row groups. Whoever publishes a bucket reads a little of one file of every run, and nothing else is moved.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.data.coding import canonical_text
from shoal.data.keys import key_hashes
from shoal.data.table import read_part, spilling
from shoal.data.value_index import Different as DifferentCells
from shoal.engines.external_rows import in_zones
from shoal.engines.spark_tasks import CHANGED, TALLY, Part, Staging, Tallying, unzoned
from shoal.engines.store import in_order
from shoal.errors import InputError
from shoal.kernels.random import draw_bits

# The number of a piece of work, and one that no other attempt at it has.
Task = Callable[[], tuple[int, int]]
# What is said of a piece of work that is done: its number, the file (what those of a run have in common), its rows.
DONE = {"at": pl.Int64, "name": pl.String, "n": pl.Int64}
READ, LEFT_OUT = "file", "left out"
_SIGN = np.uint64(1 << 63)
_RUN = 1 << 19  # rows of a run, and about as many of a bucket
_MOST = 10  # bits of a bucket's number: with more, a run has hardly a row for each


def bucket_bits(n: int) -> int:
    """How many of the highest bits of a draw tell the bucket of a row, of so many."""
    return min(max((n - 1) // _RUN, 0).bit_length(), _MOST)


def run_rows(n: int) -> int:
    """Rows of a run: of many rows more, since every run has all buckets."""
    return max(_RUN, n >> _MOST)


def bucket_of(draws: np.ndarray, bits: int) -> np.ndarray:
    """The buckets of draws, which are signed numbers here, as databases have them."""
    return (draws.view(np.uint64) ^ _SIGN) >> np.uint64(64 - bits) if bits else np.zeros(draws.size, dtype=np.uint64)


def files_of(run: Path, bits: int) -> list[Path]:
    """The files of a run: as many as each has buckets, or half as many."""
    return [run.with_name(f"{run.name}-{at:02d}.parquet") for at in range(1 << bits // 2)]


@dataclass(frozen=True, eq=False, kw_only=True)
class Reader:
    """Reads the batches of a part: tallies them, and writes their rows as numbers of the values of the part.

    Attributes
    ----------
    others
        The columns that are not coded.
    stream
        The key of the stream that rows are put in order by; the secret that it comes from stays with whoever has it.
    folder
        Where files go, those of rows that are left out to ``dropped`` beside it.
    """

    tallying: Tallying
    others: Sequence[str]
    stream: np.ndarray
    folder: Path
    task: Task

    def __call__(self, frames: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        """The tally of the part, in which its files are named."""
        part, (number, attempt) = Part(self.tallying), self.task()
        own, files = f"{number:05d}-{attempt}", []
        for at, frame in enumerate(frames):
            taken = part.see(frame)
            if taken is not None and taken.rows.height:
                self._write(self.folder, f"{own}-{at}", self._numbered(taken.rows, taken.ids))
                files.append((READ, number, f"{own}-{at}", at, taken.rows.height))
            if taken is not None and taken.left_out.height:
                others = taken.left_out.drop(self.tallying.schema.drop, strict=False)
                left_out = [unzoned(one).alias(f"d{at}") for at, one in enumerate(others.iter_columns())]
                self._write(self.folder.parent / "dropped", f"{own}-{at}", pl.DataFrame(left_out))
                files.append((LEFT_OUT, number, f"{own}-{at}", at, taken.left_out.height))
        if files:
            lists = [one.values.implode().alias(name) for name, one in part.columns.items() if one.card]
            self._write(self.folder, own, pl.DataFrame(lists))
        yield pl.concat([part.tally(), pl.DataFrame(files, schema=TALLY, orient="row")])

    def _numbered(self, rows: pl.DataFrame, ids: Mapping[str, np.ndarray]) -> pl.DataFrame:
        keys = canonical_text(rows[self.tallying.schema.key or ""]).fill_null("")  # those without one are refused later
        bits = draw_bits(self.stream, key_hashes(keys), 0)
        found = [pl.Series("b", (bits ^ _SIGN).view(np.int64))]
        found += [pl.Series(f"i{at}", mine) for at, mine in enumerate(ids.values())]
        return pl.DataFrame([*found, *(unzoned(rows[name]).alias(f"o{at}") for at, name in enumerate(self.others))])

    @staticmethod
    def _write(folder: Path, name: str, rows: pl.DataFrame) -> None:
        with spilling():
            rows.write_ipc(folder / name, compression="uncompressed")


def refuse_mixed(files: pl.DataFrame, kept: int, left_out: int) -> None:
    """Refuse files, as a tally names them, that are not those of one attempt at every part, or not all of them.

    What was told of an attempt may be lost when machines are, and is told anew by the next one.
    """
    attempts = files.select("col", pl.col("t").str.replace(r"-\d+$", "")).unique()
    rows = [files.filter(what=what)["n"].sum() for what in (READ, LEFT_OUT)]
    if rows != [kept, left_out] or attempts.height != attempts["col"].n_unique():
        raise InputError("A machine of Spark was lost while it read rows, and what it told with it: run again.")


@dataclass(frozen=True, eq=False, kw_only=True)
class LeftOut:
    """Rows that take no part, as they were read.

    Attributes
    ----------
    files
        Where they are.
    columns
        What their columns are called.
    zones
        Column to the zone that its times were read in.
    """

    files: Sequence[Path]
    columns: Sequence[str]
    zones: Mapping[str, str]

    def frames(self, names: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
        """All of them, file by file, or some columns."""
        wanted = {f"d{self.columns.index(name)}": name for name in (self.columns if names is None else names)}
        for path in self.files if wanted else ():
            yield in_zones(read_part(path, list(wanted)).rename(wanted), self.zones)

    def different(self, names: Sequence[str]) -> dict[str, pl.Series]:
        """The cells of some columns, each once, in however many files it is."""
        found = DifferentCells()
        for frame in self.frames(names):
            for cells in frame.iter_columns():
                found.see(cells)
        return found.columns


@dataclass(frozen=True, eq=False, kw_only=True)
class Coder:
    """Codes rows by dictionaries that were made elsewhere.

    Attributes
    ----------
    values, codes
        Coded column to its different values, and the code of each.
    places
        The number of every coded column.
    """

    values: Mapping[str, pl.Series]
    codes: Mapping[str, np.ndarray]
    spelled: Sequence[str]
    places: Mapping[str, int]

    def known(self, lists: pl.DataFrame) -> dict[str, np.ndarray]:
        """The number of every value of a part among those of all."""
        return {name: self._numbers(lists[name].explode(), self.values[name]) for name in lists.columns}

    def __call__(self, rows: pl.DataFrame, known: Mapping[str, np.ndarray]) -> pl.DataFrame:
        """Draws ``b``, codes, numbers of values where several have one code, other columns."""
        found = [rows["b"]]
        for name, at in self.places.items():
            numbers = known[name][rows[f"i{at}"].to_numpy()]
            found.append(pl.Series(f"c{at}", self.codes[name][numbers].astype(np.int32)))
            if name in self.spelled:
                found.append(pl.Series(f"v{at}", numbers.astype(np.int32)))
        return pl.DataFrame([*found, *(one for one in rows.iter_columns() if one.name.startswith("o"))])

    @staticmethod
    def _numbers(cells: pl.Series, values: pl.Series) -> np.ndarray:
        known = pl.DataFrame([values.alias("value"), pl.Series("id", np.arange(len(values), dtype=np.int64))])
        rows = cells.alias("value").to_frame()
        ids = rows.join(known, on="value", how="left", nulls_equal=True, maintain_order="left")["id"]
        if ids.null_count():
            raise InputError(CHANGED)
        return ids.to_numpy()


@dataclass(frozen=True, eq=False, kw_only=True)
class Coding:
    """Writes runs of coded rows, numbered ``r`` as they came.

    Attributes
    ----------
    read, folder
        Where the rows are that were read, and where runs go.
    runs, starts
        The files of every run, and the number of its first row.
    bits
        Of a bucket's number.
    """

    coder: Coder
    read: Path
    folder: Path
    runs: Sequence[Sequence[str]]
    starts: Sequence[int]
    bits: int
    task: Task

    def __call__(self, frames: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        """What was written of every run."""
        return _done(frames, self._run)

    def _run(self, run: int) -> tuple[str, int]:
        name = f"part-{run:05d}-{self.task()[1]}"
        rows = self._coded(run)
        with spilling():
            self._write(rows, self.folder / name)
        return name, rows.height

    def _coded(self, run: int) -> pl.DataFrame:
        known: dict[str, dict[str, np.ndarray]] = {}
        parts = []
        for name in self.runs[run]:
            part = name.rpartition("-")[0]
            if part not in known:
                known[part] = self.coder.known(read_part(self.read / part))
            parts.append(self.coder(read_part(self.read / name), known[part]))
        rows, start = pl.concat(parts), self.starts[run]
        return rows.with_columns(pl.Series("r", np.arange(start, start + rows.height, dtype=np.int64)))

    def _write(self, rows: pl.DataFrame, run: Path) -> None:
        import pyarrow.parquet as pq

        # Narrow, so that they are sorted by counting.
        bucket = bucket_of(rows["b"].to_numpy(), self.bits).astype(np.uint16)
        order = np.argsort(bucket, kind="stable")
        rows, ends = rows[order], np.searchsorted(bucket[order], np.arange((1 << self.bits) + 1)).tolist()
        table = rows.to_arrow(compat_level=pl.CompatLevel.oldest())
        repeating = [name for name in table.column_names if name not in ("b", "r")]
        files = files_of(run, self.bits)
        each = (1 << self.bits) // len(files)
        for at, path in enumerate(files):
            with pq.ParquetWriter(path, table.schema, use_dictionary=repeating) as writer:
                for start, stop in pairwise(ends[at * each : (at + 1) * each + 1]):
                    if stop > start:  # Spark takes no row group without rows
                        writer.write_table(table.slice(start, stop - start), row_group_size=stop - start)


@dataclass(frozen=True, eq=False, kw_only=True)
class Buckets:
    """Rows of one bucket after the other, out of all runs."""

    runs: Sequence[Path]
    bits: int

    def rows(self, bucket: int, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Those of a bucket in the order of the release: by their draws, and where these are equal by their numbers."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        found = []
        for run in self.runs:
            files = files_of(run, self.bits)
            with pq.ParquetFile(files[bucket * len(files) >> self.bits], memory_map=True) as file:
                at = bisect_left(range(file.num_row_groups), bucket, key=lambda group: self._bucket(file, group))
                if at < file.num_row_groups and self._bucket(file, at) == bucket:
                    found.append(file.read_row_group(at, columns=columns, use_threads=False))
                elif not found and run == self.runs[-1]:
                    found.append(file.schema_arrow.empty_table().select(columns or file.schema_arrow.names))
        rows = pl.from_arrow(pa.concat_tables(found))
        assert isinstance(rows, pl.DataFrame)
        return in_order(rows)

    def _bucket(self, file: Any, group: int) -> int:
        least = file.metadata.row_group(group).column(0).statistics.min
        return int(bucket_of(np.array([least], dtype=np.int64), self.bits)[0])


@dataclass(frozen=True, eq=False, kw_only=True)
class Files:
    """Where the rows of a source are.

    Attributes
    ----------
    folder
        The scratch folder.
    runs, dropped
        Runs of coded rows in the order of their numbers, and rows that were left out.
    bits
        Of the number of a bucket.
    """

    folder: Path
    runs: Sequence[Path]
    dropped: Sequence[Path]
    bits: int

    @property
    def coded(self) -> list[Path]:
        """The files of all runs."""
        return [path for run in self.runs for path in files_of(run, self.bits)]

    @property
    def buckets(self) -> Buckets:
        """The coded rows in the order of a release."""
        return Buckets(runs=self.runs, bits=self.bits)


@dataclass(frozen=True, eq=False)
class Different:
    """Counts the different draws of buckets."""

    buckets: Buckets

    def __call__(self, frames: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        """How many there are in each."""
        return _done(frames, lambda bucket: ("", self._count(self.buckets.rows(bucket, ["b"])["b"].to_numpy())))

    @staticmethod
    def _count(draws: np.ndarray) -> int:
        return int(draws.size > 0) + int((np.diff(draws) != 0).sum())


@dataclass(frozen=True, eq=False, kw_only=True)
class Publishing:
    """Publishes buckets, each in a file, beside the codes and columns that its rows come from."""

    buckets: Buckets
    staging: Staging
    folder: Path
    task: Task

    def __call__(self, frames: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        """What was written of every bucket."""
        return _done(frames, self._bucket)

    def _bucket(self, bucket: int) -> tuple[str, int]:
        name = f"part-{bucket:05d}-{self.task()[1]}.parquet"
        rows = self.staging(self.buckets.rows(bucket))
        with spilling():
            rows.write_parquet(self.folder / name, compression="snappy", statistics=False)
        return name, rows.height


def _done(frames: Iterator[pl.DataFrame], made: Callable[[int], tuple[str, int]]) -> Iterator[pl.DataFrame]:
    """What is said of pieces of work that come by their numbers, given who does one and says name and rows."""
    for frame in frames:
        for at in frame["id"].to_list():
            yield pl.DataFrame([(at, *made(at))], schema=DONE, orient="row")
