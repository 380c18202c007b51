"""Where values stand on an axis: numbers in their order, each with its tick, and words that have none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

# More values than this are a scale of their own, and matplotlib's ticks serve it better.
_TICKS = 14
# A character and the space between two labels, as shares of the axis: where labels would run into each other, all ticks
# stand evenly.
_CHARACTER, _SPACE = 0.019, 0.02


def places(values: Sequence[Any], *, log: bool = False) -> tuple[dict[Any, float], list[str], bool]:
    """Where each value stands, a label a tick (none: the axis finds its own), and whether the values have an order.

    Numbers that would crowd, such as k = 2, 5, 10, 25, 50, 100, stand at even distances.
    """
    known = list(dict.fromkeys(values))
    numbers = [_number(value) for value in known]
    if not known or any(number is None for number in numbers):
        return {value: float(place) for place, value in enumerate(known)}, [str(value) for value in known], False
    order = sorted(
        zip((number for number in numbers if number is not None), known, strict=True), key=lambda one: one[0]
    )
    labels = [plain_number(value) for _, value in order]
    if len(order) > _TICKS:
        return {value: number for number, value in order}, [], True
    if not log and _crowded([number for number, _ in order], labels):
        return {value: float(place) for place, (_, value) in enumerate(order)}, labels, True
    return {value: number for number, value in order}, labels, True


def plain_number(value: Any) -> str:
    """A value as a tick has it: thousands apart, no needless digits."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return (
            f"{value:,}" if isinstance(value, int) or float(value).is_integer() and abs(value) >= 1000 else f"{value:g}"
        )
    return str(value)


def _crowded(numbers: Sequence[float], labels: Sequence[str]) -> bool:
    whole = numbers[-1] - numbers[0]
    for place in range(len(numbers) - 1):
        wide = (len(labels[place]) + len(labels[place + 1])) / 2 * _CHARACTER + _SPACE
        if numbers[place + 1] - numbers[place] < wide * whole:
            return True
    return False


def _number(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None
