"""Checks of single entries of a recipe, each with the sentence's ending that says what was expected."""

from __future__ import annotations

import datetime
import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from shoal.errors import RecipeError
from shoal.params import is_iso_date, is_number

# As for values of a column: beyond, arithmetic on ends of intervals would leave the floats' range.
_WIDEST = 1e100


def as_text(value: Any) -> Any:
    """Codes such as 99 are texts like any other cell."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def check_plain(value: Any, deepest: int) -> None:
    """Refuse what TOML's readers differ about or no path can hold: deep tables, long integers, zero bytes."""
    if isinstance(value, dict | list):
        if deepest == 0:
            raise RecipeError("The recipe has tables or lists that nest too deep: no entry lies that deep.")
        for one in (*value.keys(), *value.values()) if isinstance(value, dict) else value:
            check_plain(one, deepest - 1)
    elif isinstance(value, str) and "\0" in value:
        raise RecipeError("The recipe has a text with a zero byte, which no file name or cell can hold: remove it.")
    elif isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        raise RecipeError("The recipe has a whole number beyond 64 bits: correct it.")


def check_domain(value: Any) -> Any:
    if not isinstance(value, list) or len(value) != 2:
        raise ValueError("must be a list of the lowest and the highest value")
    value = [bound.isoformat() if isinstance(bound, datetime.date) else bound for bound in value]
    if not all(is_number(bound) or isinstance(bound, str) for bound in value):
        raise ValueError("must be two numbers or two dates")
    if all(map(is_number, value)) and value[0] > value[1]:
        raise ValueError("must give the lowest value first")
    return value


_UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30}
_MEMORY = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMG]i?B)\s*", re.IGNORECASE)
_LEAST_MEMORY = 200 * 10**6


def memory_bytes(given: str) -> int:
    """Bytes of a text such as ``2GB``."""
    found = _MEMORY.fullmatch(given)
    if found is None:
        raise ValueError("must be an amount such as '2GB' or '1.5GiB'")
    return int(float(found[1]) * _UNITS[found[2].upper()])


def check_memory(given: Any) -> Any:
    """An amount of memory that something can be done with."""
    if isinstance(given, str) and memory_bytes(given) < _LEAST_MEMORY:
        raise ValueError("must be at least 200MB")
    return given


def check_date(value: Any) -> Any:
    text = value.isoformat() if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime) else value
    if text is not None and not (isinstance(text, str) and is_iso_date(text)):
        raise ValueError("must be a date such as 2026-01-31")
    return text


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


def check_hierarchy(value: Any) -> Any:
    if not isinstance(value, str | dict) or not value:
        raise ValueError("must be a file name or a table such as { prefix = [4, 3, 2] }")
    return value


def check_named(value: Any) -> Any:
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        raise ValueError("must be a table with a 'name'")
    return value


def check_ranges(value: Any) -> Any:
    level = isinstance(value, dict) and list(value) == ["level"]
    ranges = isinstance(value, list) and value and all(isinstance(one, list) and one for one in value)
    if not (level or ranges or (isinstance(value, str) and value)):
        raise ValueError("must be 'value', a file name, { level = 2 }, or a list of ranges such as [[0, 9], [10, 15]]")
    return value


def check_limit(value: Any) -> Any:
    shares = list(value.values()) if isinstance(value, dict) else [value]
    if not shares or not all(is_number(one) and 0 <= one <= 1 for one in shares):
        raise ValueError("must be a share from 0 to 1, or a table of such shares")
    return value


def check_queries(value: Any) -> Any:
    if not isinstance(value, str) and not (isinstance(value, list) and all(isinstance(one, str) for one in value)):
        raise ValueError("must be a list of queries such as 'age in [30,40]', or the name of a file of them")
    return value


def check_boundaries(value: Any) -> Any:
    listed = value if isinstance(value, list) else []
    value = [one.isoformat() if isinstance(one, datetime.date) else one for one in listed]
    if not value or not all(is_number(one) or (isinstance(one, str | list) and one) for one in value):
        raise ValueError("must be a list a column, of values or of labels, such as { age = [28, 65] }")
    return value


def named_entries(value: Any) -> Any:
    """A name alone stands for a table with nothing but that name."""
    return [{"name": one} if isinstance(one, str) else one for one in value] if isinstance(value, list) else value


def listed(value: Any) -> Any:
    """A text alone stands for a list of nothing but that text."""
    return [value] if isinstance(value, str) else value


def flat_grid(value: Any) -> Any:
    """Parameters to lists of values; ``toc.delta`` without quotes, which TOML reads as tables, is the same."""
    if not isinstance(value, dict):
        raise ValueError("must be a table of lists such as k = [2, 5, 10]")
    flat: dict[str, Any] = {}
    for name, entry in value.items():
        nested = {f"{name}.{key}": one for key, one in entry.items()} if isinstance(entry, dict) else {name: entry}
        flat |= nested
    if not all(isinstance(entry, list) and entry for entry in flat.values()):
        raise ValueError("must be a table of lists such as k = [2, 5, 10]")
    return flat


# ----------------------------------------
# What every table of a recipe is: strict, frozen, and without entries that nobody reads.


class Section(BaseModel):
    """One table of a recipe."""

    # Most tables are only ever read as parts of a recipe, which is built when one is.
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)


# ----------------------------------------
# What a recipe says of single columns: ``[columns.NAME]`` and ``[policies.NAME]``.


Text = Annotated[str, BeforeValidator(as_text)]


class ColumnSettings(Section):
    """What a column needs said about it, under ``[columns.NAME]``."""

    type: Literal["numeric", "date", "ordinal", "categorical"] | None = None
    format: str | None = None
    order: list[Text] | None = None
    domain: Annotated[list[Any], BeforeValidator(check_domain)] | None = None
    style: Literal["auto", "bounds", "representative"] = "auto"
    snap: Annotated[Any, BeforeValidator(check_snap)] = "auto"
    use: Literal["interval"] | None = None
    non_answers: list[Text] = []
    missing_markers: list[Text] = []
    decimal: Literal[".", ","] | None = None
    thousands: str | None = None
    shift: Annotated[dict[str, Any], BeforeValidator(check_shift)] | None = None
    code: Annotated[Any, BeforeValidator(check_code)] = None
    derive: Annotated[dict[str, Any], BeforeValidator(check_derive)] | None = None
    recode: dict[str, Text] | None = None
    recode_else: Literal["error", "keep"] = "error"
    top: Annotated[Any, BeforeValidator(check_end)] = None
    bottom: Annotated[Any, BeforeValidator(check_end)] = None
    round: Annotated[float | None, Field(gt=0, allow_inf_nan=False, strict=False)] = None
    items: str | None = None


class PolicySettings(Section):
    """The sensitive ranges of a column, under ``[policies.NAME]``."""

    ranges: Annotated[Any, BeforeValidator(check_ranges)]
    otherwise: Annotated[Literal["value", "error"], Field(alias="else")] = "error"
