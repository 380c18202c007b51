"""Whether a published cell covers a value, read by the grammar of docs/cells.md and by nothing of Shoal's."""

from __future__ import annotations

import datetime as dt
import re
from fractions import Fraction

from tests.soak.cases import Column

STAR = "*"
MISSING = "<missing>"
_NUMBERS = ("int", "real", "widths")


def number(text: str, kind: str) -> Fraction:
    """A number, or a date as its day."""
    if kind in ("date", "dates"):
        return Fraction(dt.date.fromisoformat(text).toordinal())
    return Fraction(text)


def covers(column: Column, cell: str, value: str | None) -> bool:
    """Whether the cell may stand for the value; None is a missing value."""
    if cell == STAR:
        return True
    if value is None or cell == MISSING:
        return value is None and cell == MISSING
    if column.kind in _NUMBERS or column.kind == "date":
        low, high = bounds(column, cell)
        return low <= number(value, column.kind) <= high
    if column.kind == "dates":
        return value == cell or (re.fullmatch(r"\d{4}(-\d{2})?", cell) is not None and value.startswith(cell))
    if column.kind == "prefix":
        shown = cell.rstrip("*")
        return len(cell) == len(value) and value.startswith(shown)
    if column.kind == "tree":
        return cell == value or cell in column.paths[value]
    return value in listed(column, cell)


def bounds(column: Column, cell: str) -> tuple[Fraction, Fraction]:
    """The ends of an interval, or a single value twice."""
    inner = re.fullmatch(r"\[([^,\]]+),([^,\]]+)\]", cell)
    ends = inner.groups() if inner else (cell, cell)
    return number(ends[0], column.kind), number(ends[1], column.kind)


def listed(column: Column, cell: str) -> list[str]:
    """The values of a set or of a run of ordinal values, or the one that stands alone."""
    if cell.startswith("{"):
        return split(cell[1:-1], "|")
    if column.kind == "ordinal" and cell.startswith("["):
        low, high = (column.order.index(part) for part in split(cell[1:-1], ","))
        return column.order[low : high + 1]
    return [cell.removeprefix("\\")]


def split(text: str, mark: str) -> list[str]:
    """Parts between marks that no backslash stands before, without their escapes."""
    parts, current, escaped = [], "", False
    for letter in text:
        if escaped or (letter != "\\" and letter != mark):
            current, escaped = current + letter, False
        elif letter == "\\":
            escaped = True
        else:
            parts.append(current)
            current = ""
    return [*parts, current]
