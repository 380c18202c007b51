"""Checks of single entries of a recipe, each with the sentence's ending that says what was expected."""

from __future__ import annotations

import datetime
import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from shoal.errors import RecipeError
from shoal.params import is_iso_date, is_number


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
# What a recipe says of sensitive ranges: ``[policies.NAME]``.


class PolicySettings(Section):
    """The sensitive ranges of a column, under ``[policies.NAME]``."""

    ranges: Annotated[Any, BeforeValidator(check_ranges)]
    otherwise: Annotated[Literal["value", "error"], Field(alias="else")] = "error"
