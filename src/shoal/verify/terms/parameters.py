"""What a parameter of a model may be, as a manifest gives it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


def number(value: Any) -> bool:
    """A finite number."""
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and value == value
        and abs(value) < float("inf")
    )


def count(value: Any) -> bool:
    """A whole number from 1."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def not_negative(value: Any) -> bool:
    """A number from 0."""
    return number(value) and value >= 0


def from_one(value: Any) -> bool:
    """A number from 1."""
    return number(value) and value >= 1


def positive(value: Any) -> bool:
    """A number above 0."""
    return number(value) and value > 0


def share(value: Any) -> bool:
    """A number from 0 to 1."""
    return number(value) and 0 <= value <= 1


def positive_share(value: Any) -> bool:
    """A number above 0, up to 1."""
    return share(value) and value > 0


def shares(value: Any) -> bool:
    """A share for each of some texts."""
    return isinstance(value, Mapping) and all(isinstance(k, str) and share(v) for k, v in value.items())


def scalar(value: Any) -> bool:
    """A text or a number."""
    return isinstance(value, str) or number(value)


def flag(value: Any) -> bool:
    """Yes or no."""
    return isinstance(value, bool)


def one_of(*words: str | None) -> Callable[[Any], bool]:
    """One of a few words."""
    return lambda value: value in words
