"""What a cell of text is: one normalisation for files and frames alike, and the names that columns may have.

Text is brought into Unicode's composed form (NFC) and loses white space and byte order marks at its edges; an empty
cell, a marker and ``<missing>``, which is how a release writes it, are missing. See docs/cells.md.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Sequence

import numpy as np
import polars as pl

from shoal.data.coding import numbered
from shoal.data.value_index import number_cells
from shoal.data.values import EDGES, normal_text
from shoal.errors import InputError

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
