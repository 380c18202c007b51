"""What may be done to a column before anything else looks at it, as settings: checked, and named for manifests."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from shoal.data.values import format_number, normal_text
from shoal.errors import ParameterError
from shoal.params import choice, is_number, iso_date, nearest, real, whole

BETWEEN = ("years", "days")  # of two dates
OF_ONE = ("year", "month", "first")
MEAN = "mean"
_DERIVE = "such as { years = [\"born\", \"admitted\"] }, { year = \"born\" } or { first = \"zip\", length = 3 }"


@dataclass(frozen=True, kw_only=True)
class Derived:
    """A column that others give: how, from which, up to which day, and how many characters."""

    how: str
    columns: tuple[str, ...]
    at: str | None = None
    length: int = 0


@dataclass(frozen=True, kw_only=True)
class End:
    """Values beyond an end, and what stands for all of them: a text, a number, or their mean (None)."""

    at: Decimal
    text: str | None
    number: bool = False


def checked_derive(given: Any) -> Derived:
    """How a column is derived."""
    ways = [key for key in given if key in (*BETWEEN, *OF_ONE)] if isinstance(given, Mapping) else []
    if len(ways) != 1:
        raise ParameterError(f"The 'derive' of a column must be a table {_DERIVE}.")
    how, extra = ways[0], {"at"} if ways[0] in BETWEEN else {"length"} if ways[0] == "first" else set()
    odd = [key for key in given if key != how and key not in extra]
    if odd:
        raise ParameterError(f"The 'derive' of a column by '{how}' has no entry '{odd[0]}': leave it out.")
    named = (given[how],) if isinstance(given[how], str) else tuple(given[how])
    one = how in OF_ONE or "at" in given
    if not all(isinstance(name, str) for name in named) or len(named) != (1 if one else 2):
        count = "one column" if one else "two columns of dates, or one and 'at', the day to count to"
        raise ParameterError(f"The 'derive' of a column by '{how}' must name {count}.")
    at = iso_date("a derived column", "at", given["at"]) if "at" in given else None
    length = whole("a derived column", "length", given.get("length"), least=1) if how == "first" else 0
    return Derived(how=how, columns=named, at=at, length=length)


def checked_end(what: str, given: Any) -> End:
    """The largest (``top``) or smallest (``bottom``) value that is told, and what stands for those beyond."""
    table = given if isinstance(given, Mapping) else {"at": given}
    odd = [key for key in table if key not in ("at", "as")]
    if odd or not is_number(table.get("at")):
        raise ParameterError(
            f"The '{what}' of a column must be a number such as 90, or a table such as {{ at = 90, as = \"mean\" }}."
        )
    at, stands = Decimal(str(table["at"])), table.get("as")
    if stands is None:
        number = format_number(at)
        return End(at=at, text=f"{number}+" if what == "top" else f"<={number}")
    if is_number(stands):
        return End(at=at, text=format_number(Decimal(str(stands))), number=True)
    if not isinstance(stands, str) or not normal_text(stands):
        raise ParameterError(f"The 'as' of a column's '{what}' must be a number, a text or \"mean\".")
    return End(at=at, text=None, number=True) if stands == MEAN else End(at=at, text=normal_text(stands))


def checked_round(given: Any) -> Decimal:
    """The base that numbers are rounded to."""
    return Decimal(str(given)) if real("a column", "round", given, low=1e-100, high=1e100) else Decimal(0)


def checked_recode(given: Any) -> dict[str, str]:
    """Which value becomes which."""
    if not isinstance(given, Mapping) or not given or not all(isinstance(to, str) for to in given.values()):
        raise ParameterError("The 'recode' of a column must be a table such as { widowed = \"alone\" }.")
    found = {normal_text(str(old)): normal_text(new) for old, new in given.items()}
    if not all(found.values()):
        raise ParameterError("The 'recode' of a column makes a value an empty cell: give it a text.")
    return found


def no_column(name: str, source: str, known: list[str]) -> str:
    """What is said where a column is derived from one that is not there."""
    near = nearest(source, known)
    hint = f" Did you mean '{near}'?" if near else ""
    return f"Column '{name}' is derived from '{source}', and there is no such column.{hint}"


def checked_shift(given: Mapping[str, Any]) -> dict[str, Any]:
    extra = [key for key in given if key not in ("days", "gap_limit")]
    if extra or "days" not in given:
        raise ParameterError("The 'shift' of a column must give its 'days', and may give a 'gap_limit'.")
    limit = real("a date shift", "gap_limit", given.get("gap_limit", 0.05), low=0.0, high=1.0)
    return {"days": whole("a date shift", "days", given["days"], least=1), "gap_limit": limit}


# Ways of coding a column, with the parameters of each.
CODES = {
    "mapping": ("prefix",),
    "graded": ("bounds", "categories", "names", "max_rule", "allow_shared_bounds"),
}


def checked_code(given: Any) -> dict[str, Any]:
    found = {"how": given} if isinstance(given, str) else given
    if not isinstance(found, Mapping) or "how" not in found:
        raise ParameterError("The 'code' of a column must be 'mapping', 'graded' or a table that says 'how'.")
    how = choice("a column's code", "how", found["how"], CODES)
    odd = [key for key in found if key != "how" and key not in CODES[how]]
    if odd:
        known = ", ".join(CODES[how])
        raise ParameterError(f"The code '{how}' of a column has no parameter '{odd[0]}': there is {known}.")
    return dict(found)


# ----------------------------------------
# Entries of a recipe: each check gives the sentence's ending that says what was expected.


# As for values of a column: beyond, arithmetic on ends of intervals would leave the floats' range.
_WIDEST = 1e100


def check_domain(value: Any) -> Any:
    if not isinstance(value, list) or len(value) != 2:
        raise ValueError("must be a list of the lowest and the highest value")
    value = [bound.isoformat() if isinstance(bound, datetime.date) else bound for bound in value]
    if not all(is_number(bound) or isinstance(bound, str) for bound in value):
        raise ValueError("must be two numbers or two dates")
    if all(map(is_number, value)) and value[0] > value[1]:
        raise ValueError("must give the lowest value first")
    return value


def check_snap(value: Any) -> Any:
    if value not in ("auto", "off") and not (is_number(value) and 1 / _WIDEST <= value <= _WIDEST):
        raise ValueError("must be 'auto', 'off' or a positive width up to 1e100")
    return value


def check_shift(value: Any) -> Any:
    if not isinstance(value, dict) or "days" not in value or set(value) - {"days", "gap_limit"}:
        raise ValueError("must be a table such as { days = 30 }, perhaps with a gap_limit")
    return value


def check_code(value: Any) -> Any:
    if not isinstance(value, str) and not (isinstance(value, dict) and isinstance(value.get("how"), str)):
        raise ValueError("must be 'mapping', 'graded' or a table such as { how = \"graded\", categories = 8 }")
    return value


def check_derive(value: Any) -> Any:
    if not isinstance(value, dict):
        raise ValueError("must be a table such as { years = ['born', 'admitted'] } or { first = 'zip', length = 3 }")
    at = value.get("at")
    if isinstance(at, datetime.date) and not isinstance(at, datetime.datetime):
        return {**value, "at": at.isoformat()}
    return value


def check_end(value: Any) -> Any:
    if not is_number(value) and not (isinstance(value, dict) and is_number(value.get("at"))):
        raise ValueError("must be a number such as 90, or a table such as { at = 90, as = \"mean\" }")
    return value
