"""What each machine does with the batches that it is given, where many of them hold the rows.

Everything here can be sent elsewhere, takes Arrow batches and gives some, and knows nothing of who moves them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from shoal.data.classes import Cells
from shoal.data.domain import Packing, Places
from shoal.data.gather import Gathering, Numbered
from shoal.data.schema import Schema
from shoal.data.texts import as_seen, is_odd, same_form
from shoal.engines.external_rows import Reading, StoredBatch
from shoal.errors import InputError, ShoalError
from shoal.recoding.publish import Publisher

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


# ----------------------------------------
# Dictionaries of a source that many machines read: each tallies its rows, somebody adds up, the coder sees the sum.
#
# A tally is a small table: ``what`` is counted (``value``, ``null``, ``read``, ``kept``, ``fault``, ``odd``),
# ``col``, the place of the column among those read, the value as text (``t``) or as a whole number (``w``), and
# ``n``, how often.


TALLY = {"what": pl.String, "col": pl.Int32, "t": pl.String, "w": pl.Int64, "n": pl.Int64}
# Rows of a part by which a column that is not coded is looked at, such as for dates.
_LOOKED = 500


@dataclass(frozen=True, eq=False, kw_only=True)
class Tallying:
    """What every machine counts of its batches.

    Attributes
    ----------
    columns
        The columns that are read, in order.
    missing
        ``"error"``, ``"drop"`` or ``"value"``.
    faults
        Counts cells that no table may have, by column and what they are; batches with any are not looked at further.
    clean
        Makes a batch as it came into one as it is read.
    """

    schema: Schema
    columns: Sequence[str]
    missing: str
    faults: Callable[[pl.DataFrame], Mapping[tuple[str, str], int]]
    clean: Callable[[pl.DataFrame], pl.DataFrame]

    def tally(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Counts of one batch as it came."""
        part = Part(self)
        part.see(frame)
        return part.tally()

    @property
    def coded(self) -> list[str]:
        """Columns whose values are all counted."""
        return [*self.schema.quasi, *self.schema.sensitive]

    def gathering(self, total: pl.DataFrame, types: Mapping[str, pl.DataType]) -> Gathering:
        """What one reading of all batches would have told, of everything but people, from the sum of their tallies.

        Parameters
        ----------
        types
            The type of every column as it is read.
        """
        columns = {}
        for name in self.schema.released:
            found = total.filter(pl.col("what") == "value", pl.col("col") == self.columns.index(name))
            values = _decoded(found, types[name]).alias(name)
            order = values.arg_sort()
            columns[name] = Numbered.counted(values.gather(order), found["n"].gather(order).to_numpy())
        nulls = dict.fromkeys(self.columns, 0)
        nulls |= {self.columns[at]: count for at, count in self._counted(total, "null").select("col", "n").rows()}
        counts = {what: int(self._counted(total, what)["n"].sum()) for what in ("read", "kept")}
        whole = Gathering(self.schema, self.missing)
        whole.learn(
            pl.DataFrame(schema=dict(types)), columns, n_read=counts["read"], n=counts["kept"], nulls=nulls, dropped={}
        )
        return whole

    def faulty(self, total: pl.DataFrame) -> dict[tuple[str, str], int]:
        """Cells that no table may have, of all batches."""
        found = self._counted(total, "fault")
        return {(self.columns[at], what): count for at, what, count in found.select("col", "t", "n").rows()}

    def has_odd_people(self, total: pl.DataFrame) -> bool:
        """Whether names of people may look alike."""
        return not self._counted(total, "odd").is_empty()

    @staticmethod
    def _counted(total: pl.DataFrame, what: str) -> pl.DataFrame:
        return total.filter(pl.col("what") == what).sort("col")


