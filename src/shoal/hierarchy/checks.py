"""What the builders share: checks of values and parameters, and exact decimal numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Context, Decimal
from itertools import pairwise
from typing import Any

from shoal.errors import HierarchyError
from shoal.hierarchy.hierarchy import MISSING

_NUMBER = re.compile(r"[+-]?(\d{1,1000}(\.\d{0,1000})?|\.\d{1,1000})([eE][+-]?\d{1,3})?", re.ASCII)
# Wide enough for every sum and quotient of two numbers that _NUMBER admits, so nothing is ever rounded.
EXACT = Context(prec=8000)


def misplaced(before: str, values: Sequence[str], after: str) -> HierarchyError:
    """Make the error about values of records that a builder cannot place: how many there are, and none of them."""
    return HierarchyError(f"{before} ({len(values):,} different ones): {after}")


def distinct(name: str, values: Sequence[str]) -> list[str]:
    """The values once each, without the missing one: it never belongs to a group."""
    texts = [text for text in dict.fromkeys(values) if text != MISSING]
    if not texts:
        raise HierarchyError(f"The column '{name}' has no values to build a hierarchy over: check its data.")
    return texts


def numbers(name: str, values: Sequence[str]) -> list[tuple[Decimal, str]]:
    """The distinct values as exact numbers with their text, ascending."""
    texts = distinct(name, values)
    wrong = [text for text in texts if not _NUMBER.fullmatch(text)]
    if wrong:
        raise misplaced(f"Values of '{name}' are no numbers", wrong, "use prefix, groups or a file instead.")
    pairs = sorted((Decimal(text), text) for text in texts)
    for (low, text), (high, other) in pairwise(pairs):
        if low == high:
            raise misplaced(f"Values of '{name}' are the same number", [text, other], "write them the same way.")
    return pairs


def number(name: str, what: str, value: Any) -> Decimal:
    """A number given as a parameter, exactly as it was written."""
    if isinstance(value, float):
        value = float.__repr__(value)  # 0.1 means a tenth here, not the binary fraction next to it
    if (
        isinstance(value, bool)
        or not isinstance(value, int | str | Decimal)
        or not _NUMBER.fullmatch(str(value))
    ):
        raise HierarchyError(f"The {what} for '{name}' must be finite numbers: got {value!r}.")
    return Decimal(str(value))


def listed(name: str, what: str, value: Any) -> list[Any]:
    """A list that is not empty."""
    if isinstance(value, Sequence) and not isinstance(value, str) and len(value) > 0:
        return list(value)
    raise HierarchyError(f"The {what} for '{name}' must be a list that is not empty: got {value!r}.")


def falling(name: str, what: str, value: Any, *, least: int) -> list[int]:
    """Whole numbers, each below the one before and none below ``least``."""
    found = listed(name, what, value)
    whole = all(isinstance(item, int) and not isinstance(item, bool) for item in found)
    if not whole or found[-1] < least or any(first <= second for first, second in pairwise(found)):
        raise HierarchyError(
            f"The {what} for '{name}' must be falling whole numbers of at least {least}: got {value!r}."
        )
    return [int(item) for item in found]


def leaf(name: str, member: Any) -> str:
    """A value listed in a group, as text."""
    if isinstance(member, str) or (isinstance(member, int) and not isinstance(member, bool)):
        return str(member)
    raise HierarchyError(f"The value {member!r} in the hierarchy of '{name}' is no text: write it in quotes.")


def all_whole(*groups: Sequence[Decimal]) -> bool:
    """Whether every number is an integer."""
    return all(item == item.to_integral_value(context=EXACT) for group in groups for item in group)


def plain(value: Decimal) -> str:
    """Decimal text without exponent or closing zeros."""
    text = format(value, "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def some(values: Sequence[str]) -> str:
    """Up to five of the values, and how many more there are."""
    shown = ", ".join(f"'{value}'" for value in values[:5])
    return shown if len(values) <= 5 else f"{shown} and {len(values) - 5} more"
