"""Dictionaries of a source that many machines read: each tallies its rows, somebody adds up, the coder sees the sum.

A tally is a small table: ``what`` is counted (``value``, ``null``, ``read``, ``kept``, ``fault``, ``odd``), ``col``,
the place of the column among those read, the value as text (``t``) or as a whole number (``w``), and ``n``, how often.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from shoal.data.gather import Gathering, Numbered
from shoal.data.schema import Schema
from shoal.data.texts import is_odd

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
