"""Numbers and dates as text: the shortest form that reads back exactly, the same everywhere."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal

_EPOCH = date(1970, 1, 1)


def format_number(number: int | float | Decimal) -> str:
    """Shortest text that reads back as the same number.

    Examples
    --------
    >>> [format_number(x) for x in (3.0, Decimal("1.50"), -0.0, 0.1, 10**20)]
    ['3', '1.5', '0', '0.1', '100000000000000000000']
    """
    if isinstance(number, int):
        return str(number)
    if isinstance(number, Decimal):
        if number == number.to_integral_value() and number.adjusted() < 400:
            return str(int(number))
        text = str(number.normalize()) if len(number.as_tuple().digits) <= 28 else str(number)
        return text.replace("E", "e")
    if number == int(number) and abs(number) < 1e16:
        return str(int(number))
    return repr(float(number))


def parse_number(text: str) -> int | Decimal:
    """Exact value of a number's text."""
    number = Decimal(text)
    return int(number) if number == number.to_integral_value() and number.adjusted() < 400 else number


def format_date(days: int) -> str:
    """ISO date of a day counted from 1970-01-01."""
    return (_EPOCH + timedelta(days=days)).isoformat()


def parse_date(text: str) -> int:
    """Day counted from 1970-01-01 of an ISO date."""
    return (date.fromisoformat(text) - _EPOCH).days
