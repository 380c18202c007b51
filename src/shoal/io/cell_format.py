"""What a cell of text is: one normalisation for files and frames alike, and the names that columns may have.

Text is brought into Unicode's composed form (NFC) and loses white space and byte order marks at its edges; an empty
cell, a marker and ``<missing>``, which is how a release writes it, are missing. See docs/cells.md.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from shoal.data.coding import numbered
from shoal.data.schema import ColumnSpec, Schema
from shoal.data.texts import is_text, told
from shoal.data.value_index import number_cells
from shoal.data.values import EDGES, normal_text
from shoal.errors import InputError, ParameterError

MISSING = "<missing>"
# A column whose cells come so often is looked at by its different cells.
_REPEATED = 8


def normalise(
    frame: pl.DataFrame, where: str, markers: Sequence[str] = (), held: Collection[str] = ()
) -> pl.DataFrame:
    """Normalise every text column.

    Parameters
    ----------
    where
        Names the frame or file in messages.
    held
        Columns whose texts may come as numbers of the different ones, which were found here anyway.
    """
    absent = ["", MISSING, *map(normal_text, markers)]
    columns = []
    for column in frame.select(pl.selectors.string()):
        found = number_cells(column, column.len() // _REPEATED)
        if found is None:
            _refuse_zeros(column, np.ones(1, dtype=np.int64), where)
            columns.append(_normal(column, absent))
            continue
        numbers, cells = found
        _refuse_zeros(cells, np.bincount(numbers, minlength=cells.len()), where)
        normal = _normal(cells, absent)
        if column.name in held:
            columns.append(numbered(normal).gather(numbers))
        else:
            columns.append(column if normal.eq_missing(cells).all() else normal.gather(numbers))
    return frame.with_columns(columns)


def hash_cells(column: pl.Series, markers: Sequence[str] = ()) -> pl.Series:
    """Whole numbers in the place of cells, equal where these are, null for missing ones and for lists and the like."""
    if column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Object):
        return pl.Series(column.name, [None], dtype=pl.Int64).new_from_index(0, column.len())
    if column.dtype == pl.String:
        column = _normal(column, ["", MISSING, *map(normal_text, markers)])
    hashes = column.hash(0).reinterpret(signed=True)
    return hashes.set(column.is_null(), None).alias(column.name)


def _normal(cells: pl.Series, absent: Sequence[str]) -> pl.Series:
    ascii = (cells.str.len_bytes() == cells.str.len_chars()).all()
    # For ASCII the default is the same set of characters, and several times as fast.
    cells = cells.str.strip_chars() if ascii else cells.str.normalize("NFC").str.strip_chars(EDGES)
    gone = cells.is_in(absent)
    return cells.set(gone, None) if gone.any() else cells


def _refuse_zeros(cells: pl.Series, rows: np.ndarray, where: str) -> None:
    """Refuse zero bytes; ``rows`` says how many rows have each cell."""
    zeros = has_zeros(cells)
    if zeros.any():
        refuse_zeros(cells.name, int((zeros * rows).sum()), where)


def has_zeros(cells: pl.Series) -> np.ndarray:
    """Which texts hold a zero byte."""
    return cells.str.contains("\0", literal=True).fill_null(False).to_numpy()


def refuse_zeros(name: str, count: int, where: str) -> None:
    """Refuse texts with zero bytes, so many of them."""
    if count:
        raise InputError(
            f"Column '{name}' of {where} has {count} cells with a zero byte, which no text file can hold: "
            "remove it from them."
        )


def check_names(names: Iterable[str], where: str) -> None:
    """Refuse names of columns that could not be written and read back, or that are taken for patterns."""
    for position, name in enumerate(names, start=1):
        if not name.strip(EDGES):
            raise InputError(f"Column {position} of {where} has no name: every column needs one.")
        if name.startswith("\ufeff") or any(unicodedata.category(mark) in ("Cc", "Zl", "Zp") for mark in name):
            raise InputError(
                f"The name of column {position} of {where} holds a control character or a byte order mark: rename it."
            )
        if name == "*" or (name.startswith("^") and name.endswith("$")):
            raise InputError(
                f"Column {position} of {where} is called '{name}', which stands for several columns: rename it."
            )


# ----------------------------------------
# Numbers and missing cells as a text file writes them, brought into the form that everything else reads.
#
# A decimal comma and thousands marks are read only where they are declared: for a column, whose cells must then be
# written so, or for the whole source, of which those columns are read that hold nothing but such numbers.


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


# ----------------------------------------
# Cells that a spreadsheet would run: found, and escaped where a recipe asks for it.
#
# A text or a column's name that begins with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return and is no number
# is taken for a formula by spreadsheets that open a CSV file. So is one that begins with a sign that compatibility
# folding (NFKC) makes one of these, such as full-width ones: a program on the way may fold it. An apostrophe before
# it makes it text; one that stands before such a beginning already gets another, so that the first can always be
# taken away again.


_BEGINNING = (
    r"[=+\-@\t\r\x{207A}-\x{207C}\x{208A}-\x{208C}\x{2212}"
    r"\x{2A75}\x{2A76}\x{FB29}\x{FE62}\x{FE63}\x{FE66}\x{FE6B}\x{FF0B}\x{FF0D}\x{FF1D}\x{FF20}]"
)
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"


def escape_formulas(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with an apostrophe before every cell and name that a spreadsheet could run."""
    text = pl.col(pl.String)
    escaped = frame.with_columns(pl.when(_is_formula(text)).then(pl.lit("'") + text).otherwise(text).name.keep())
    names = pl.Series(frame.columns, dtype=pl.String)
    found = names.to_frame("name").select(_is_formula(pl.col("name")))["name"].to_list()
    return escaped.rename({name: f"'{name}" for name, one in zip(frame.columns, found, strict=True) if one})


def count_formulas(tables: Mapping[str, pl.DataFrame], names: Sequence[str] | None = None) -> int:
    """Cells and names that begin like formulas, those that would only need another apostrophe left out.

    Parameters
    ----------
    names
        The names to count, by default those of all columns.
    """
    cells = 0
    for frame in tables.values():
        named = pl.Series(frame.columns if names is None else names, dtype=pl.String)
        for text in (*(told(column) for column in frame.iter_columns() if is_text(column.dtype)), named):
            cells += int((text.str.contains(f"^{_BEGINNING}") & ~text.str.contains(_NUMBER)).sum() or 0)
    return cells


def _is_formula(text: pl.Expr) -> pl.Expr:
    return text.str.contains(f"^'*{_BEGINNING}") & text.str.contains(_NUMBER).not_()
