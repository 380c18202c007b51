"""Values as text: one text a value, which reads back exactly, the same everywhere."""

from __future__ import annotations

import math
import unicodedata
from datetime import date
from decimal import Decimal
from operator import index

from shoal.errors import InputError

_EPOCH = date(1970, 1, 1).toordinal()
_LAST_DAY = date.max.toordinal()
# White space as Unicode defines it, and the byte order mark.
EDGES = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(map(chr, range(0x2000, 0x200B)))


def normal_text(text: str) -> str:
    """A text as files and frames are read: in Unicode's composed form, without white space at its edges.

    Examples
    --------
    >>> normal_text("\\u00a0cafe\\u0301 ") == "caf\\u00e9"
    True
    """
    return (text if text.isascii() else unicodedata.normalize("NFC", text)).strip(EDGES)


def format_number(x: int | float | Decimal) -> str:
    """The one text of a number: equal numbers give equal text, whatever their type.

    Shortest digits that read back exactly; written out from 1e-7 to below 1e41, with an exponent beyond.

    Examples
    --------
    >>> [format_number(x) for x in (3.0, Decimal("1.50"), -0.0, 0.1, 10**20, 1e300, 5e-324)]
    ['3', '1.5', '0', '0.1', '100000000000000000000', '1e300', '5e-324']
    """
    if not isinstance(x, float | Decimal):
        x = index(x)  # numpy's integers too
    if isinstance(x, float):
        if not math.isfinite(x):
            raise InputError("A number must be finite to be written: declare infinities and NaN as missing.")
        x = int(x) if x.is_integer() and abs(x) < 1e15 else Decimal(float.__repr__(x))
    if isinstance(x, int) and abs(x) < 10**41:
        return str(x)
    sign, digits, exponent = Decimal(x).as_tuple()
    if not isinstance(exponent, int):
        raise InputError("A number must be finite to be written: declare infinities and NaN as missing.")
    figures = "".join(map(str, digits)).lstrip("0")
    exponent += len(figures) - len(figures.rstrip("0"))
    return ("-" if sign and figures else "") + _positional(figures.rstrip("0"), exponent)


def format_date(days: int) -> str:
    """ISO date of a day counted from 1970-01-01.

    Examples
    --------
    >>> format_date(0), format_date(-719162)
    ('1970-01-01', '0001-01-01')
    """
    day = int(days) + _EPOCH
    if not 1 <= day <= _LAST_DAY:
        raise InputError("A date must lie in the years 1 to 9999: declare others as missing.")
    return date.fromordinal(day).isoformat()


def _positional(figures: str, exponent: int) -> str:
    """Text of 0.figures x 10^... without leading or closing zeros in ``figures``."""
    point = len(figures) + exponent  # digits before the decimal point
    if not figures:
        return "0"
    if not -7 <= point - 1 <= 40:
        return figures[0] + ("." + figures[1:] if len(figures) > 1 else "") + f"e{point - 1}"
    if exponent >= 0:
        return figures + "0" * exponent
    if point <= 0:
        return "0." + "0" * -point + figures
    return f"{figures[:point]}.{figures[point:]}"
