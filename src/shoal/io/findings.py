"""What is wrong with a recipe, in one sentence: findings of pydantic in words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from shoal.params import nearest

if TYPE_CHECKING:
    from pydantic import BaseModel

_KINDS = {
    "string_type": "text",
    "int_type": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "greater_than": "above 0",
}


def sentence(error: Mapping[str, Any], sections: Mapping[str, type[BaseModel]], whole: type[BaseModel]) -> str:
    """One finding of pydantic as one sentence that names the entry and its table.

    Parameters
    ----------
    sections, whole
        What stands under each heading of a recipe, and the recipe.
    """
    table, key, below = _address(error["loc"])
    entry = f"Entry {below[0] + 1} of '{key}'" if below and isinstance(below[0], int) else f"The '{key}'"
    kind = error["type"]
    if kind == "extra_forbidden":
        section = sections[str(error["loc"][0])] if len(error["loc"]) > 1 else whole
        known = [field.alias or name for name, field in section.model_fields.items()]
        return f"There is no entry '{key}' in {table}. {_hint(key, known)}"
    if kind == "missing":
        return f"The entry '{key}' is missing from {table}: add it."
    if kind == "literal_error":
        options = re.findall(r"'([^']*)'", error["ctx"]["expected"])
        near = nearest(str(error["input"]), options)
        hint = f" Did you mean '{near}'?" if near else ""
        return f"{entry} in {table} must be {error['ctx']['expected']}.{hint}"
    if kind == "value_error":
        return f"{entry} in {table} {error['ctx']['error']}."
    return f"{entry} in {table} must be {_KINDS.get(kind, 'of another kind')}."


def _address(place: tuple[Any, ...]) -> tuple[str, str, tuple[Any, ...]]:
    """The table an entry stands in, its key, and what lies below it."""
    if len(place) == 1 or place[0] == "models":
        return "the recipe", str(place[0]), place[1:]
    if place[0] in ("columns", "policies") and len(place) > 2:
        return f"[{place[0]}.{place[1]}]", str(place[2]), place[3:]
    return f"[{place[0]}]", str(place[1]), place[2:]


def _hint(word: str, options: list[str]) -> str:
    near = nearest(word, options)
    return f"Did you mean '{near}'?" if near else f"Possible are: {', '.join(options)}."
