"""What each machine does with the batches that it is given, where many of them hold the rows.

Everything here can be sent elsewhere, takes Arrow batches and gives some, and knows nothing of who moves them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from shoal.data.classes import Cells
from shoal.data.domain import Packing, Places
from shoal.data.schema import Schema
from shoal.data.texts import as_seen, same_form
from shoal.engines.kept import Publisher, Reading, StoredBatch
from shoal.errors import InputError, ShoalError

# Rows that are looked at in one go, however few come at a time.
_ROWS = 1 << 17
CHANGED = "The source changed while it was read: run again, on a snapshot of it or a copy."


@dataclass(frozen=True)
class Each:
    """A function of frames as one of the frames of a part."""

    made: Callable[[pl.DataFrame], pl.DataFrame]

    def __call__(self, frames: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        return map(self.made, frames)


@dataclass(frozen=True)
class Mapped:
    """A function of the frames of a part as one of its Arrow batches.

    Attributes
    ----------
    made
        Makes frames of frames.
    columns
        What columns are called that come under other names; None where they come under their own.
    """

    made: Callable[[Iterator[pl.DataFrame]], Iterator[pl.DataFrame]]
    columns: Sequence[str] | None = None

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        try:
            for frame in self.made(self._frames(batches)):
                if frame.height:
                    yield from frame.to_arrow(compat_level=pl.CompatLevel.oldest()).to_batches()
        except ShoalError:
            raise
        except (Exception, pl.exceptions.PanicException) as error:  # whose words may quote cells, in logs
            raise InputError(
                f"A machine of Spark could not read, code or publish its rows ({type(error).__name__})."
            ) from None

    def _frames(self, batches: Iterator[Any]) -> Iterator[pl.DataFrame]:
        waiting: list[pl.DataFrame] = []
        for batch in batches:
            frame = pl.from_arrow(batch)
            assert isinstance(frame, pl.DataFrame)
            waiting.append(frame)
            if sum(one.height for one in waiting) >= _ROWS:
                yield self._together(waiting)
                waiting = []
        if waiting:
            yield self._together(waiting)

    def _together(self, waiting: Sequence[pl.DataFrame]) -> pl.DataFrame:
        frame = pl.concat(waiting)
        return frame if self.columns is None else frame.rename(dict(zip(frame.columns, self.columns, strict=True)))


@dataclass(frozen=True, eq=False, kw_only=True)
class Seen:
    """Names of people beside what they look like."""

    schema: Schema
    clean: Callable[[pl.DataFrame], pl.DataFrame]

    def __call__(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Each different one."""
        texts = self.clean(frame)[self.schema.subject or ""].drop_nulls().unique()
        return pl.DataFrame([texts.alias("t"), as_seen(texts).alias("seen")])


def with_forms(frame: pl.DataFrame) -> pl.DataFrame:
    """Add to names of people (``t``) the form that other spellings of a name share."""
    return frame.with_columns(same_form(frame["t"]).alias("form"))


@dataclass(frozen=True, eq=False, kw_only=True)
class InCells:
    """The classes of rows by the cells of the frequency table that they are in."""

    packing: Packing
    places: Places
    classes: Cells
    quasi: Sequence[str]

    def __call__(self, batch: StoredBatch) -> np.ndarray:
        """int32 class of every row, negative for none."""
        words = self.packing.pack([batch.codes[name] for name in self.quasi])
        return self.classes.cleared(self.places.looked_up(self.classes.of, words), batch.rows)


@dataclass(frozen=True, eq=False)
class OfRows:
    """The classes of rows by their numbers, which only the driver knows."""

    ids: np.ndarray

    def __call__(self, batch: StoredBatch) -> np.ndarray:
        """int32 class of every row."""
        return self.ids[batch.rows]


def everybody(batch: StoredBatch) -> np.ndarray:
    """One class of all rows, where it does not matter which."""
    return np.zeros(batch.rows.size, dtype=np.int32)


@dataclass(frozen=True, eq=False, kw_only=True)
class Staging:
    """Released rows, and what is published of them in columns ``p0``, ``p1``, ..."""

    reading: Reading
    publisher: Publisher

    def __call__(self, part: pl.DataFrame) -> pl.DataFrame:
        """These rows of a batch of coded ones, with their classes ``g``."""
        batch = self.reading.batch(part)
        places, classes = self.publisher.places(batch)
        frame = self.publisher.frame(batch.take(places), classes)
        shown = [_by_the_clock(column).alias(f"p{at}") for at, column in enumerate(frame.iter_columns())]
        return part[places].with_columns(pl.Series("g", classes.astype(np.int32)), *shown)


def unzoned(column: pl.Series) -> pl.Series:
    """A column as Parquet of any writer keeps it: times of a zone as those of UTC."""
    zone = getattr(column.dtype, "time_zone", None)
    return column if zone is None else column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)


def _by_the_clock(column: pl.Series) -> pl.Series:
    """A column in which times of a zone are what a clock there shows."""
    return column if getattr(column.dtype, "time_zone", None) is None else column.dt.replace_time_zone(None)
