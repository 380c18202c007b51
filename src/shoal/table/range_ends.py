"""The ends of sensitive ranges: numbers, dates and ranks, compared exactly."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any

from shoal.errors import PolicyError
from shoal.hierarchy.values import format_date, format_number
from shoal.table.column import TREE, Column
from shoal.table.stats import value_text

_MOST_DIGITS = 100  # no column has numbers beyond
_EPOCH = date(1970, 1, 1).toordinal()


class RangeEnds:
    """Reads the ends of ranges of one ordered column, and finds the codes between them.

    A column whose hierarchy mixes up the order of its numbers has none.
    """

    def __init__(self, column: Column) -> None:
        if column.type == "categorical":
            how = "{ level = 2 }, or lines of 'value;label'" if column.kind == TREE else "lists of its values"
            raise PolicyError(f"Column '{column.name}' has no order, so its ranges need {how}.")
        if column.type == "ordinal" and column.kind == TREE:
            raise PolicyError(f"Column '{column.name}' has a hierarchy: give its ranges by a level or by labels.")
        if column.type != "ordinal" and column.numbers is None:
            raise PolicyError(
                f"The hierarchy of '{column.name}' puts numbers together that are no neighbours: give its ranges by "
                "a level or by labels."
            )
        self._column = column
        known = column.card - (column.missing >= 0)
        self._texts = column.texts.to_list()[:known]
        self._rank = {text: place for place, text in enumerate(self._texts)}
        self._numbers: Sequence[Any] = range(known) if column.numbers is None else column.numbers.tolist()

    def read(self, value: Any) -> Any:
        """An end as something to compare the column's values with."""
        text = _text(value)
        try:
            if self._column.type == "ordinal":
                return self._rank[text]
            if self._column.type == "date":
                return date.fromisoformat(text).toordinal() - _EPOCH
            number = Decimal(text)
            if not number.is_finite() or number.adjusted() > _MOST_DIGITS:
                raise ValueError(text)
            return int(number) if number == number.to_integral_value() else float(number)
        except (KeyError, ValueError, InvalidOperation):
            what = {"ordinal": "value of its order", "date": "ISO date"}.get(self._column.type, "number")
            raise PolicyError(f"A range of '{self._column.name}' has the end {text!r}, which is no {what}.") from None

    def text(self, end: Any) -> str:
        """The one text of an end."""
        if self._column.type == "ordinal":
            return self._texts[end]
        return format_date(end) if self._column.type == "date" else format_number(end)

    def stretch(self, first: Any, last: Any) -> tuple[int, int]:
        """First and last code inside a range; the last is before the first where there is none."""
        if first > last:
            raise PolicyError(
                f"A range of '{self._column.name}' is upside down, from {self.text(first)} to {self.text(last)}: give "
                "its lowest value first."
            )
        return bisect_left(self._numbers, first), bisect_right(self._numbers, last) - 1

    def code(self, value: Any) -> int:
        """Code of a value, -1 where the table does not have it."""
        place = bisect_left(self._numbers, value)
        return place if place < len(self._numbers) and self._numbers[place] == value else -1


def value_texts(column: Column, values: Sequence[Any]) -> list[str]:
    """Texts by which a column knows the values of one range."""
    return [value_text(column, _text(value)) for value in values]


def _text(value: Any) -> str:
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float) and math.isfinite(value):
        return format_number(value)
    if isinstance(value, bool) or not isinstance(value, str | int | Decimal):
        raise PolicyError(f"A range has the entry {value!r}: it must be a number, a date or a text.")
    return str(value)
