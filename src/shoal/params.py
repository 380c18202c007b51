"""One-sentence parameter checks shared by every spec."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from shoal.errors import ParameterError

# No count of anything here is larger, and floats hold every whole number up to it.
_LARGEST = 1 << 53
_SHOWN = 100


def whole(owner: str, name: str, value: Any, *, least: int) -> int:
    """Return ``value`` as an int, or say that it must be a whole number of at least ``least``."""
    if not is_number(value) or value != int(value) or value < least:
        raise ParameterError(_must(owner, name, f"a whole number of at least {least}", value))
    if value > _LARGEST:
        raise ParameterError(_must(owner, name, f"a whole number from {least} to 2^53", value))
    return int(value)


def is_number(value: Any) -> bool:
    """Whether a value is a finite number that a float can stand for; truth values are none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def real(
    owner: str,
    name: str,
    value: Any,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    open_low: bool = False,
) -> float:
    """Return ``value`` as a float inside ``low``..``high`` (``open_low`` leaves ``low`` itself out)."""
    if not is_number(value) or value < low or value > high or (open_low and value == low):
        raise ParameterError(_must(owner, name, _span(low, high, open_low), value))
    return float(value)


def choice(owner: str, name: str, value: Any, options: Iterable[str]) -> str:
    """Return ``value`` if it is one of ``options``; the message proposes the nearest one."""
    known = list(options)
    if value in known:
        return str(value)
    near = nearest(str(value), known)
    hint = f" Did you mean '{near}'?" if near else ""
    raise ParameterError(_must(owner, name, f"one of {', '.join(known)}", value) + hint)


def nearest(word: str, options: Iterable[str]) -> str | None:
    """Return the option most like ``word``, or None when nothing is close."""
    found = get_close_matches(word, list(options), n=1, cutoff=0.6)
    return found[0] if found else None


def _must(owner: str, name: str, what: str, value: Any) -> str:
    return f"The '{name}' of {owner} must be {what}. Got {shown(value)}."


def shown(value: Any) -> str:
    """A value as messages show it: not longer than a line."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # more digits than Python writes, or tables within tables
        return f"a {type(value).__name__} too long to show"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _span(low: float, high: float, open_low: bool) -> str:
    if math.isinf(low) and math.isinf(high):
        return "a finite number"
    if math.isinf(high):
        return f"a number {'above' if open_low else 'of at least'} {low:g}"
    return f"a number {'above' if open_low else 'from'} {low:g} {'and up to' if open_low else 'to'} {high:g}"


def is_iso_date(text: str) -> bool:
    """Whether a text is a day as ISO 8601 writes it, such as ``2026-01-31``."""
    try:
        return datetime.date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def iso_date(owner: str, name: str, value: datetime.date | str) -> str:
    """Check a day and give it as ISO text."""
    text = value.isoformat() if type(value) is datetime.date else value
    if not isinstance(text, str) or not is_iso_date(text):
        raise ParameterError(f"The '{name}' of {owner} must be a date such as 2026-01-31.")
    return text
