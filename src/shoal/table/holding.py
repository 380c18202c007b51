"""Texts kept as numbers of the different ones: a byte or two a cell, where Polars takes sixteen for a text."""

from __future__ import annotations

import polars as pl

# Rows that tell whether texts repeat at all: numbering those that do not takes long and saves nothing.
FIRST = 1 << 14


def is_held(kind: pl.DataType) -> bool:
    """Whether a column of this type holds texts as numbers."""
    return isinstance(kind, pl.Enum)


def is_text(kind: pl.DataType) -> bool:
    """Whether a column of this type holds texts, as numbers or one by one."""
    return kind == pl.String or is_held(kind)


def held(column: pl.Series) -> pl.Series:
    """A column with its texts as numbers, where at most every second is another one; any other column as it is."""
    numbered = column.cast(counted()) if column.dtype == pl.String and repeats(column) else column
    if not isinstance(numbered.dtype, pl.Categorical):
        return column
    numbers = numbered.to_physical()
    most = numbers.max()
    if not isinstance(most, int) or 2 * (most + 1) > column.len():
        return column.cast(pl.String)
    texts = pl.Series(range(most + 1), dtype=pl.UInt32).cat.to(numbered.dtype).cast(pl.String)
    return placed(numbers.rechunk(), texts).alias(column.name)


def repeats(texts: pl.Series) -> bool:
    """Whether the first of some texts come so often that numbering all of them is worth trying."""
    first = texts.head(FIRST)
    return 8 * first.n_unique() <= 7 * first.len()


def counted() -> pl.Categorical:
    """A type for texts that are numbered as they come, with numbers of its own."""
    return pl.Categorical(pl.Categories.random())


def placed(numbers: pl.Series, texts: pl.Series) -> pl.Series:
    """Texts held by their places in a list of different ones, null where there is no place."""
    kind = pl.Enum(texts)
    narrow = pl.Series([], dtype=kind).to_physical().dtype
    return numbers.cast(narrow).cat.to(kind)


def told(column: pl.Series) -> pl.Series:
    """A column with its texts one by one."""
    return column.cast(pl.String) if is_held(column.dtype) else column


def all_held(frame: pl.DataFrame) -> pl.DataFrame:
    """A frame with its texts as numbers, where they repeat."""
    return pl.DataFrame([held(column) for column in frame.iter_columns()]) if frame.width else frame


def all_told(frame: pl.DataFrame) -> pl.DataFrame:
    """A frame with all texts one by one."""
    kept = [name for name, kind in frame.schema.items() if is_held(kind)]
    return frame.with_columns(pl.col(kept).cast(pl.String)) if kept else frame
