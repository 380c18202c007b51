"""The text of generalised cells: one grammar, written and read here.

==============  ====================================================================================
kind            text
==============  ====================================================================================
every kind      ``*`` is everything, ``<missing>`` a missing value
``interval``    a value, or ``[lo,hi]``, both ends included
``set``         a value, or ``{a|b}`` in the order of the column
``value``       a value exactly as it is: columns that are never generalised
``label``       a hierarchy label exactly as it is, to be looked up and never parsed
==============  ====================================================================================

A value that stands alone is written as it was collected. Only one that would be read as something else has a backslash
in front: ``*`` and ``<missing>``, and what begins with a backslash or with the mark that opens several values. Among
several values a backslash stands before a backslash and before the mark between them (``|`` or a comma). A cell has one
text and a text one cell.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from shoal.data.hierarchy import MISSING
from shoal.data.hierarchy import ROOT as STAR
from shoal.errors import InputError, InternalError
from shoal.params import choice

if TYPE_CHECKING:
    import polars as pl

KINDS = ("interval", "label", "set", "value")
TYPES = ("numeric", "date", "ordinal", "categorical")

# How several values are written, as manifests say it: the mark before them, the one between them, the one behind them.
SEVERAL = {"set": "{|}", "interval": "[,]"}

_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_NUMBER = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d{1,6})?", re.ASCII)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
# A run without a bare comma: anything but backslash and comma, or a backslash with what it escapes.
_BOUNDS = re.compile(r"((?:[^\\,]|\\.)*),((?:[^\\,]|\\.)*)", re.DOTALL)
_MEMBER = re.compile(r"((?:[^\\|]|\\.)*)(\||\Z)", re.DOTALL)


@dataclass(frozen=True)
class Star:
    """Everything, missing values too."""


@dataclass(frozen=True)
class Missing:
    """A missing value."""


@dataclass(frozen=True)
class Value:
    """One exact value."""

    text: str


@dataclass(frozen=True)
class Interval:
    """All values from one to another, both included."""

    lo_text: str
    hi_text: str


@dataclass(frozen=True)
class Label:
    """A hierarchy label, never parsed."""

    text: str


@dataclass(frozen=True)
class Set:
    """Two or more values, in the order of the column."""

    values: tuple[str, ...]


Cell = Star | Missing | Value | Interval | Label | Set


def escape(text: str, kind: str = "set") -> str:
    r"""Write a value that stands alone in a column of ``set`` or ``interval`` cells.

    Examples
    --------
    >>> print(escape("<=50K"), escape("a|b"), escape("*"), escape("{a"))
    <=50K a|b \* \{a
    """
    mistaken = text in (STAR, MISSING) or text.startswith(("\\", SEVERAL[kind][0]))
    return "\\" + text if mistaken else text


def unescape(text: str) -> str:
    """Undo :func:`escape`."""
    return text.removeprefix("\\")


def format_interval(lo_text: str, hi_text: str) -> str:
    """The interval from one value's text to another's; the value alone when they are equal.

    Examples
    --------
    >>> format_interval("17", "35"), format_interval("17", "17")
    ('[17,35]', '17')
    """
    if lo_text == hi_text:
        return escape(lo_text, "interval")
    return f"[{_among(lo_text, ',')},{_among(hi_text, ',')}]"


def format_set(values: Sequence[str]) -> str:
    """The set of values in the order given; a value alone when there is one.

    Examples
    --------
    >>> format_set(["a", "b"]), format_set(["a"])
    ('{a|b}', 'a')
    """
    if not values:
        raise InternalError("A set cell needs at least one value.")
    if len(values) == 1:
        return escape(values[0])
    return "{" + "|".join(_among(value, "|") for value in values) + "}"


def interval_texts(low_texts: pl.Series | Sequence[str], high_texts: pl.Series | Sequence[str]) -> pl.Series:
    """:func:`format_interval` over two columns of equal length; nulls stay null."""
    import polars as pl

    low = pl.Series("low", low_texts, dtype=pl.String)
    high = pl.Series("high", high_texts, dtype=pl.String)
    if len(low) != len(high):
        raise InternalError(f"Intervals need as many low ends as high ends: got {len(low)} and {len(high)}.")
    alone = pl.col("low").str.replace(r"^(?:[\\\[]|\*$|<missing>$)", r"\${0}")
    lo, hi = (pl.col(name).str.replace_all(r"[\\,]", r"\${0}") for name in ("low", "high"))
    cell = pl.when(pl.col("low") == pl.col("high")).then(alone).otherwise(pl.format("[{},{}]", lo, hi))
    return pl.DataFrame([low, high]).select(cell.alias("cell"))["cell"]


def parse(cell: str, kind: str, type: str) -> Cell:
    """Read a cell back.

    Parameters
    ----------
    cell
        Its text.
    kind
        The column's cells: ``interval``, ``label``, ``set`` or ``value``.
    type
        The column's type: ``numeric``, ``date``, ``ordinal`` or ``categorical``.

    Raises
    ------
    InputError
        When the text is not exactly what this module writes. The message holds no part of the cell.
    """
    choice("a column", "cells", kind, KINDS)
    choice("a column", "type", type, TYPES)
    if cell == STAR:
        return Star()
    if cell == MISSING:
        return Missing()
    if kind == "label":
        return Label(cell)
    if kind == "value":
        return Value(cell)
    if kind == "interval" and cell.startswith("["):
        return _parse_interval(cell, type)
    if kind == "set" and cell.startswith("{"):
        return _parse_set(cell)
    if type in ("ordinal", "categorical") or kind == "set":
        return Value(_alone(cell, kind))
    if kind == "interval":
        _quantity(cell, type)
    return Value(cell)


def _among(text: str, between: str) -> str:
    """A value as it is written among several."""
    return text.replace("\\", "\\\\").replace(between, "\\" + between)


def _alone(text: str, kind: str) -> str:
    """The value that is written as exactly this text where it stands alone."""
    value = unescape(text)
    if escape(value, kind) != text:
        raise _misspelled()
    return value


def _one_of(text: str, between: str) -> str:
    """The value that is written as exactly this text among several."""
    value = _ESCAPED.sub(r"\1", text)
    if _among(value, between) != text:
        raise _misspelled()
    return value


def _misspelled() -> InputError:
    return InputError("A cell has a character that is wrongly escaped, or wrongly not: check the file.")


def _parse_interval(cell: str, type: str) -> Interval:
    found = _BOUNDS.fullmatch(cell[1:-1]) if cell.endswith("]") else None
    if found is None:
        raise InputError("A cell begins like an interval but is not written as '[lo,hi]': check the file.")
    low, high = (_one_of(bound, ",") for bound in found.groups())
    if low == high:
        raise InputError(
            "A cell is an interval of one value, which stands alone when written: check the file."
        )
    if type in ("numeric", "date") and _quantity(low, type) > _quantity(high, type):
        raise InputError("A cell is an interval whose ends are in the wrong order: check the file.")
    return Interval(low, high)


def _parse_set(cell: str) -> Set:
    inner = cell[1:-1]
    members, place, more = [], 0, True
    while more:
        found = _MEMBER.match(inner, place)
        if found is None:
            raise InputError("A cell begins like a set but is not written as '{a|b}': check the file.")
        members.append(_one_of(found[1], "|"))
        place, more = found.end(), found[2] == "|"
    if not cell.endswith("}") or len(members) < 2 or len(set(members)) < len(members):
        raise InputError("A cell begins like a set but does not list two or more values: check the file.")
    return Set(tuple(members))


def _quantity(text: str, type: str) -> Any:
    """The number or date that a text stands for."""
    if type == "numeric" and _NUMBER.fullmatch(text):
        return Decimal(text)
    if type == "date" and _DATE.fullmatch(text):
        try:
            return date.fromisoformat(text)
        except ValueError:
            pass
    what = "number" if type == "numeric" else "date"
    raise InputError(f"A cell of a {type} column holds text that is no {what}: check the file.")
