"""What may be done to a column before anything else looks at it, as settings: checked, and named for manifests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from shoal.data.values import format_number, normal_text
from shoal.errors import ParameterError
from shoal.params import is_number, iso_date, nearest, real, whole

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
