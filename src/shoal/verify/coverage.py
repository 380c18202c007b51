"""Whether every released quasi-identifier cell covers the value of its source row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from shoal.verify.cells import Cells
from shoal.verify.claims import Column
from shoal.verify.values import MISSING, Values, canonical

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
