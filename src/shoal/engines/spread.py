"""What each machine does with the batches that it is given, where many of them hold the rows: tally, code, publish.

Everything here can be sent elsewhere, takes Arrow batches and gives some, and knows nothing of who moves them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from shoal.engines.kept import Publisher, Reading, StoredBatch
from shoal.errors import InputError, ShoalError
from shoal.kernels.random import draw_bits
from shoal.table.coding import canonical_text
from shoal.table.holding import all_told
from shoal.table.invisible import as_seen
from shoal.table.keys import key_hashes
from shoal.table.packing import Packing, Places
from shoal.table.schema import Schema
from shoal.table.tallying import kept_rows

# Rows that are looked at in one go, however few come at a time.
_ROWS = 1 << 17
_SIGN = np.uint64(1 << 63)
CHANGED = "The source changed while it was read: run again, on a snapshot of it or a copy."
# Row numbers: the part in which a row was written, and its place there.
PLACE_BITS = 33


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
class Coder:
    """Codes rows by dictionaries that were made elsewhere, and draws where each goes in a release.

    Attributes
    ----------
    values, codes
        Coded column to its different values, and the code of each.
    places, others
        Numbers of coded columns, and the columns that are not.
    stream
        The key of the stream that rows are put in order by; the secret that it comes from stays with whoever has it.
    """

    schema: Schema
    missing: str
    clean: Callable[[pl.DataFrame], pl.DataFrame]
    values: Mapping[str, pl.Series]
    codes: Mapping[str, np.ndarray]
    spelled: Sequence[str]
    places: Mapping[str, int]
    others: Sequence[str]
    stream: np.ndarray

    def __call__(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Rows that take part: draws ``b``, codes, numbers of values where several have one code, other columns."""
        frame = kept_rows(self.clean(frame), self.schema, self.missing)
        bits = draw_bits(self.stream, key_hashes(canonical_text(frame[self.schema.key or ""])), 0)
        found: list[pl.Series] = [pl.Series("b", (bits ^ _SIGN).view(np.int64))]
        for name, at in self.places.items():
            numbers = self._numbers(frame[name], self.values[name])
            codes = self.codes[name][numbers]
            found.append(pl.Series(f"c{at}", codes.astype(np.int32)))
            if name in self.spelled:
                found.append(pl.Series(f"v{at}", numbers.astype(np.int32)))
        found += [unzoned(frame[name]).alias(f"o{at}") for at, name in enumerate(self.others)]
        return pl.DataFrame(found)

    @staticmethod
    def _numbers(cells: pl.Series, values: pl.Series) -> np.ndarray:
        """The number of every cell among the different values of its column."""
        known = pl.DataFrame([values.alias("value"), pl.Series("id", np.arange(len(values), dtype=np.int64))])
        rows = cells.alias("value").to_frame()
        ids = rows.join(known, on="value", how="left", nulls_equal=True, maintain_order="left")["id"]
        if ids.null_count():
            raise InputError(CHANGED)
        return ids.to_numpy()


@dataclass(frozen=True, eq=False, kw_only=True)
class Dropped:
    """Rows that are left out for missing cells."""

    schema: Schema
    clean: Callable[[pl.DataFrame], pl.DataFrame]

    def __call__(self, frame: pl.DataFrame) -> pl.DataFrame:
        """These rows, their columns numbered."""
        frame = self.clean(frame)
        frame = frame.filter(~pl.all_horizontal(pl.col(self.schema.released).is_not_null()))
        return pl.DataFrame([unzoned(column).alias(f"d{at}") for at, column in enumerate(frame.iter_columns())])


@dataclass(frozen=True, eq=False, kw_only=True)
class Seen:
    """Names of people beside what they look like."""

    schema: Schema
    clean: Callable[[pl.DataFrame], pl.DataFrame]

    def __call__(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Each different one."""
        texts = self.clean(frame)[self.schema.subject or ""].drop_nulls().unique()
        return pl.DataFrame([texts.alias("t"), as_seen(texts).alias("seen")])


@dataclass(frozen=True, eq=False, kw_only=True)
class InCells:
    """The classes of rows by the cells of the frequency table that they are in."""

    packing: Packing
    places: Places
    of: np.ndarray
    quasi: Sequence[str]

    def __call__(self, batch: StoredBatch) -> np.ndarray:
        """int32 class of every row, negative for none."""
        return self.places.looked_up(self.of, self.packing.pack([batch.codes[name] for name in self.quasi]))


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
        # Spark knows no texts that are numbers of the different ones.
        frame = all_told(self.publisher.frame(batch.take(places), classes))
        shown = [column.alias(f"p{at}") for at, column in enumerate(frame.iter_columns())]
        return part[places].with_columns(pl.Series("g", classes.astype(np.int32)), *shown)


def unzoned(column: pl.Series) -> pl.Series:
    """A column as Parquet of any writer keeps it: times of a zone as those of UTC."""
    zone = getattr(column.dtype, "time_zone", None)
    return column if zone is None else column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
