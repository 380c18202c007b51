"""Snapping released intervals outward to a round grid, so that no class publishes its extreme members exactly."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Context, Decimal
from typing import Any

import numpy as np
import polars as pl

from shoal.data.column import INTERVAL, Column
from shoal.data.domain import Domain
from shoal.data.values import format_number
from shoal.errors import SchemaError

_STEPS = (1, 2, 5, 10)
# Fractions of more digits than these are as good as continuous.
_DIGITS = 6


def grid_width(column: Column) -> Decimal | None:
    """Width of the grid for a numeric or date column, None where intervals stay as they are.

    ``auto`` leaves them where every value is common. Otherwise it takes the 1-2-5 number nearest to a hundredth of the
    range between the 5th and the 95th percentile (of the whole range where these are one value), and at least two steps
    of the values, since a grid as fine as they are would hide nothing.
    """
    snap = column.spec.snap
    if snap == "off" or column.numbers is None:
        return None
    if not isinstance(snap, str):
        return Decimal(str(snap))
    if not column.rare.any():
        return None
    counts = column.frequencies[: column.numbers.size]
    places = column.positions[: column.numbers.size]
    cumulative = np.cumsum(counts) / counts.sum()
    low, high = (places[int(np.searchsorted(cumulative, share))] for share in (0.05, 0.95))
    width = (high - low if high > low else places[-1]) / 100.0
    if width <= 0:
        return None
    least = 2 * _step(column)
    return next(one for one in _rounds(_round_125(width)) if one >= least)


def grids(domain: Domain) -> dict[str, float | None]:
    """Quasi-identifiers whose intervals are snapped as values demand, and the width of each one's grid."""
    widths = {
        column.name: grid_width(column)
        for column in domain.quasi
        if column.kind == INTERVAL and column.numbers is not None and column.spec.snap == "auto"
    }
    return {name: None if width is None else float(width) for name, width in widths.items()}


def declared_steps(domain: Domain) -> dict[str, float]:
    """Quasi-identifiers whose intervals are snapped to a grid that the recipe declares, and its width."""
    given = {column.name: column.spec.snap for column in domain.quasi if column.kind == INTERVAL}
    return {name: float(width) for name, width in given.items() if not isinstance(width, str)}


def is_tight(column: Column) -> bool:
    """Whether a column's setting publishes ends as they are: no grid, or one that every value lies on."""
    snap = column.spec.snap
    if column.kind != INTERVAL or column.numbers is None or snap == "auto":
        return False
    return snap == "off" or Decimal(str(snap)) <= _step(column)


def _step(column: Column) -> Decimal:
    """The number that all values are multiples of apart; 0 for those with many digits behind the point."""
    numbers = column.numbers
    assert numbers is not None
    if numbers.dtype.kind == "i" and column.positions[: numbers.size].max(initial=0.0) < 1 << 62:
        return Decimal(int(np.gcd.reduce(np.diff(numbers)))) if numbers.size > 1 else Decimal(0)
    if numbers.dtype.kind == "f":
        for digits in range(_DIGITS + 1):
            scaled = numbers * 10.0**digits
            whole = np.rint(scaled)
            if np.abs(whole).max(initial=0.0) < 1 << 53 and np.allclose(scaled, whole, rtol=1e-12, atol=1e-9):
                apart = np.diff(whole.astype(np.int64))
                return Decimal(int(np.gcd.reduce(apart))).scaleb(-digits) if apart.size else Decimal(0)
        return Decimal(0)
    exact = all(x == int(x) for x in numbers.tolist())
    return Decimal(math.gcd(*(int(x - numbers[0]) for x in numbers[1:]))) if exact else Decimal(0)


def _rounds(start: Decimal) -> Iterator[Decimal]:
    """1-2-5 numbers from one on."""
    exponent = start.adjusted()
    while True:
        for step in _STEPS[:3]:
            one = Decimal(step).scaleb(exponent)
            if one >= start:
                yield one
        exponent += 1


def _round_125(width: float) -> Decimal:
    exponent = math.floor(math.log10(width))
    candidates = [Decimal(step).scaleb(exponent) for step in _STEPS]
    return min(candidates, key=lambda candidate: abs(math.log(float(candidate) / width)))


