"""Dates moved by a secret number of days a person, so that the gaps between a person's dates stay true."""

from __future__ import annotations

import polars as pl

from shoal.data.coding import canonical_text, code_dates
from shoal.data.schema import ColumnSpec
from shoal.errors import DomainError, InputError
from shoal.params import whole
from shoal.pseudonyms.tokens import check_key, keyed_digests

# The first and last day that has an ISO date, counted from 1970.
_FIRST, _LAST = -719162, 2932896


def day_offsets(subjects: pl.Series, key: bytes, *, days: int) -> pl.Series:
    """Int32, one a row: the offset of the row's subject, uniform from -``days`` to ``days``.

    An offset follows from key and subject alone, so that all dates of a subject move alike, whatever their column, and
    so do later ones under the same key. Without the key it cannot be told from a random one.
    """
    reach = whole("a date shift", "days", days, least=1)
    check_key(key)
    if subjects.null_count():
        raise InputError(f"The subject column '{subjects.name}' has {subjects.null_count()} missing cells: fill them.")
    texts = canonical_text(subjects)
    distinct = texts.unique(maintain_order=True)
    # 256 bits modulo a few thousand days: the bias is below 1e-70.
    moves = [
        int.from_bytes(digest, "big") % (2 * reach + 1) - reach
        for digest in keyed_digests(distinct.to_list(), key, "shoal offset")
    ]
    return texts.replace_strict(distinct, pl.Series(moves, dtype=pl.Int32), return_dtype=pl.Int32).alias("offset")


def shift_dates(
    dates: pl.Series, subjects: pl.Series, key: bytes, *, days: int, format: str | None = None
) -> pl.Series:
    """The dates of a column, each moved by its subject's offset; the column keeps its type, missing stays missing.

    Parameters
    ----------
    dates
        Dates, date-times at midnight, or text.
    subjects
        Whose date it is, one entry a row.
    days
        The largest move in either direction.
    format
        strptime format of text, ISO when None.
    """
    offsets = day_offsets(subjects, key, days=days)
    codes, values = code_dates(dates.name, dates, ColumnSpec(format=format))
    known = pl.Series(values, dtype=pl.Int64).extend_constant(None, 1)
    moved = known.gather(codes) + offsets.cast(pl.Int64)
    outside = int(((moved < _FIRST) | (moved > _LAST)).sum())
    if outside:
        raise DomainError(f"{outside} dates of column '{dates.name}' would leave the years 1 to 9999: shift them less.")
    shifted = moved.cast(pl.Int32).cast(pl.Date)
    if dates.dtype == pl.String:
        return shifted.dt.strftime(format or "%Y-%m-%d").alias(dates.name)
    return shifted.cast(dates.dtype).alias(dates.name)
