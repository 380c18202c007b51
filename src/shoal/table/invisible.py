"""Values that look alike: refused where they are counted, because two spellings of one answer are no diversity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from shoal.errors import InputError

# What is not seen: control and format characters, soft hyphens, fillers, variation selectors.
_UNSEEN = r"[\p{Cc}\p{Default_Ignorable_Code_Point}\p{Cf}&&[^\t\n\v\f\r\x{85}]]"
_ODD = r"[^ -~]|  "


def refuse_lookalikes(values: pl.Series, non_answers: Sequence[Any] = ()) -> None:
    """Refuse a column of text in which values differ in nothing but invisible characters or kinds of white space.

    From one another, from a declared non-answer, or from an empty cell: those would pass for answers.
    """
    if values.dtype != pl.String:
        return
    texts = values.drop_nulls().unique()
    # Printable ASCII without double blanks shows every difference.
    if not texts.str.contains(_ODD).any():
        return
    others = pl.Series(["", "*", *map(str, non_answers)]).unique()
    others = others.filter(~others.is_in(texts.implode()))
    seen = pl.concat([texts, others]).str.replace_all(_UNSEEN, "").str.replace_all(r"\s+", " ").str.strip_chars(" ")
    alike = int(seen.is_duplicated().head(texts.len()).sum())
    if alike:
        raise InputError(
            f"Column '{values.name}' has {alike} values that differ from another one, a non-answer or an empty cell "
            "only in invisible characters or white space, and would be counted as different: clean them."
        )
