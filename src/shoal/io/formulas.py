"""Cells that a spreadsheet would run: found, and escaped where a recipe asks for it.

A text or a column's name that begins with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return and is no number is
taken for a formula by spreadsheets that open a CSV file. So is one that begins with a sign that compatibility folding
(NFKC) makes one of these, such as full-width ones: a program on the way may fold it. An apostrophe before it makes it
text; one that stands before such a beginning already gets another, so that the first can always be taken away again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from shoal.data.texts import is_text, told

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
