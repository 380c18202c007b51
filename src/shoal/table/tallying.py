"""Dictionaries of a source that many machines read: each tallies its rows, somebody adds up, the coder sees the sum.

A tally is a small table: ``what`` is counted (``value``, ``null``, ``read``, ``kept``, ``fault``, ``odd``), ``col``,
the place of the column among those read, the value as text (``t``) or as a whole number (``w``), and ``n``, how often.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from shoal.table.gathering import Gathering, Numbered
from shoal.table.invisible import is_odd
from shoal.table.schema import Schema

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

    def tallies(self, frames: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        """Counts of the batches of one part as they came."""
        left = _LOOKED
        for frame in frames:
            found = self.tally(frame, left)
            yield found
            left -= min(left, int(found.filter(pl.col("what") == "kept")["n"].sum()))

    def tally(self, frame: pl.DataFrame, looked: int = _LOOKED) -> pl.DataFrame:
        """Counts of one batch, in which so many rows of columns that are not coded are looked at."""
        found = self.faults(frame)
        place = {name: at for at, name in enumerate(self.columns)}
        if found:
            return _counters([("fault", place[name], what, count) for (name, what), count in found.items()])
        frame = self.clean(frame)
        needed = [*self.schema.released, *_never(self.schema)]
        counters = [("null", place[name], None, frame[name].null_count()) for name in needed]
        kept = kept_rows(frame, self.schema, self.missing)
        counters += [("read", -1, None, frame.height), ("kept", -1, None, kept.height)]
        subject = self.schema.subject
        if subject is not None and frame[subject].dtype == pl.String and is_odd(frame[subject]):
            counters.append(("odd", place[subject], None, 1))
        parts = [_counters(counters)]
        for name in self.schema.released:
            counts = (kept if name in self._coded else kept.head(looked)).group_by(pl.col(name).alias("value")).len("n")
            text, word = _encoded(counts["value"])
            part = {"what": "value", "col": place[name], "t": text, "w": word, "n": counts["n"]}
            parts.append(pl.DataFrame(part, schema=TALLY))
        return pl.concat(parts)

    @property
    def _coded(self) -> set[str]:
        return {*self.schema.quasi, *self.schema.sensitive}

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


def kept_rows(frame: pl.DataFrame, schema: Schema, missing: str) -> pl.DataFrame:
    """Rows that take part."""
    return frame.filter(pl.all_horizontal(pl.col(schema.released).is_not_null())) if missing == "drop" else frame


def _never(schema: Schema) -> list[str]:
    """Columns in which no cell may be missing."""
    return [name for name in (schema.subject, schema.key, schema.weight) if name is not None]


def _counters(rows: Sequence[tuple[str, int, str | None, Any]]) -> pl.DataFrame:
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
