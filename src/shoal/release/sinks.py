"""Where released tables are kept between the gate and their files: in memory, in a scratch folder, or elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, Protocol

import numpy as np
import polars as pl

from shoal.data.table import read_part, spilling
from shoal.data.texts import all_held, all_told, is_held
from shoal.errors import GateError, InputError
from shoal.io.evidence import frame_stamp
from shoal.io.frames import native


class Sink(Protocol):
    """A store for the batches of a release between the gate and the files that are written of them."""

    def add(self, table: str, frame: pl.DataFrame, rows: np.ndarray) -> None:
        """Take in rows of a table, and the numbers of the input rows behind them."""
        ...

    def seal(self) -> None:
        """Note what was added, now that all of it passed the gate."""
        ...

    @property
    def names(self) -> Sequence[str]:
        """The tables."""
        ...

    def height(self, table: str) -> int:
        """How many rows a table has."""
        ...

    def rows(self, table: str) -> pl.DataFrame | pl.LazyFrame:
        """A table as it was added; texts may be numbers of the different ones."""
        ...

    def batches(self, table: str) -> Iterator[pl.DataFrame]:
        """Rows of a table as they were added, some at a time."""
        ...

    def frame(self, table: str) -> pl.DataFrame:
        """All rows of a table as they were added."""
        ...

    def source(self, table: str) -> np.ndarray:
        """The number of the input row behind each of its rows."""
        ...

    def copy(self, table: str) -> Any:
        """A copy of a table, in the library that the input came in."""
        ...

    def head(self, table: str, rows: int) -> pl.DataFrame:
        """The first rows, where they can be shown."""
        ...

    def close(self) -> None:
        """Remove what is kept on disk."""
        ...


_BATCH = 1 << 18  # rows


class Frames:
    """Tables in memory.

    Parameters
    ----------
    backend
        Names the library that copies are made for.
    """

    def __init__(self, backend: Any = None) -> None:
        self._backend = backend
        self._parts: dict[str, list[pl.DataFrame]] = {}
        self._sources: dict[str, list[np.ndarray]] = {}
        self._stamps: dict[str, str] = {}

    def add(self, table: str, frame: pl.DataFrame, rows: np.ndarray) -> None:
        """Keep a frame; texts that repeat are kept as numbers of the different ones."""
        self._parts.setdefault(table, []).append(all_held(frame))
        self._sources.setdefault(table, []).append(rows)

    def seal(self) -> None:
        """Note a hash of every table: memory may be shared with the caller's frame."""
        for table, rows in self._sources.items():
            self._sources[table] = [np.concatenate(rows)]
            self._sources[table][0].setflags(write=False)
            self._parts[table] = [pl.concat(self._parts[table])]
            self._stamps[table] = frame_stamp(self.frame(table))

    @property
    def names(self) -> Sequence[str]:
        """The tables."""
        return list(self._parts)

    def height(self, table: str) -> int:
        """How many rows a table has."""
        return sum(part.height for part in self._parts[table])

    def rows(self, table: str) -> pl.DataFrame:
        """A whole table."""
        parts = self._parts[table]
        return parts[0] if len(parts) == 1 else pl.concat(parts)

    def batches(self, table: str) -> Iterator[pl.DataFrame]:
        """A table in slices, unless it was changed since the gate saw it."""
        frame = self.frame(table)
        _refuse_changed(frame, self._stamps[table])
        yield from frame.iter_slices(_BATCH) if frame.height else [frame]

    def frame(self, table: str) -> pl.DataFrame:
        """A whole table."""
        return self._parts[table][0]

    def source(self, table: str) -> np.ndarray:
        """The number of the input row behind each of its rows."""
        return self._sources[table][0]

    def copy(self, table: str) -> Any:
        """A copy of a table."""
        return native(all_told(self.frame(table)).clone(), self._backend)

    def head(self, table: str, rows: int) -> pl.DataFrame:
        """The first rows."""
        return self.frame(table).head(rows)

    def close(self) -> None:
        """Nothing is on disk."""


