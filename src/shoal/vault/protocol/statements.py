"""Statements about a released table: conditions on its columns, and figures that can be counted again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import polars as pl

MAPPING, GRADING = "mapping", "grading"
BEHIND = "among rows that no rule before it in the list meets"
# Whole words of a comparison, and the one that says the opposite.
SIGNS = {"=": "!=", "!=": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}


@dataclass(frozen=True)
class Condition:
    """One column compared with a number, a text, or several of either (any of which will do).

    Attributes
    ----------
    sign
        ``=``, ``!=``, ``<``, ``<=``, ``>`` or ``>=``; the first two alone with several values.
    """

    column: str
    sign: str
    values: tuple[float | str, ...]

    def __str__(self) -> str:
        told = [shown(value) for value in self.values]
        if len(told) == 1:
            return f"{self.column} {self.sign} {told[0]}"
        return f"{self.column} {'in' if self.sign == '=' else 'not in'} {{{', '.join(told)}}}"


@dataclass(frozen=True)
class Figure:
    """A number that a statement gives, and how far off it may be by rounding.

    Attributes
    ----------
    name
        ``rows`` (that meet the conditions, or the conclusion too), ``covered``, ``right``, ``wrong``, ``support``,
        ``coverage``, ``confidence``, ``lift``, or ``mean`` of a column.
    """

    name: str
    number: float
    slack: float
    column: str | None = None

    def __str__(self) -> str:
        return f"{self.name if self.column is None else f'{self.name} of {self.column}'} {self.number:g}"


@dataclass(frozen=True)
class Statement:
    """What rows that meet all conditions are like.

    Attributes
    ----------
    line
        Where it stands in what was submitted, from 1.
    concluded
        What most of them also meet.
    stated
        Its figures.
    ordered
        Part of a list of rules that are tried one after the other, so that figures may be of rows no rule before met.
    centre
        Of a cluster: each column's coordinate. There are no conditions then.
    behind
        It holds among the rows that no rule before it in the list meets, and not among all.
    """

    line: int
    conditions: tuple[Condition, ...] = ()
    concluded: Condition | None = None
    stated: tuple[Figure, ...] = ()
    ordered: bool = False
    centre: tuple[tuple[str, float | str], ...] = ()
    behind: bool = False

    def everything(self) -> Iterator[Condition]:
        """Conditions and conclusion."""
        yield from self.conditions
        if self.concluded is not None:
            yield self.concluded

    def coordinates(self) -> Iterator[Condition]:
        """Its centre, as conditions."""
        yield from (Condition(column, "=", (value,)) for column, value in self.centre)

    def __str__(self) -> str:
        """As a rule, in codes."""
        start = " AND ".join(map(str, self.conditions)) or "anything"
        if self.centre:
            start = ", ".join(f"{column} {shown(value)}" for column, value in self.centre)
        start = start if self.concluded is None else f"IF {start} THEN {self.concluded}"
        return f"{start} ({BEHIND})" if self.behind else start


@dataclass(frozen=True, eq=False)
class Released:
    """The released table, and which of its columns hold codes.

    Attributes
    ----------
    frame
        Texts, and numbers as float64.
    coded
        ``mapping`` or ``grading`` by column.
    """

    frame: pl.DataFrame
    coded: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, frame: pl.DataFrame, coded: dict[str, str]) -> Released:
        """A frame as it was read; what is all numbers becomes numbers, but for mapped codes."""
        made = []
        for column in frame.columns:
            cells = frame[column].cast(pl.String)
            numbers = cells.cast(pl.Float64, strict=False)
            is_text = coded.get(column) == MAPPING or numbers.null_count() > cells.null_count()
            made.append(cells if is_text else numbers.fill_nan(None))  # which would be above every threshold
        return cls(pl.DataFrame(made), {name: kind for name, kind in coded.items() if name in frame.columns})

    def is_number(self, column: str) -> bool:
        """Whether a column holds numbers."""
        return self.frame.schema[column].is_numeric()


def shown(value: float | str) -> str:
    """A value as text; whole numbers without a point."""
    if isinstance(value, str):
        return value
    return f"{value:.0f}" if float(value).is_integer() else repr(float(value))
