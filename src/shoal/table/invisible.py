"""Values that look alike: refused where they are counted, because two spellings of one answer are no diversity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from shoal.errors import InputError

# What is not seen: control and format characters, soft hyphens, fillers, variation selectors.
_UNSEEN = r"[\p{Cc}\p{Default_Ignorable_Code_Point}\p{Cf}&&[^\t\n\v\f\r\x{85}]]"
# What looks like a blank; Unicode calls the Braille pattern without dots a symbol.
_BLANK = r"[\s\x{2800}]+"
_ODD = r"[^ -~]|  "


def refuse_lookalikes(values: pl.Series, non_answers: Sequence[Any] = ()) -> None:
    """Refuse a column of text in which values differ in nothing but invisible characters or kinds of white space.

    From one another, from a declared non-answer, or from an empty cell: those would pass for answers.
    """
    if values.dtype != pl.String:
        return
    texts = values.drop_nulls().unique()
    if not is_odd(texts):
        return
    others = pl.Series(["", "*", *map(str, non_answers)]).unique()
    others = others.filter(~others.is_in(texts.implode()))
    alike = int(as_seen(pl.concat([texts, others])).is_duplicated().head(texts.len()).sum())
    refuse_alike(values.name, alike)


def is_odd(texts: pl.Series) -> bool:
    """Whether any text may hide something: printable ASCII without double blanks shows every difference."""
    return bool(texts.str.contains(_ODD).any())


def as_seen(texts: pl.Series) -> pl.Series:
    """Texts as they look."""
    return texts.str.replace_all(_UNSEEN, "").str.replace_all(_BLANK, " ").str.strip_chars(" ")


def refuse_alike(name: str, count: int) -> None:
    """Refuse a column in which so many values look like something else."""
    if count:
        raise InputError(
            f"Column '{name}' has {count} values that differ from another one, a non-answer or an empty cell "
            "only in invisible characters or white space, and would be counted as different: clean them."
        )
