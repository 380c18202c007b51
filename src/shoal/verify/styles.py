"""Columns that are published as two bounds or as one representative a class, read as text cells.

Whatever the file's format, equal cells give equal texts: numbers are compared exactly, in decimals, because two
cells that differ only beyond a float's digits are two classes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from decimal import Context, Decimal

import numpy as np
import polars as pl

from shoal.errors import VerificationError
from shoal.verify.cells import Cells, read_cells
from shoal.verify.claims import Column
from shoal.verify.coded import Held
from shoal.verify.coverage import uncovered
from shoal.verify.values import MISSING, STAR, Values, canonical, encode

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,6})?")
# No text that begins so is a cell, hence it cannot be read.
_UNREADABLE = "?"
_CLOSE = 1e-9


def cell_texts(frame: pl.DataFrame, column: Column) -> pl.Series:
    """The cells of a quasi-identifier, one text a row, never null."""
    parts = [frame[name] for name in column.files]
    if column.cells == "bounds":
        low, high = (exact_texts(part, column.type) for part in parts)
        cell = pl.when(low == high).then(low).otherwise(pl.format("[{},{}]", low.fill_null(""), high.fill_null("")))
        both = low.is_null() & high.is_null()
        return pl.select(pl.when(both).then(pl.lit(STAR)).otherwise(cell)).to_series().alias(column.name)
    (cells,) = parts
    if column.cells == "representative" and column.type in ("numeric", "date"):
        return exact_texts(cells, column.type).fill_null(STAR).alias(column.name)
    if cells.dtype != pl.String:
        raise VerificationError(f"The quasi-identifier '{column.name}' must hold text cells, not {cells.dtype}.")
    return cells.fill_null(MISSING)


def value_texts(held: Held, kind: str) -> pl.Series:
    """Plain values, one text a value whatever the file's format."""
    return canonical(held.distinct, kind)[0].fill_null(MISSING).gather(held.codes)


def exact_texts(values: pl.Series, kind: str) -> pl.Series:
    """One text a number or date, the same for every spelling of it; null for missing."""
    codes, distinct = encode(values)
    if kind == "date":
        texts, numbers = canonical(distinct, kind)
        found = [
            text if text is None or known else _UNREADABLE + text
            for text, known in zip(texts.to_list(), ~np.isnan(numbers), strict=True)
        ]
    else:
        raw = distinct.cast(pl.String).to_list()
        found = [None if text in (None, MISSING) else _exact(text) for text in raw]
    return pl.Series(found, dtype=pl.String).gather(codes)


@dataclass(frozen=True)
class Misrepresented:
    """Rows that are wrong in a column of representatives: by the cells behind them, or by not being their middle."""

    uncovered: int = 0
    beside: int = 0

    def __add__(self, other: Misrepresented) -> Misrepresented:
        return Misrepresented(self.uncovered + other.uncovered, self.beside + other.beside)

    def told(self, name: str) -> str | None:
        """What is wrong, None when nothing is."""
        if self.uncovered:
            return f"{self.uncovered:,} cells behind '{name}'"
        told = f"{self.beside:,} representatives of '{name}', not in the middle of their cells,"
        return told if self.beside else None


def misrepresented(
    column: Column, cells: Cells, cell_of_row: np.ndarray, values: Values, behind: pl.Series, *, whole: bool
) -> Misrepresented:
    """Rows of a column of representatives that are wrong.

    Parameters
    ----------
    values
        The rows' own values.
    behind
        For each row, the interval or set that its representative stands for.
    whole
        Whether all released numbers are whole: then cells begin and end at whole numbers, and so does their middle.
    """
    code, texts = encode(behind.fill_null(_UNREADABLE))
    kind = "set" if column.type == "ordinal" else "interval"
    plain = replace(column, cells=kind)
    hidden = read_cells(plain, texts)
    low, high, slack = _ends(column, hidden, whole)
    shown, low, high = cells.low[cell_of_row], low[code], high[code]
    star = cells.star[cell_of_row] & hidden.star[code] | cells.missing[cell_of_row] & hidden.missing[code]
    rounding = _CLOSE * np.maximum(np.abs(low), np.abs(high))
    with np.errstate(invalid="ignore"):  # cells without ends have no middle
        middle = (low <= shown) & (shown <= high) & (np.abs(shown - (low + high) / 2) <= slack + rounding)
    return Misrepresented(uncovered(plain, hidden, code, values, values.codes), int((~(middle | star)).sum()))


def _ends(column: Column, hidden: Cells, whole: bool) -> tuple[np.ndarray, np.ndarray, float]:
    """Ends of the cells behind representatives, and how far rounding may move a representative."""
    if column.type != "ordinal":
        return hidden.low, hidden.high, 1.0 if whole else 0.0
    rank = {text: place for place, text in enumerate(column.order or ())}
    place = np.array([rank.get(text, np.nan) for text in hidden.members["text"].to_list()], dtype=float)
    cell = hidden.members["cell"].to_numpy()
    low, high = np.full(len(hidden.texts), np.inf), np.full(len(hidden.texts), -np.inf)
    np.minimum.at(low, cell, place)
    np.maximum.at(high, cell, place)
    return low, high, 0.5


def _exact(text: str) -> str:
    text = text.strip()
    if not _NUMBER.fullmatch(text):
        return _UNREADABLE + text
    number = Decimal(text)
    if number == number.to_integral_value() and number.adjusted() < 40:
        return str(int(number))
    return str(number.normalize(Context(prec=len(text))))
