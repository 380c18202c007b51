"""Values that look alike: refused where they are counted, because two spellings of one answer are no diversity."""

from __future__ import annotations

import polars as pl

from shoal.errors import InputError

# What is not seen: control and format characters, soft hyphens, fillers, variation selectors.
_UNSEEN = r"[\p{Cc}\p{Default_Ignorable_Code_Point}\p{Cf}&&[^\t\n\v\f\r\x{85}]]"


def refuse_lookalikes(values: pl.Series) -> None:
    """Refuse a column of text in which values differ in nothing but invisible characters or kinds of white space."""
    if values.dtype != pl.String:
        return
    texts = values.drop_nulls().unique()
    # Printable ASCII without double blanks shows every difference.
    odd = texts.str.contains(r"[^ -~]|  ")
    if not odd.any():
        return
    seen = texts.str.replace_all(_UNSEEN, "").str.replace_all(r"\s+", " ").str.strip_chars(" ")
    alike = int(seen.is_duplicated().sum())
    if alike:
        raise InputError(
            f"Column '{values.name}' has {alike} values that differ from another one only in invisible characters or "
            "white space, and would be counted as different: clean them."
        )
