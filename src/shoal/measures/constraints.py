"""Data constraint rules: distinctions that an expert wants kept, each with its importance (Morton et al., Sec. 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np

from shoal.errors import ParameterError
from shoal.hierarchy.values import format_number
from shoal.measures.scale import exact_number, exact_numbers, is_numeric, level_groups
from shoal.params import nearest, real
from shoal.table.column import Column

_KEYS = ("column", "separate", "boundary", "importance")
_FORM = '{ column = "age", boundary = 20, importance = 10 } or { column = "sex", separate = ["F", "M"] }'


@dataclass(frozen=True, kw_only=True)
class Constraint:
    """Keep two values apart, or keep what lies up to a boundary apart from what lies above it.

    Attributes
    ----------
    separate
        Two values; the rule is kept at a level that puts them into different groups.
    boundary
        A number or date p; the rule is kept at a level where no group has values both up to p and above p.
    importance
        What keeping the rule is worth, relative to the column's other rules.
    """

    column: str
    separate: tuple[str, str] | None = None
    boundary: str | None = None
    importance: float = 1.0

    @classmethod
    def of(cls, given: Any) -> Constraint:
        """The rule that a recipe's table describes."""
        if isinstance(given, Constraint):
            return given
        if not isinstance(given, Mapping) or not isinstance(given.get("column"), str):
            raise ParameterError(f"A rule must be a table that names its column, such as {_FORM}. Got {given!r}.")
        for key in given:
            if key not in _KEYS:
                near = nearest(str(key), _KEYS)
                hint = f"Did you mean '{near}'?" if near else f"It has: {', '.join(_KEYS)}."
                raise ParameterError(f"A rule on '{given['column']}' has no entry '{key}'. {hint}")
        column = given["column"]
        if ("separate" in given) == ("boundary" in given):
            raise ParameterError(f"A rule on '{column}' needs either 'separate' or 'boundary', such as {_FORM}.")
        return cls(
            column=column,
            separate=_pair(column, given["separate"]) if "separate" in given else None,
            boundary=_text(column, given["boundary"]) if "boundary" in given else None,
            importance=real(
                f"a rule on '{column}'", "importance", given.get("importance", 1.0), low=0.0, open_low=True
            ),
        )

    def parameters(self) -> dict[str, Any]:
        """The rule as a recipe writes it."""
        what = {"separate": None if self.separate is None else list(self.separate), "boundary": self.boundary}
        return {"column": self.column} | {k: v for k, v in what.items() if v is not None} | {
            "importance": self.importance
        }  # fmt: skip

    def kept(self, column: Column) -> np.ndarray:
        """At which levels of its column the rule is kept, as flags."""
        groups = level_groups(column)
        if self.separate is not None:
            one, other = (_code(column, text) for text in self.separate)
            return np.array([level[one] != level[other] for level in groups])
        below, above = _sides(column, str(self.boundary))
        return np.array([not np.intersect1d(level[below], level[above]).size for level in groups])


def named_column(name: str, columns: Sequence[Column], what: str) -> Column:
    """The quasi-identifier of that name, or the sentence that proposes the nearest."""
    known = {column.name: column for column in columns}
    if name not in known:
        near = nearest(name, known)
        hint = f"Did you mean '{near}'?" if near else f"They are: {', '.join(known)}."
        raise ParameterError(f"{what} names '{name}', which is not a quasi-identifier. {hint}")
    return known[name]


def _pair(column: str, given: Any) -> tuple[str, str]:
    if isinstance(given, str) or not isinstance(given, Sequence) or len(given) != 2:
        raise ParameterError(f"The 'separate' of a rule on '{column}' must be a list of two values. Got {given!r}.")
    one, other = (_text(column, value) for value in given)
    if one == other:
        raise ParameterError(f"A rule on '{column}' separates '{one}' from itself: name two different values.")
    return one, other


def _text(column: str, value: Any) -> str:
    """A value of a rule as the hierarchy writes it."""
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, str):
        return value
    return format_number(real(f"a rule on '{column}'", "value", value)) if isinstance(value, float) else str(value)


def _code(column: Column, text: str) -> int:
    texts = column.texts.to_list()
    if text not in texts:
        raise ParameterError(
            f"A rule on '{column.name}' names '{text}', which is not one of its values{_near(column, text)}."
        )
    return texts.index(text)


def _near(column: Column, text: str) -> str:
    number = exact_number(column.type, text) if is_numeric(column) else None
    if number is not None:
        pairs = zip(exact_numbers(column), column.texts.to_list(), strict=True)
        found = min(((abs(mine - number), label) for mine, label in pairs if mine is not None), default=None)
        return "" if found is None else f"; the nearest is '{found[1]}'"
    near = nearest(text, column.texts.to_list())
    if near:
        return f"; the nearest is '{near}'"
    shown = column.texts.to_list()[:8]
    return f"; there are {', '.join(repr(one) for one in shown)}{', ...' if column.card > len(shown) else ''}"


def _sides(column: Column, text: str) -> tuple[np.ndarray, np.ndarray]:
    """Codes up to the boundary, and codes above it."""
    if not is_numeric(column):
        raise ParameterError(
            f"A rule sets a boundary on '{column.name}', which is {column.type}: use 'separate' instead."
        )
    limit = exact_number(column.type, text)
    if limit is None:
        what = "a date such as 2020-01-31" if column.type == "date" else "a number"
        raise ParameterError(f"The 'boundary' of a rule on '{column.name}' must be {what}. Got '{text}'.")
    numbers: list[Decimal | None] = exact_numbers(column)
    below = [code for code, number in enumerate(numbers) if number is not None and number <= limit]
    above = [code for code, number in enumerate(numbers) if number is not None and number > limit]
    if not below or not above:
        known = sorted((number, code) for code, number in enumerate(numbers) if number is not None)
        low, high = (column.texts[known[end][1]] for end in (0, -1))
        raise ParameterError(
            f"A rule sets the boundary {text} on '{column.name}', which has no value on one side of it: its values "
            f"go from {low} to {high}."
        )
    return np.array(below), np.array(above)