def snap_outward(column: Column, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of the codes ``low``..``high`` as numbers, snapped outward and kept inside a declared domain.

    The codes must not be the missing one. Returned arrays have the dtype of the column's numbers, or float64 /
    object where the grid needs it.
    """
    numbers = column.numbers
    assert numbers is not None
    width = grid_width(column)
    if width is None or (column.whole and width < 1):
        return numbers[low], numbers[high]
    lower, lower_of = _snap_distinct(column, low, width, -1)
    upper, upper_of = _snap_distinct(column, high, width, 1)
    if column.declared is not None:
        floor, ceiling = column.declared
        lower = np.array([max(x, floor) for x in lower.tolist()], dtype=lower.dtype)
        upper = np.array([min(x, ceiling) for x in upper.tolist()], dtype=upper.dtype)
    return lower[lower_of], upper[upper_of]


def published_ends(column: Column) -> tuple[np.ndarray, np.ndarray]:
    """Where the published interval of each single code begins and ends, as positions on the column's axis."""
    places = column.positions
    width = grid_width(column)
    if width is None or column.numbers is None or (column.whole and width < 1):
        return places, places
    codes = np.arange(column.numbers.size)
    base = column.numbers[0]
    base = base.item() if isinstance(base, np.generic) else base
    ends = [
        np.array([float(x - base) for x in bound.tolist()], dtype=np.float64)
        for bound in snap_outward(column, codes, codes)
    ]
    rest = places[codes.size :]
    return np.append(ends[0], rest), np.append(ends[1], rest)


def _snap_distinct(column: Column, codes: np.ndarray, width: Decimal, side: int) -> tuple[np.ndarray, np.ndarray]:
    """Snap every distinct bound once; returns the snapped values and each code's place among them."""
    numbers = column.numbers
    assert numbers is not None
    used, places = np.unique(codes, return_inverse=True)
    values = numbers[used]
    if values.dtype.kind == "i" and width == int(width):
        step = int(width)
        snapped = (values // step) * step if side < 0 else -((-values) // step) * step
    elif values.dtype.kind == "f":
        snapped = _snap_floats(values, width, side)
    else:
        snapped = np.array([_snap_exact(x, width, side) for x in values.tolist()], dtype=object)
    if column.spec.snap == "auto":
        snapped = _stop_at_common(column, used, snapped, side)
    return snapped, places


def _stop_at_common(column: Column, used: np.ndarray, snapped: np.ndarray, side: int) -> np.ndarray:
    """A bound on its way out stops at a value that enough people have: it is nobody's own."""
    numbers, common = column.numbers, np.flatnonzero(~column.rare)
    assert numbers is not None
    if side < 0:
        place = np.searchsorted(common, used, side="right") - 1
        found = place >= 0
    else:
        place = np.searchsorted(common, used, side="left")
        found = place < common.size
    stops = numbers[common[place[found]]]
    result = snapped.copy()
    nearer = np.maximum if side < 0 else np.minimum
    result[found] = nearer(result[found], stops)
    return result


def _snap_floats(values: np.ndarray, width: Decimal, side: int) -> np.ndarray:
    step = float(width)
    decimals = max(0, -int(width.as_tuple().exponent))
    steps = np.floor(values / step) if side < 0 else np.ceil(values / step)
    snapped = np.round(steps * step, decimals)
    # Division may land one step inside: move out until the value is covered.
    inside = snapped > values if side < 0 else snapped < values
    return np.where(inside, np.round((steps + side) * step, decimals), snapped)


def _snap_exact(value: Any, width: Decimal, side: int) -> int | Decimal:
    rounding = "ROUND_FLOOR" if side < 0 else "ROUND_CEILING"
    number = Decimal(value)
    digits = max(60, len(number.as_tuple().digits) + 10)
    context = Context(prec=digits)
    steps = context.divide(number, width).to_integral_value(rounding=rounding, context=context)
    snapped = context.multiply(steps, width)
    return int(snapped) if snapped == snapped.to_integral_value() else snapped


# ----------------------------------------
# Bounds and representatives: what a column's style makes of an interval, in the column's own type.


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
