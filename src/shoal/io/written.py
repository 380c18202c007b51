"""Numbers and missing cells as a text file writes them, brought into the form that everything else reads.

A decimal comma and thousands marks are read only where they are declared: for a column, whose cells must then be
written so, or for the whole source, of which those columns are read that hold nothing but such numbers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from shoal.data.schema import ColumnSpec, Schema
from shoal.data.texts import is_text, told
from shoal.data.values import normal_text
from shoal.errors import InputError, ParameterError

DECIMALS = (".", ",")
# A comma, a point, an apostrophe, and blanks: plain, without a break, and narrow.
THOUSANDS = (",", ".", "'", "’", " ", "\u00a0", "\u202f")


@dataclass(frozen=True, kw_only=True)
class Notation:
    """How numbers are written: what stands before the decimals, and between thousands (None: nothing)."""

    decimal: str = "."
    thousands: str | None = None

    def __post_init__(self) -> None:
        if self.decimal not in DECIMALS:
            raise ParameterError(f"The 'decimal' must be '.' or ','. Got {self.decimal!r}.")
        if self.thousands is not None and self.thousands not in THOUSANDS:
            raise ParameterError(
                f"The 'thousands' must be a comma, a point, an apostrophe or a blank. Got {self.thousands!r}."
            )
        if self.thousands == self.decimal:
            raise ParameterError(
                f"The 'decimal' and the 'thousands' are both {self.decimal!r}: nobody could tell 1{self.decimal}234."
            )

    @property
    def plain(self) -> bool:
        """Whether numbers are written as they are read anyway."""
        return self.decimal == "." and self.thousands is None

    @property
    def pattern(self) -> str:
        """What a number looks like."""
        whole = r"\d+"
        if self.thousands is not None:
            whole = rf"(?:\d{{1,3}}(?:{re.escape(self.thousands)}\d{{3}})+|\d+)"
        return rf"^[+-]?{whole}(?:{re.escape(self.decimal)}\d+)?(?:[eE][+-]?\d+)?$"

    def read(self, cells: pl.Series) -> pl.Series:
        """The texts with numbers as they are read everywhere; others are left alone."""
        fits = cells.str.contains(self.pattern)
        found = cells
        if self.thousands is not None:
            found = found.str.replace_all(self.thousands, "", literal=True)
        if self.decimal != ".":
            found = found.str.replace_all(self.decimal, ".", literal=True)
        return pl.select(pl.when(fits).then(found).otherwise(cells).alias(cells.name)).to_series()


def as_written(frame: pl.DataFrame, schema: Schema, notation: Notation) -> pl.DataFrame:
    """The rows with columns' own missing markers gone, and numbers in the form that is read everywhere.

    Times of a column that is declared to hold dates lose the time of day, as a format that reads one does to text.

    Parameters
    ----------
    notation
        How the source writes numbers, where a column does not say it of itself.
    """
    columns = []
    for name in frame.columns:
        spec = schema.spec(name)
        series = _without_markers(frame[name], spec.missing_markers)
        if is_text(series.dtype) and not (notation.plain and spec.decimal is None and spec.thousands is None):
            series = _numbers(told(series), spec, notation)
        elif spec.type == "date" and isinstance(series.dtype, pl.Datetime):
            series = series.dt.replace_time_zone(None).cast(pl.Date)
        columns.append(series)
    return pl.DataFrame(columns)


def _numbers(series: pl.Series, spec: ColumnSpec, notation: Notation) -> pl.Series:
    """A column of text, its numbers as its own settings or those of the source say."""
    if spec.decimal is None and spec.thousands is None:
        open_to_numbers = spec.type in (None, "numeric") and spec.format is None and not spec.order
        if notation.plain or not open_to_numbers or not series.str.contains(notation.pattern).all():
            return series
        return notation.read(series)
    own = Notation(decimal=spec.decimal or notation.decimal, thousands=spec.thousands or notation.thousands)
    other = int((series.str.contains(own.pattern).not_() & series.cast(pl.Float64, strict=False).is_not_null()).sum())
    if other:
        raise InputError(
            f"Column '{series.name}' has {other:,} numbers in another form than its 'decimal' and 'thousands' say: "
            "correct these settings, or the cells."
        )
    return own.read(series)


def _without_markers(series: pl.Series, markers: Sequence[str]) -> pl.Series:
    """A column without the cells that stand for missing ones in it."""
    if not markers:
        return series
    texts = [normal_text(str(marker)) for marker in markers]
    if series.dtype == pl.String:
        gone = series.is_in(texts)
    elif series.dtype.is_numeric():
        numbers = pl.Series(texts).cast(pl.Float64, strict=False).drop_nulls()
        gone = series.cast(pl.Float64).is_in(numbers.to_list())
    else:
        gone = series.cast(pl.String).is_in(texts)
    return pl.select(pl.when(gone).then(None).otherwise(series).alias(series.name)).to_series()
