"""What the labels of a column's levels reach over: rules are judged by what is published, not by who was observed.

A label such as ``[60,69]`` covers 66 whether or not anybody is 66. Labels that are written as numbers, intervals,
months, quarters, years or decades are read; any other one means the values that its hierarchy puts under it.
"""

from __future__ import annotations

import bisect
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from functools import cached_property
from typing import Any

import numpy as np

from shoal.data.column import TREE, Column
from shoal.recoding.foreign_cells import span

# ----------------------------------------
# What a column's values are on a number line, and which of them each level puts together.


def is_numeric(column: Column) -> bool:
    """Whether values have distances: numbers and dates."""
    return column.type in ("numeric", "date")


def level_groups(column: Column) -> list[np.ndarray]:
    """Group of every code, level by level; a column without a hierarchy is published or starred."""
    if column.kind == TREE and column.hierarchy is not None:
        return list(column.hierarchy.ancestors)
    return [np.arange(column.card, dtype=np.int32), np.zeros(column.card, dtype=np.int32)]


def exact_number(kind: str, text: str) -> Decimal | None:
    """The number behind a text, days for dates; None where there is none."""
    try:
        found = Decimal(date.fromisoformat(text).toordinal()) if kind == "date" else Decimal(text)
    except (InvalidOperation, ValueError):
        return None
    return found if found.is_finite() else None


def exact_numbers(column: Column) -> list[Decimal | None]:
    """The exact number of every code of a numeric or date column; None for the missing one."""
    return [exact_number(column.type, text) for text in column.texts.to_list()]


def places(column: Column) -> np.ndarray:
    """Place of every code on the number line, counted from the lowest; NaN for the missing one."""
    if column.numbers is not None:
        return np.where(np.isinf(column.positions), np.nan, column.positions)
    numbers = exact_numbers(column)
    low = min((number for number in numbers if number is not None), default=Decimal(0))
    return np.array([np.nan if number is None else float(number - low) for number in numbers])


def spans(column: Column, groups: np.ndarray) -> np.ndarray:
    """Number of values that each group of a tree column reaches over, both ends included.

    Whole numbers and dates count every whole number between the lowest and the highest leaf; other numbers count the
    hierarchy's own leaves between them. A group without numbers spans one value, itself.
    """
    steps = places(column)
    known = np.flatnonzero(~np.isnan(steps))
    if (steps[known] != np.round(steps[known])).any():
        steps[known] = np.unique(steps[known], return_inverse=True)[1]
    count = int(groups.max(initial=0)) + 1
    low, high = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(low, groups[known], steps[known])
    np.maximum.at(high, groups[known], steps[known])
    return np.where(np.isinf(low), 1.0, high - low + 1.0)


_EPOCH = date(1970, 1, 1).toordinal()
_QUARTER = re.compile(r"(\d{4})-Q([1-4])", re.ASCII)
_DECADE = re.compile(r"(\d{3})0s", re.ASCII)
# Both ends, None where it has none; what lies between them is covered, and whether an end is does not matter: where
# values are whole, ends are the outermost ones, and among others a point alone is nobody's unless it is a value.
Reach = tuple[Decimal | None, Decimal | None]


@dataclass(frozen=True, eq=False)
class Side:
    """One side of a rule: codes, and stretches of the number line."""

    codes: np.ndarray
    stretches: tuple[Reach, ...] = ()


