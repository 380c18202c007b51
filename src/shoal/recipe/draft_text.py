"""A draft as the text of a recipe, with a reason beside everything that was decided."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomlkit

from shoal.recipe.draft import Draft, markers, notations
from shoal.recipe.roles import Proposal

_COMMENT = 48
_LISTS = ("identifiers", "quasi", "sensitive", "neutral", "drop")
_MEANING = {
    "identifiers": "name a person: never released",
    "quasi": "others may know them: generalised",
    "sensitive": "nobody should learn them of a person: kept, and guarded by models",
    "neutral": "released as they are",
    "drop": "not released",
    "subject": "whose row it is: people are counted, not rows; never released",
    "weight": "survey weight: never released as it is",
    "key": "tells the rows of the database apart: never released",
}
_COPIES = {".xlsx": "xlsx", ".xls": "xlsx", ".xlsm": "xlsx", ".sav": "sav", ".zsav": "sav", ".dta": "dta"}


def recipe_text(draft: Draft, folder: Path) -> str:
    """The recipe of a draft, as a file in ``folder``."""
    parts = [_head(draft), _source(draft, folder), _roles(draft), *_columns(draft), _trees(draft), _models(draft)]
    return "\n".join(part for part in (*parts, _end(draft)) if part)


def _head(draft: Draft) -> str:
    first = f"A first recipe for {draft.raw.title}, made by shoal start."
    lines = [
        f"{first} It runs as it is; read it all the same:" if draft.tried else f"{first} Read it:",
        "what people could know, and what is private, only you know.",
        *draft.notes,
        *draft.mended,
    ]
    return "".join(f"# {line}\n" for line in lines)


def _source(draft: Draft, folder: Path) -> str:
    raw = draft.raw
    common, _ = markers(draft)
    decimal, _ = notations(draft)
    source: dict[str, Any] = {"name": raw.title}
    if not raw.in_database:
        source["path"] = Path(os.path.relpath(raw.target, folder)).as_posix()
    source |= raw.source
    if decimal is not None:
        source["decimal"] = decimal
    if common:
        source["missing_markers"] = common
    if any(draft.facts[name].missing for name in (*draft.columns("quasi"), *draft.columns("sensitive"),
                                                  *draft.columns("neutral"))):  # fmt: skip
        source["missing"] = "value"
    return "[source]\n" + _entries(source)


def _roles(draft: Draft) -> str:
    lines = ["[roles]"]
    for role in (*_LISTS, "subject", "weight", "key"):
        mine = [one for one in draft.proposals.values() if one.role == role]
        if not mine:
            continue
        lines.append(f"# {_MEANING[role]}")
        if role not in _LISTS:
            lines.append(f"{role} = {_value(mine[0].name)}  # {mine[0].why}")
            continue
        lines.append(f"{role} = [")
        lines += [f"    {(_value(one.name) + ','):{_COMMENT - 16}}  # {_why(one)}" for one in mine]
        lines.append("]")
    if not draft.across_classes:
        lines.append("# models judge classes alone, not the values that all classes of a person leave possible")
        lines.append("across_classes = false  # (look at it)")
    return "\n".join(lines) + "\n"


def _why(one: Proposal) -> str:
    return one.why if one.sure else f"{one.why} (look at it)"


def _columns(draft: Draft) -> list[str]:
    _, own_markers = markers(draft)
    _, own_numbers = notations(draft)
    parts = []
    for name, one in draft.proposals.items():
        settings = dict(one.settings) | own_numbers.get(name, {})
        if name in own_markers:
            settings["missing_markers"] = own_markers[name]
        if one.role == "sensitive" and draft.facts[name].non_answers and "items" not in settings:
            settings["non_answers"] = list(draft.facts[name].non_answers)
        told = _age(draft, one)
        if settings:
            parts.append(f"{told}[columns.{_key(name)}]\n" + _entries(settings))
        elif told:
            parts.append(told)
    return parts


def _age(draft: Draft, one: Proposal) -> str:
    """What would keep more than a date of birth."""
    if one.role != "quasi" or one.why != "date of birth":
        return ""
    seen = next((name for name, other in draft.proposals.items() if other.why == "date of an event"), None)
    until = {"years": one.name, "at": "2026-01-01"} if seen is None else {"years": [one.name, seen]}
    return (
        f"# An age tells less than a date of birth, and more of it is left: name \"age\" under quasi in the place of\n"
        f"# {_key(one.name)}, age = {{ widths = [5, 10, 20] }} in the place of its hierarchy, and say how it is made:\n"
        f"# [columns.age]\n# derive = {_value(until)}\n"
    )


def _trees(draft: Draft) -> str:
    mine = [one for one in draft.proposals.values() if one.tree is not None]
    if not mine:
        return ""
    lines = [f"{(_key(one.name) + ' = ' + _value(one.tree)):{_COMMENT}}  # {one.tree_why}\n" for one in mine]
    return "[hierarchies]\n" + "".join(lines)


def _models(draft: Draft) -> str:
    k = {"name": "k", "k": draft.given.k}
    who = "people" if draft.columns("subject") else "rows"
    parts = [f"# everybody stands with at least {draft.given.k - 1} others ({who})\n[[models]]\n" + _entries(k)]
    for one in draft.proposals.values():
        if one.model is not None:
            said = _promise(one.model)
            parts.append(f"# {one.name}: {said}\n[[models]]\n" + _entries(one.model))
    return "\n".join(parts)


def _promise(model: Mapping[str, Any]) -> str:
    if model["name"] == "distinct-l":
        return f"at least {model['l']} different values among those who look the same"
    if model["name"] == "k-m":
        return f"at least {model['k']} of those who look the same share any {model['m']} items, or none does"
    return "those who look the same are not too unlike all others"


def _end(draft: Draft) -> str:
    raw = draft.raw
    output: dict[str, Any] = {"folder": f"{raw.title}-release"}
    copy = _COPIES.get(Path(raw.target).suffix.lower())
    if copy is not None:
        output["copies"] = [copy]
    engine = "\n[engine]\nname = \"postgres\"\n" if raw.in_database else ""
    name = "optimal" if raw.in_database else "mondrian"
    return f"[algorithm]\nname = \"{name}\"\n{engine}\n[output]\n" + _entries(output)


def _entries(table: Mapping[str, Any]) -> str:
    return "".join(f"{key} = {_value(value)}\n" for key, value in table.items())


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_value(one)}" for key, one in value.items()) + " }"
    return str(tomlkit.item(value).as_string())


def _key(name: str) -> str:
    return str(tomlkit.key(name).as_string())
