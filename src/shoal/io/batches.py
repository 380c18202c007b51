"""A source that is read in batches of rows, so that it may be larger than memory: text or Parquet, one file or many.

Cells are what `shoal.io.files.read_frame` makes of them. What is wrong with a file is said in the same words, whatever
batch it stands in.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.data.derive import derived_from, prepared, with_derived
from shoal.data.keys import Keys
from shoal.data.sampling import Drawing, Sample, Sampling
from shoal.data.schema import ColumnSpec
from shoal.data.value_index import Different
from shoal.data.values import normal_text
from shoal.errors import EmptyTableError, InputError, ParameterError
from shoal.io.cell_format import MISSING, hash_cells, normalise
from shoal.io.csv import Layout, parse, refuse_faulty
from shoal.io.files import extension_of, not_parquet
from shoal.io.folders import find_files, name_of
from shoal.io.frames import clean
from shoal.io.partitions import Partitions, partitions_of
from shoal.io.text import Text, changed

BATCH = 1 << 18  # rows of Parquet in one go
_BYTES = 1 << 24  # the same of text
_FILE = ""  # which no column is called


@dataclass(frozen=True, kw_only=True)
class Batches:
    """Files of one table, in order.

    Attributes
    ----------
    paths
        The files, all of one kind and with the same columns.
    name
        What the table is called where nobody said.
    told
        How many files there are, in words.
    partitions
        Columns that stand in the names of their folders.
    columns, separator, encoding, missing_markers
        As :func:`shoal.io.files.read_frame` takes them.
    scratch
        A folder for what has to be written anew to be read in batches; by default the system's temporary folder.
    """

    paths: Sequence[Path]
    name: str
    told: str
    partitions: Partitions = field(default_factory=Partitions)
    columns: Sequence[str] | None = None
    separator: str | None = None
    encoding: str = "utf-8"
    missing_markers: Sequence[str] = ()
    scratch: Path | None = None

    def stamp(self) -> dict[str, Any]:
        """What tells another state of the files, or another way to read them, from this one."""
        return {
            "files": [[str(path.resolve()), *_state(path)] for path in self.paths],
            "how": [self.columns, self.separator, self.encoding, list(self.missing_markers)],
            "partitions": list(self.partitions.names),
        }

    @cached_property
    def names(self) -> list[str]:
        """Its columns, those of folders behind the others."""
        return self.partitions.behind(self._own, f"'{self.paths[0].name}'")

    @cached_property
    def _own(self) -> list[str]:
        """Columns that are in the files."""
        if self._parquet:
            return [name for name in self._lazy.collect_schema() if name != _FILE or not self.partitions.names]
        return self._first[1].names

    @cached_property
    def _first(self) -> tuple[list[int], Layout]:
        """The state of the first file, before it was opened, and the file as it is opened once."""
        return _state(self.paths[0]), self._layout(self.paths[0])

    def frames(
        self, wanted: Sequence[str] | None = None, held: Collection[str] = (), hashed: Sequence[str] = ()
    ) -> Iterator[pl.DataFrame]:
        """The rows, in order, in batches; of the columns that are wanted.

        Parameters
        ----------
        held
            Columns whose texts may come as numbers of the different ones.
        hashed
            Further columns of which hashes come, whatever their cells are.
        """
        read = self._of_parquet if self._parquet else self._of_text
        for frame in read(self.names if wanted is None else wanted, held, hashed):
            if frame.height:
                yield frame

    @property
    def _parquet(self) -> bool:
        return extension_of(self.paths[0]) == ".parquet"

    @cached_property
    def _lazy(self) -> pl.LazyFrame:
        if self.columns is not None:
            raise ParameterError(
                f"'{self.paths[0].name}' is Parquet and names its columns itself: leave 'columns' out."
            )
        try:
            lazy = pl.scan_parquet(
                list(self.paths), glob=False, hive_partitioning=False,
                include_file_paths=_FILE if self.partitions.names else None,
            )  # fmt: skip
            lazy.collect_schema()
        except (pl.exceptions.PolarsError, OSError, pl.exceptions.PanicException) as error:
            raise self._unreadable(error) from None
        return lazy

    def _of_parquet(
        self, wanted: Sequence[str], held: Collection[str], hashed: Sequence[str]
    ) -> Iterator[pl.DataFrame]:
        told = [name for name in self.partitions.names if name in (*wanted, *hashed)]
        own = [name for name in (*wanted, *hashed) if name not in told]
        lazy = self._lazy.select(*own, _FILE) if told else self._lazy.select(own)
        files = [str(path) for path in self.paths]
        where = f"'{self.paths[0].name}'"
        try:
            # As the ends of the files say: of one that is damaged, a thread that panics just ends the batches.
            left = self._lazy.select(pl.len()).collect().item()
            for frame in lazy.collect_batches(chunk_size=BATCH, maintain_order=True):
                left -= frame.height
                placed = [pl.col(_FILE).replace_strict(files, self._cells[name]).alias(name) for name in told]
                rows = frame.with_columns(placed)
                found = normalise(clean(rows.select(wanted), where), where, self.missing_markers, held)
                yield found.hstack([hash_cells(rows[name], self.missing_markers) for name in hashed])
        except (pl.exceptions.PolarsError, OSError, pl.exceptions.PanicException) as error:
            raise self._unreadable(error) from None
        if left:
            raise self._unreadable()

    @cached_property
    def _cells(self) -> pl.DataFrame:
        """What folders say of each file."""
        return self.partitions.normal(f"'{self.paths[0].name}'", self.missing_markers)

    def _unreadable(self, error: BaseException | None = None) -> InputError:
        if len(self.paths) > 1:
            return InputError(
                f"'{self.paths[0].name}' and the {len(self.paths) - 1} files beside it cannot be read as one Parquet "
                "table: check that they are whole and have the same columns."
            )
        return not_parquet(self.paths[0], error)

    def _layout(self, path: Path) -> Layout:
        fallback = "\t" if extension_of(path) == ".tsv" else ","
        folder = self.scratch or Path(tempfile.gettempdir())
        return Layout.of(Text.open(path, self.encoding, spill=folder), self.separator or fallback, self.columns)

    def _of_text(self, wanted: Sequence[str], held: Collection[str], hashed: Sequence[str]) -> Iterator[pl.DataFrame]:
        markers = [MISSING, *map(normal_text, self.missing_markers)]
        for at, path in enumerate(self.paths):
            state, layout = self._first if path == self.paths[0] else (_state(path), self._layout(path))
            if state != _state(path):
                raise changed(path.name)
            if layout.names != self._own:
                raise InputError(
                    f"'{path.name}' has other columns than '{self.paths[0].name}': name files of one table."
                )
            told = [pl.lit(cell[0], pl.String).alias(cell.name) for cell in self._cells.slice(at, 1)]
            # Blank lines mean what they mean behind a row, wherever a piece begins.
            row = layout.separator.join("x" * len(layout.names)).encode() + b"\n"
            for part in _parts(layout.text, layout.start, row):
                piece = Text(layout.text.name, part, part)
                piece.refuse_zeros()
                try:
                    frame = parse(piece, separator=layout.separator, columns=layout.names, markers=markers).slice(1)
                except InputError:
                    if state != _state(path):  # so that nobody looks at a map that reaches beyond the file
                        raise changed(path.name) from None
                    # Told of the whole file, with the row and line where it stands there.
                    refuse_faulty(layout)
                    raise
                rows = frame.with_columns(told)
                found = rows.select(wanted)
                if not piece.is_plain():
                    found = normalise(found, f"'{path.name}'", self.missing_markers, held)
                yield found.hstack([hash_cells(rows[name], self.missing_markers) for name in hashed])


def _state(path: Path) -> list[int]:
    """What tells another state of a file from this one."""
    try:
        told = path.stat()
    except OSError as error:
        raise InputError(f"'{path.name}' cannot be read: {error.strerror}.") from None
    # The last is no user's to set, as by a copy that keeps the time of another file.
    return [told.st_size, told.st_mtime_ns, told.st_ctime_ns]


@dataclass(frozen=True)
class PreparedBatches:
    """The same with columns derived, recoded, coded at their ends and rounded (`shoal.data.derive`)."""

    source: Batches
    specs: Mapping[str, ColumnSpec]

    @property
    def name(self) -> str:
        """What the table is called where nobody said."""
        return self.source.name

    @property
    def told(self) -> str:
        """How many files there are, in words."""
        return self.source.told

    @property
    def names(self) -> list[str]:
        """Its columns, derived ones behind the others."""
        return with_derived(self.source.names, self.specs)

    def stamp(self) -> dict[str, Any]:
        """What tells another state of the files, or other columns made of them, from this one."""
        done = {name: str(spec) for name, spec in self.specs.items() if spec.techniques}
        return {**self.source.stamp(), "prepared": done}

    def frames(
        self, wanted: Sequence[str] | None = None, held: Collection[str] = (), hashed: Sequence[str] = ()
    ) -> Iterator[pl.DataFrame]:
        """The rows, in order, in batches; of the columns that are wanted, all texts one by one."""
        names = self.names if wanted is None else wanted
        needed = {*names, *derived_from(self.specs), *self.specs}
        # Of columns that others are derived from, cells are needed all the same.
        alone = [name for name in hashed if name not in needed]
        for frame in self.source.frames([name for name in self.source.names if name in needed], hashed=alone):
            found = prepared(frame.drop(alone), self.specs)
            hashes = [frame[name] if name in alone else hash_cells(found[name]) for name in hashed]
            yield found.select(names).hstack(hashes)


def open_batches(
    path: str | Path,
    *,
    base: Path = Path(),
    columns: Sequence[str] | None = None,
    separator: str | None = None,
    encoding: str = "utf-8",
    missing_markers: Sequence[str] = (),
    scratch: Path | None = None,
) -> Batches:
    """A file, a folder of files (below it, too), or a pattern such as ``visits-*.parquet``, as seen from a folder."""
    name, path = name_of(path, base), base / path
    found = find_files(path)
    batches = Batches(
        paths=found.files, name=name, told=found.told, partitions=partitions_of(path, found.files),
        columns=columns, separator=separator, encoding=encoding, missing_markers=missing_markers, scratch=scratch,
    )  # fmt: skip
    if not batches.names:
        raise EmptyTableError(f"'{path}' has no columns: there is nothing to read.")
    return batches


def _parts(text: Text, start: int, before: bytes) -> Iterator[bytes]:
    """Pieces of a text that end where a row does, outside of quotes, each behind the same row."""
    size, whole = _BYTES, len(text.data)
    with text.reading() as read:
        while start < whole:
            piece = read(start, min(size, whole - start))
            end = len(piece) if start + size >= whole else _row_end(np.frombuffer(piece, np.uint8))
            if end == 0:  # one row longer than a piece
                size *= 2
                continue
            yield before + piece[:end]
            start, size = start + end, _BYTES


def _row_end(piece: np.ndarray) -> int:
    """Behind the last line feed outside of quotes; 0 where there is none."""
    feeds = np.flatnonzero(piece == ord("\n"))
    quotes = np.flatnonzero(piece == ord('"'))
    if quotes.size:
        feeds = feeds[np.searchsorted(quotes, feeds) % 2 == 0]
    return int(feeds[-1]) + 1 if feeds.size else 0


# ----------------------------------------
# A sample of a source that is read in batches, the same as of all its rows at once.


@dataclass(frozen=True, eq=False)
class DrawnBatches:
    """The rows of a source that were drawn.

    Attributes
    ----------
    state
        The stamp of the source as it was when they were.
    flags
        Whether each row of the source was.
    """

    source: Batches | PreparedBatches
    state: Mapping[str, Any]
    flags: np.ndarray
    sample: Sample

    @property
    def name(self) -> str:
        """What the table is called where nobody said."""
        return self.source.name

    @property
    def told(self) -> str:
        """How many files there are, in words."""
        return self.source.told

    @property
    def names(self) -> list[str]:
        """Its columns."""
        return self.source.names

    def stamp(self) -> dict[str, Any]:
        """What tells another state of the source, or another draw, from this one."""
        return {**self.source.stamp(), "drawn": hashlib.blake2b(np.packbits(self.flags).tobytes()).hexdigest()}

    def frames(
        self, wanted: Sequence[str] | None = None, held: Collection[str] = (), hashed: Sequence[str] = ()
    ) -> Iterator[pl.DataFrame]:
        """The rows that were drawn, in order, in batches."""
        for frame, drawn in self._flagged(wanted, held, hashed):
            found = frame.filter(drawn)
            if found.height:
                yield found

    def left_out(self, columns: Sequence[str], known: Mapping[str, pl.Series]) -> dict[str, pl.Series]:
        """Different cells of some columns in the rows that were not drawn, with others that are known."""
        found = Different(known)
        for frame, drawn in self._flagged(columns) if columns else ():
            others = frame.filter(~drawn)
            for name in columns:
                found.see(others[name])
        return found.columns

    def _flagged(
        self, wanted: Sequence[str] | None, held: Collection[str] = (), hashed: Sequence[str] = ()
    ) -> Iterator[tuple[pl.DataFrame, pl.Series]]:
        """Batches, and which rows of each were drawn: the source is read again, and has to be what it was."""
        start = 0
        for frame in self.source.frames(wanted, held, hashed):
            drawn = pl.Series(self.flags[start : start + frame.height])
            if len(drawn) < frame.height:
                raise _changed()
            start += frame.height
            yield frame, drawn
        if self.source.stamp() != self.state:
            raise _changed()


def _changed() -> InputError:
    return InputError(
        "A file of the source was changed after a sample of it was drawn: wait until it is whole, and run again."
    )


def draw_batches(
    source: Batches | PreparedBatches, sampling: Sampling, keys: Keys, *, subject: str | None, key: str | None
) -> DrawnBatches:
    """Draw a sample, reading what decides it: twelve bytes a row while that lasts, and then one."""
    state = source.stamp()
    drawing = Drawing(sampling, source.names, subject=subject, key=key)
    for frame in source.frames(drawing.needed or source.names[:1]):
        drawing.see(frame)
    return DrawnBatches(source, state, *drawing.drawn(keys))
