"""Snapping released intervals outward to a round grid, so that no class publishes its extreme members exactly."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from typing import Any

import numpy as np

from shoal.table.column import Column

# Columns with few distinct values stay tight: their intervals name common values only.
_TIGHT_UP_TO = 200


def grid_width(column: Column) -> Decimal | None:
    """Width of the grid for a numeric or date column, None where intervals stay as they are.

    ``auto`` takes the 1-2-5 number nearest to a hundredth of the range between the 5th and the 95th percentile.
    """
    snap = column.spec.snap
    if snap == "off" or column.numbers is None:
        return None
    if not isinstance(snap, str):
        return Decimal(str(snap))
    if column.numbers.size <= _TIGHT_UP_TO:
        return None
    counts = column.frequencies[: column.numbers.size]
    cumulative = np.cumsum(counts) / counts.sum()
    low = column.positions[int(np.searchsorted(cumulative, 0.05))]
    high = column.positions[int(np.searchsorted(cumulative, 0.95))]
    return _round_125((high - low) / 100.0) if high > low else None


def _round_125(width: float) -> Decimal:
    exponent = math.floor(math.log10(width))
    candidates = [Decimal(step).scaleb(exponent) for step in (1, 2, 5, 10)]
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
    lower, lower_of = _snap_distinct(numbers, low, width, -1)
    upper, upper_of = _snap_distinct(numbers, high, width, 1)
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


def _snap_distinct(
    numbers: np.ndarray, codes: np.ndarray, width: Decimal, side: int
) -> tuple[np.ndarray, np.ndarray]:
    """Snap every distinct bound once; returns the snapped values and each code's place among them."""
    used, places = np.unique(codes, return_inverse=True)
    values = numbers[used]
    if values.dtype.kind == "i" and width == int(width):
        step = int(width)
        return (values // step) * step if side < 0 else -((-values) // step) * step, places
    if values.dtype.kind == "f":
        return _snap_floats(values, width, side), places
    return np.array([_snap_exact(x, width, side) for x in values.tolist()], dtype=object), places


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