class Labels:
    """The labels of one column, level by level."""

    def __init__(self, column: Column) -> None:
        self.column = column
        self.groups = level_groups(column)

    @cached_property
    def numbers(self) -> list[Decimal | None]:
        """The exact number of every code."""
        return exact_numbers(self.column) if is_numeric(self.column) else []

    @cached_property
    def whole(self) -> bool:
        """Whether values are whole numbers or days."""
        known = (number for number in self.numbers if number is not None)
        return self.column.type == "date" or all(number == number.to_integral_value() for number in known)

    def names(self, level: int) -> list[str]:
        """The labels of a level, one a group."""
        if self.column.kind == TREE and self.column.hierarchy is not None:
            return list(self.column.hierarchy.labels[level])
        return self.column.texts.to_list() if level == 0 else ["*"]

    @cached_property
    def reaches(self) -> list[list[Reach | None]]:
        """What every label of every level reaches over; None where it is not written as numbers or dates."""
        if not is_numeric(self.column):
            return [[None] * len(self.names(level)) for level in range(len(self.groups))]
        leaves: list[Reach | None] = [None if number is None else (number, number) for number in self.numbers]
        return [leaves, *(self._above(level) for level in range(1, len(self.groups)))]

    def _above(self, level: int) -> list[Reach | None]:
        """Reaches of an inner level; one that does not hold the values under it is a name, as 2 may be of 20 to 29."""
        found = [self.reach(name) for name in self.names(level)]
        for number, node in zip(self.numbers, self.groups[level].tolist(), strict=True):
            mine = found[node]
            if number is not None and mine is not None and not holds(mine, number):
                found[node] = None
        return found

    def reach(self, text: str) -> Reach | None:
        """What a label or an interval reaches over."""
        return reach(self.column.type, text, self.whole)

    def inside(self, stretch: Reach) -> np.ndarray:
        """Flags of the codes whose numbers lie in a stretch, its ends included."""
        codes, numbers = self._ordered
        low, high = stretch
        first = 0 if low is None else bisect.bisect_left(numbers, low)
        last = len(numbers) if high is None else bisect.bisect_right(numbers, high)
        flags = np.zeros(self.column.card, dtype=bool)
        flags[codes[first:last]] = True
        return flags

    @cached_property
    def _ordered(self) -> tuple[list[int], list[Decimal]]:
        """Codes of known numbers and the numbers, from the smallest on."""
        known = sorted((number, code) for code, number in enumerate(self.numbers) if number is not None)
        return [code for _, code in known], [number for number, _ in known]

    def reaches_under(self, text: str, codes: Sequence[int]) -> list[Reach]:
        """What a label of these values reaches over, and what the labels between it and its values do."""
        found: list[Reach | None] = []
        for level in range(1, len(self.groups)):
            nodes = sorted(set(self.groups[level][np.asarray(codes)].tolist()))
            found += [self.reaches[level][node] for node in nodes]
            if [self.names(level)[node] for node in nodes] == [text]:
                break
        return [one for one in found if one is not None]

    def touched(self, side: Side) -> list[np.ndarray]:
        """Flags of the labels that reach into a side, level by level; a label reaches as far as those under it."""
        found: list[np.ndarray] = []
        for level, groups in enumerate(self.groups):
            flags = np.zeros(len(self.names(level)), dtype=bool)
            flags[groups[side.codes]] = True
            if found:
                flags[groups[found[-1][self.groups[level - 1]]]] = True
            for node in np.flatnonzero(~flags).tolist() if side.stretches else ():
                mine = self.reaches[level][node]
                flags[node] = mine is not None and any(meet(mine, one, self.whole) for one in side.stretches)
            found.append(flags)
        return found


def reach(kind: str, text: str, whole: bool) -> Reach | None:
    """The stretch that a text stands for, ends as far in as whole values are; None where it is written otherwise."""
    named = _named_days(text) if kind == "date" else None
    found = named or span(text, kind)
    if found is None:
        return None
    low, with_low, high, with_high = found
    shift = _EPOCH if kind == "date" else 0
    ends = [None if end is None else Decimal(end) + shift for end in (low, high)]
    if whole:
        ends = [_inside(ends[0], with_low, 1), _inside(ends[1], with_high, -1)]
    return ends[0], ends[1]


def holds(stretch: Reach, number: Decimal) -> bool:
    """Whether a number lies in a stretch, its ends included."""
    low, high = stretch
    return (low is None or low <= number) and (high is None or number <= high)


def meet(one: Reach, other: Reach, whole: bool) -> bool:
    """Whether two stretches have something in common; among numbers that are not whole, more than a point."""
    low = max((end for end in (one[0], other[0]) if end is not None), default=None)
    high = min((end for end in (one[1], other[1]) if end is not None), default=None)
    if low is None or high is None:
        return True
    return low <= high if whole else low < high


def sides_of_boundary(labels: Labels, text: str) -> tuple[Side, Side] | None:
    """What lies up to a number or date, and what lies above it; None where the text is none."""
    limit = exact_number(labels.column.type, text)
    if limit is None:
        return None
    below = [code for code, number in enumerate(labels.numbers) if number is not None and number <= limit]
    above = [code for code, number in enumerate(labels.numbers) if number is not None and number > limit]
    first = Decimal(math.floor(limit) + 1) if labels.whole else limit
    return (
        Side(np.array(below, dtype=np.int64), ((None, limit),)),
        Side(np.array(above, dtype=np.int64), ((first, None),)),
    )


def _inside(end: Decimal | None, closed: bool, step: int) -> Decimal | None:
    """The outermost whole number of a stretch at one of its ends."""
    if end is None:
        return None
    nearest = Decimal(math.ceil(end) if step > 0 else math.floor(end))
    return nearest if closed or nearest != end else nearest + step


def _named_days(text: str) -> tuple[Any, bool, Any, bool] | None:
    """Days since 1970 of a quarter or a decade."""
    if match := _QUARTER.fullmatch(text):
        year, month = int(match[1]), 3 * int(match[2]) - 2
        months = 3
    elif match := _DECADE.fullmatch(text):
        year, month, months = 10 * int(match[1]), 1, 120
    else:
        return None
    after = 12 * year + month - 1 + months
    if year < 1 or after // 12 > 9999:
        return None
    first, last = date(year, month, 1), date(after // 12, after % 12 + 1, 1)
    return first.toordinal() - _EPOCH, True, last.toordinal() - _EPOCH, False
