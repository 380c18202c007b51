"""Bounds and representatives: what a column's style makes of an interval, in the column's own type."""

from __future__ import annotations

import math
from decimal import Context, Decimal

import numpy as np
import polars as pl

from shoal.data.column import Column
from shoal.data.values import format_number
from shoal.errors import SchemaError

# Digits that a float surely keeps: more would only show how it was rounded.
_FLOAT_DIGITS = 15


def inner_bounds(column: Column, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same intervals in the numbers' own type.

    Between the ends of a grid such as 2.5, whole numbers begin and end at whole numbers.
    """
    assert column.numbers is not None
    kind = column.numbers.dtype
    if not column.whole or low.dtype.kind == "i":
        return low, high
    if low.dtype.kind == "f":
        return np.ceil(low), np.floor(high)
    ends = [[math.ceil(x) for x in low.tolist()], [math.floor(x) for x in high.tolist()]]
    return _filled(ends[0], kind), _filled(ends[1], kind)


def midpoints(column: Column, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The middle of each interval, rounded down where every value of the column is whole.

    Intervals of one middle are nested, so that the widest of them has that middle too.
    """
    low, high = inner_bounds(column, low, high)
    if low.dtype.kind == "i":
        return (low & high) + ((low ^ high) >> 1)  # the sum itself may not fit into 64 bits
    if low.dtype.kind == "f":
        middle = pl.Series(low / 2 + high / 2).round_sig_figs(_FLOAT_DIGITS).to_numpy()
        return np.clip(np.floor(middle) if column.whole else middle, low, high)
    pairs = zip(low.tolist(), high.tolist(), strict=True)
    return _filled([(a + b) // 2 if column.whole else _middle(a, b) for a, b in pairs], np.dtype(object))


def typed(column: Column, numbers: np.ndarray, source: pl.DataType) -> pl.Series:
    """Numbers or days as a series: dates, 64-bit integers, floats or decimals.

    Numbers that none of these holds exactly are written out as text.

    Parameters
    ----------
    source
        The type of the column as it was read; decimals stay decimals.
    """
    if column.type == "date":
        return pl.Series(numbers.astype(np.int32)).cast(pl.Date)
    if not isinstance(source, pl.Decimal) and numbers.dtype != object:
        return pl.Series(numbers)
    distinct, places = np.unique(numbers, return_inverse=True)
    texts = pl.Series([format_number(x) for x in distinct.tolist()], dtype=pl.String)
    if isinstance(source, pl.Decimal):
        scale = max([source.scale, *(len(text.partition(".")[2]) for text in texts)])
        try:
            texts = texts.cast(pl.Decimal(38, scale))
        except pl.exceptions.PolarsError:
            # Its message quotes the numbers.
            raise SchemaError(
                f"Column '{column.name}' would need decimals of more than 38 digits: set its style to \"auto\"."
            ) from None
    return texts.gather(places.ravel())


def _middle(low: int | Decimal, high: int | Decimal) -> Decimal:
    ends = (Decimal(low), Decimal(high))
    context = Context(prec=sum(abs(end.adjusted()) + len(end.as_tuple().digits) for end in ends) + 4)
    return context.divide(context.add(*ends), Decimal(2))


def _filled(values: list, dtype: np.dtype) -> np.ndarray:
    # numpy would turn a list of large Python numbers into floats.
    array = np.empty(len(values), dtype=dtype)
    array[:] = values
    return array