class Staged:
    """Tables in files of a private folder, one a batch, each with a hash of its rows as the gate saw them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._parts: dict[str, list[Path]] = {}
        self._stamps: dict[str, list[str]] = {}
        self._heights: dict[str, int] = {}

    def add(self, table: str, frame: pl.DataFrame, rows: np.ndarray) -> None:
        """Write a file."""
        parts = self._parts.setdefault(table, [])
        path = self._folder / f"{table}-{len(parts):08d}.arrow"
        with spilling():
            frame.write_ipc(path, compression="uncompressed")
        parts.append(path)
        self._stamps.setdefault(table, []).append(frame_stamp(frame))
        self._heights[table] = self._heights.get(table, 0) + frame.height

    def seal(self) -> None:
        """Every file has its hash already."""

    @property
    def names(self) -> Sequence[str]:
        """The tables."""
        return list(self._parts)

    def height(self, table: str) -> int:
        """How many rows a table has."""
        return self._heights[table]

    def rows(self, table: str) -> pl.LazyFrame:
        """A whole table, read as it is needed."""
        return pl.scan_ipc(self._parts[table], glob=False, hive_partitioning=False)

    def batches(self, table: str) -> Iterator[pl.DataFrame]:
        """A table, one file after the other, unless one was changed since the gate saw its rows."""
        for path, stamp in zip(self._parts[table], self._stamps[table], strict=True):
            frame = read_part(path)
            _refuse_changed(frame, stamp)
            yield frame

    def frame(self, table: str) -> pl.DataFrame:
        """A whole table."""
        return pl.concat(self.batches(table))

    def source(self, table: str) -> np.ndarray:
        """Not kept."""
        raise InputError("Which input row is behind which released one is not kept by this engine: use 'memory'.")

    def copy(self, table: str) -> Any:
        """A whole table as a frame of Polars."""
        return all_told(self.frame(table))

    def head(self, table: str, rows: int) -> pl.DataFrame:
        """No rows are shown of what may be large."""
        return pl.DataFrame()

    def close(self) -> None:
        """The folder goes with the rows that were released."""


class Elsewhere:
    """Tables that are not kept here; asking for one is refused with the place where it is."""

    def __init__(self, where: str, heights: Mapping[str, int] | None = None) -> None:
        self._where = where
        self._heights = dict(heights or {})

    def add(self, table: str, frame: pl.DataFrame, rows: np.ndarray) -> None:
        """Count the rows."""
        self._heights[table] = self._heights.get(table, 0) + frame.height

    def seal(self) -> None:
        """Nothing is kept."""

    @property
    def names(self) -> Sequence[str]:
        """The tables."""
        return list(self._heights)

    def height(self, table: str) -> int:
        """How many rows a table has."""
        return self._heights[table]

    def rows(self, table: str) -> pl.LazyFrame:
        """Refused."""
        self._refuse()

    def batches(self, table: str) -> Iterator[pl.DataFrame]:
        """Refused."""
        self._refuse()

    def frame(self, table: str) -> pl.DataFrame:
        """Refused."""
        self._refuse()

    def source(self, table: str) -> np.ndarray:
        """Refused."""
        self._refuse()

    def copy(self, table: str) -> Any:
        """Refused."""
        self._refuse()

    def head(self, table: str, rows: int) -> pl.DataFrame:
        """No rows are shown."""
        return pl.DataFrame()

    def close(self) -> None:
        """Nothing is kept."""

    def _refuse(self) -> NoReturn:
        raise InputError(self._where)


class Gone:
    """Rows that an engine had open while a release was made; asking for them is refused likewise."""

    def __init__(self, where: str) -> None:
        self._where = where

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise InputError(self._where)


def _refuse_changed(frame: pl.DataFrame, stamp: str) -> None:
    """Refuse rows that are not those that passed the gate."""
    if frame_stamp(frame) != stamp:
        raise GateError("The release was changed after it had passed the gate, so nothing is written: run again.")


def texts_told(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows with their texts one by one, looked up, which is faster than a cast."""
    return rows.with_columns(
        column.dtype.categories.gather(column.to_physical()).alias(column.name)  # type: ignore[attr-defined]
        for column in rows.iter_columns()
        if is_held(column.dtype)
    )
