"""Columns that are published as two bounds or as one representative a class, read as text cells.

Whatever the file's format, equal cells give equal texts: numbers are compared exactly, in decimals, because two
cells that differ only beyond a float's digits are two classes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal

import numpy as np
import polars as pl

from shoal.errors import VerificationError
from shoal.verify.cells import Cells, read_cells
from shoal.verify.manifest_column import Column
from shoal.verify.values import MISSING, STAR, Held, Values, canonical, encode

# ----------------------------------------
# Whether every released quasi-identifier cell covers the value of its source row.


# So many pairs of a cell and a value are counted in place of rows.
_PAIRS = 1 << 20


def uncovered(
    column: Column, cells: Cells, cell_of_row: np.ndarray, values: Values, value_of_row: np.ndarray
) -> int:
    """How many rows hold a cell that does not cover their value: each pair of a cell and a value is looked at once."""
    count = len(values.texts)
    if len(cells.texts) * count > _PAIRS:
        return int((~covered(column, cells, cell_of_row, values, value_of_row)).sum())
    rows = np.bincount(cell_of_row * count + value_of_row)
    pairs = np.flatnonzero(rows)
    return int(rows[pairs[~covered(column, cells, pairs // count, values, pairs % count)]].sum())


def covered(
    column: Column, cells: Cells, cell_of_row: np.ndarray, values: Values, value_of_row: np.ndarray
) -> np.ndarray:
    """Whether the cell of each row covers its value.

    Parameters
    ----------
    column, cells
        The quasi-identifier and its distinct cells.
    cell_of_row, value_of_row
        For each row, its cell (in ``cells``) and its source value (in ``values``).
    values
        The column's input values.
    """
    none = values.texts.is_null().to_numpy()
    if column.cells in ("interval", "bounds"):
        numbers = _ranks(column, values) if column.type == "ordinal" else values.numbers
        number = numbers[value_of_row]
        # Comparisons with nan are false: neither an unreadable value nor an unreadable cell is ever covered.
        inside = (cells.low[cell_of_row] <= number) & (number <= cells.high[cell_of_row])
    elif column.cells == "label":
        inside = np.zeros(len(cell_of_row), dtype=bool)
        for ancestor in _ancestors(column, cells, values):
            inside |= ancestor[value_of_row] == cell_of_row
    else:
        inside = _among(cells, cell_of_row, values, value_of_row)
    inside |= none[value_of_row] & cells.missing[cell_of_row]
    return inside | cells.star[cell_of_row]


def _ranks(column: Column, values: Values) -> np.ndarray:
    order, _ = canonical(pl.Series(column.order, dtype=pl.String), column.type)
    rank = {text: float(place) for place, text in enumerate(order.to_list())}
    return np.array([rank.get(text, np.nan) for text in values.texts.to_list()], dtype=float)


def _ancestors(column: Column, cells: Cells, values: Values) -> Sequence[np.ndarray]:
    """For each level, the cell that is each value's ancestor there, -1 where that node is no cell."""
    rows = column.hierarchy or ()
    leaves, _ = canonical(pl.Series([row[0] for row in rows], dtype=pl.String), column.type)
    row_of = {
        MISSING if leaf is None else leaf: row for leaf, row in zip(leaves.to_list(), rows, strict=True)
    }
    cell = {text: place for place, text in enumerate(cells.texts.to_list())}
    found = np.full((len(rows[0]), len(values.texts)), -1, dtype=np.int64)
    for place, text in enumerate(values.texts.to_list()):
        path = row_of.get(MISSING if text is None else text, ())
        for level, label in enumerate(path):
            found[level, place] = cell.get(label, -1)
    return list(found)


def _among(cells: Cells, cell_of_row: np.ndarray, values: Values, value_of_row: np.ndarray) -> np.ndarray:
    """Whether each row's value is a member of its set or value cell."""
    code = {text: place for place, text in enumerate(values.texts.to_list())}
    member = np.array([code.get(text, -1) for text in cells.members["text"].to_list()], dtype=np.int64)
    cell = cells.members["cell"].to_numpy()[member >= 0]
    allowed = cell * len(values.texts) + member[member >= 0]
    return np.isin(cell_of_row * len(values.texts) + value_of_row, allowed)


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
    plain = column.model_copy(update={"cells": kind})
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