class Part:
    """A fold over the batches of one part: what is counted of them, and the numbers of their cells."""

    def __init__(self, asked: Tallying) -> None:
        self._asked = asked
        self._tallies: list[pl.DataFrame] = []
        self._left = _LOOKED
        self.columns = {name: Numbered() for name in asked.coded}

    def see(self, frame: pl.DataFrame) -> Taken | None:
        """Take in a batch as it came; None where it has cells that no table may have."""
        asked = self._asked
        faults = asked.faults(frame)
        place = {name: at for at, name in enumerate(asked.columns)}
        if faults:
            rows = [("fault", place[name], what, count) for (name, what), count in faults.items()]
            self._tallies.append(counters(rows))
            return None
        frame = asked.clean(frame)
        kept, left_out = _parted(frame, asked.schema, asked.missing)
        needed = [*asked.schema.released, *_never(asked.schema)]
        counts = [("null", place[name], None, frame[name].null_count()) for name in needed]
        counts += [("read", -1, None, frame.height), ("kept", -1, None, kept.height)]
        subject = asked.schema.subject
        if subject is not None and frame[subject].dtype == pl.String and is_odd(frame[subject]):
            counts.append(("odd", place[subject], None, 1))
        self._tallies.append(counters(counts))
        ids = {name: numbered.see(kept[name]) for name, numbered in self.columns.items()}
        self._look(kept.head(self._left))
        return Taken(rows=kept, left_out=left_out, ids=ids)

    def _look(self, first: pl.DataFrame) -> None:
        """Count the first rows of columns that are not coded."""
        self._left -= first.height
        for name in self._asked.schema.released:
            if name not in self.columns:
                counts = first.group_by(pl.col(name).alias("value")).len("n")
                self._tallies.append(self._values(name, counts["value"], counts["n"].cast(pl.Int64)))

    def tally(self) -> pl.DataFrame:
        """What was counted of all batches."""
        coded = [
            self._values(name, one.values, pl.Series(one.counts)) for name, one in self.columns.items() if one.card
        ]
        return pl.concat([pl.DataFrame(schema=TALLY), *self._tallies, *coded])

    def _values(self, name: str, values: pl.Series, counts: pl.Series) -> pl.DataFrame:
        text, word = _encoded(values)
        part = {"what": "value", "col": self._asked.columns.index(name), "t": text, "w": word, "n": counts}
        return pl.DataFrame(part, schema=TALLY)


@dataclass(frozen=True, eq=False, kw_only=True)
class Taken:
    """A batch as it is read.

    Attributes
    ----------
    rows, left_out
        Those that take part, and those that do not.
    ids
        Coded column to the numbers of its cells among those of the part.
    """

    rows: pl.DataFrame
    left_out: pl.DataFrame
    ids: Mapping[str, np.ndarray]


def _parted(frame: pl.DataFrame, schema: Schema, missing: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Rows that take part, and those that do not."""
    if missing != "drop":
        return frame, frame.head(0)
    whole = frame.select(pl.all_horizontal(pl.col(schema.released).is_not_null()).alias("whole"))["whole"]
    return frame.filter(whole), frame.filter(~whole)


def _never(schema: Schema) -> list[str]:
    """Columns in which no cell may be missing."""
    return [name for name in (schema.subject, schema.key, schema.weight) if name is not None]


def counters(rows: Sequence[tuple[str, int, str | None, Any]]) -> pl.DataFrame:
    """A tally of what was counted, of which column, what exactly, and how often."""
    return pl.DataFrame([(what, at, text, None, count) for what, at, text, count in rows], schema=TALLY, orient="row")


def _encoded(values: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Values as text or as whole numbers, whichever keeps them exactly."""
    kind, nothing = values.dtype, pl.repeat(None, values.len(), eager=True)
    if kind == pl.String or kind.is_decimal() or kind in (pl.Int128, pl.UInt128, pl.UInt64):
        return values.cast(pl.String), nothing.cast(pl.Int64)
    if kind.is_float():
        # Adding zero makes minus zero the zero it equals.
        bits = (values.cast(pl.Float64).fill_null(0.0).to_numpy() + 0.0).view(np.int64)
        return nothing.cast(pl.String), pl.Series(bits).set(values.is_null(), None)
    return nothing.cast(pl.String), values.to_physical().cast(pl.Int64)


def _decoded(found: pl.DataFrame, kind: pl.DataType) -> pl.Series:
    """The reverse."""
    if kind == pl.String:
        return found["t"]
    if kind.is_decimal() or kind in (pl.Int128, pl.UInt128, pl.UInt64):
        return found["t"].cast(kind)
    if kind.is_float():
        floats = pl.Series(found["w"].fill_null(0).to_numpy().view(np.float64))
        return floats.set(found["w"].is_null(), None).cast(kind)
    return found["w"].cast(pl.Int32).cast(kind) if kind == pl.Date else found["w"].cast(kind)
