"""What a cell of text is: one normalisation for files and frames alike, and the names that columns may have.

Text is brought into Unicode's composed form (NFC) and loses white space and byte order marks at its edges; an empty
cell, a marker and ``<missing>``, which is how a release writes it, are missing. See docs/cells.md.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

import polars as pl

from shoal.errors import InputError
from shoal.hierarchy.values import EDGES, normal_text

MISSING = "<missing>"


def normalise(frame: pl.DataFrame, where: str, markers: Sequence[str] = ()) -> pl.DataFrame:
    """Normalise every text column; ``where`` names the frame or file in messages."""
    absent = ["", MISSING, *map(normal_text, markers)]
    columns = []
    for column in frame.select(pl.selectors.string()):
        _refuse_zeros(column, where)
        ascii = (column.str.len_bytes() == column.str.len_chars()).all()
        # For ASCII the default is the same set of characters, and several times as fast.
        column = column.str.strip_chars() if ascii else column.str.normalize("NFC").str.strip_chars(EDGES)
        gone = column.is_in(absent)
        columns.append(column.set(gone, None) if gone.any() else column)
    return frame.with_columns(columns)


def _refuse_zeros(column: pl.Series, where: str) -> None:
    count = int(column.str.contains("\0", literal=True).sum() or 0)
    if count:
        raise InputError(
            f"Column '{column.name}' of {where} has {count} cells with a zero byte, which no text file can hold: "
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
