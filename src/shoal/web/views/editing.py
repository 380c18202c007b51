"""Changes of a recipe's text that keep its comments: roles, types, hierarchies, models, profile, algorithm."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tomlkit

from shoal.errors import RecipeError
from shoal.io.recipes import parse_recipe, update_recipe
from shoal.starting.columns import Facts
from shoal.starting.proposing import Proposal, dressed
from shoal.web.views.blocks import Block, blocks, inserted, joined, repeated, with_section

LISTED = ("identifiers", "quasi", "sensitive", "neutral", "drop", "pseudonym")
SINGLE = ("subject", "weight", "key")
ROLES = {
    "identifiers": "identifier: names a person, never released",
    "quasi": "quasi-identifier: others may know it, generalised",
    "sensitive": "sensitive: kept as it is, guarded by models",
    "neutral": "neutral: released as it is",
    "drop": "dropped: not released",
    "subject": "subject: whose row it is, never released",
    "weight": "survey weight: never released",
    "key": "key: tells rows apart, never released",
    "pseudonym": "pseudonym: replaced by a token",
}
TYPES = ("numeric", "date", "ordinal", "categorical")


def roles_of(text: str) -> dict[str, str]:
    """Column to its role, as far as the recipe names it."""
    roles = parse_recipe(text).roles
    found = {name: role for role in LISTED for name in getattr(roles, role)}
    return found | {getattr(roles, role): role for role in SINGLE if getattr(roles, role) is not None}


def with_roles(text: str, wanted: Mapping[str, str], facts: Mapping[str, Facts]) -> str:
    """The recipe with other roles for some columns, and with what follows from them.

    A new quasi-identifier gets the hierarchy that its values suggest, a new sensitive column a model; what was said
    of a column that is no longer read goes with its role.
    """
    known = roles_of(text)
    for name, role in wanted.items():
        if role not in ROLES:
            raise RecipeError(f"'{role}' is no role: choose {', '.join(ROLES)}.")
        if known.get(name) != role:
            text = _with_role(text, name, known.get(name), role, facts.get(name))
    parse_recipe(text)
    return text


def _with_role(text: str, name: str, old: str | None, role: str, facts: Facts | None) -> str:
    def change(roles: Any) -> None:
        if old in SINGLE:
            roles.pop(old, None)
        elif old is not None:
            roles[old].remove(name)
        if role in SINGLE:
            if role in roles:
                raise RecipeError(f"'{roles[role]}' has the role '{role}' already: give it another role first.")
            roles[role] = name
        elif role not in roles:
            roles[role] = [name]
        elif "\n" in roles[role].as_string():
            roles[role].add_line(name)
        else:
            roles[role].append(name)

    return _follow(with_section(text, ("roles",), change), name, role, facts)


def _follow(text: str, name: str, role: str, facts: Facts | None) -> str:
    """What a role brings with it, and what it leaves behind."""
    if role not in ("quasi", "sensitive"):
        text = _forget(text, "hierarchies", name)
    if role not in ("quasi", "sensitive", "neutral", "weight"):
        text = _forget(text, "columns", name)
    if role != "sensitive":
        text = _forget(text, "policies", name)
        mine = [place for place, one in enumerate(models_of(text)) if one.get("on") in (name, [name])]
        for place in reversed(mine):
            text = without_model(text, place)
    if facts is None:
        return text
    proposal = dressed(Proposal(name=name, role=role, why="as you said"), facts)
    known = tomlkit.parse(text)
    if proposal.settings and name not in known.get("columns", {}):
        text = _with_settings(text, name, proposal.settings)
    if proposal.tree is not None and name not in known.get("hierarchies", {}):
        text = with_hierarchy(text, name, proposal.tree)
    return with_model(text, proposal.model) if proposal.model is not None and not _guarded(text, name) else text


def _forget(text: str, section: str, name: str) -> str:
    if name not in tomlkit.parse(text).get(section, {}):
        return text
    if any(one.path == (section, name) for one in blocks(text)):
        return joined([one for one in blocks(text) if one.path != (section, name)])
    return with_section(text, (section,), lambda table: table.pop(name, None))


def models_of(text: str) -> list[dict[str, Any]]:
    """Models that the recipe itself asks for, without those of its profile."""
    return [dict(one) for one in tomlkit.parse(text).unwrap().get("models", [])]


def _guarded(text: str, name: str) -> bool:
    """Whether a model on values looks at a column already."""
    valued = [one for one in models_of(text) if one.get("name") != "k"]
    return any("on" not in one or name == one["on"] or name in one["on"] for one in valued)


def with_types(text: str, wanted: Mapping[str, tuple[str, str]]) -> str:
    """The recipe with other types (and formats of dates) for some columns; an empty type is told by the values."""
    known, changes = parse_recipe(text).columns, {}
    for name, (kind, form) in wanted.items():
        if kind and kind not in TYPES:
            raise RecipeError(f"'{kind}' is no type: choose {', '.join(TYPES)}.")
        before = known.get(name)
        had = ("", "") if before is None else (before.type or "", before.format or "")
        if had != (kind, form):
            changes[name] = {"type": kind or None, "format": form or None}
    for name, one in changes.items():
        text = _with_settings(text, name, one)
    return text


def _with_settings(text: str, name: str, settings: Mapping[str, Any]) -> str:
    def change(table: Any) -> None:
        for key, value in settings.items():
            if value is None:
                table.pop(key, None)
            else:
                table[key] = value

    return with_section(text, ("columns", name), change)


def with_hierarchy(text: str, name: str, entry: str | Mapping[str, Any] | None, type: str | None = None) -> str:
    """The recipe with a hierarchy for a column, by rule or as a file; None leaves two levels."""

    def change(trees: Any) -> None:
        if entry is None:
            trees.pop(name, None)
        else:
            trees[name] = entry if isinstance(entry, str) else _inline(entry)

    text = with_section(text, ("hierarchies",), change)
    return text if type is None else _with_settings(text, name, {"type": type})


def _inline(entry: Mapping[str, Any]) -> Any:
    inline = tomlkit.inline_table()
    inline.update(dict(entry))
    return inline


def with_model(text: str, model: Mapping[str, Any], place: int | None = None) -> str:
    """The recipe with a further model, or with another in the place of one."""

    def change(table: Any) -> None:
        for key in [key for key in table if key not in model]:
            del table[key]
        for key, value in model.items():
            if table.get(key) != value:
                table[key] = value

    if place is None:
        return inserted(_with_blocks(text), Block("", "[[models]]\n", "").changed(change))
    return _with_models(text, place, lambda one: [one.changed(change)])


def without_model(text: str, place: int) -> str:
    """The recipe with a model less, and the comment above it."""
    return _with_models(text, place, lambda one: [])


def _with_models(text: str, place: int, change: Callable[[Block], list[Block]]) -> str:
    text = _with_blocks(text)
    parts, places = blocks(text), repeated(text, "models")
    if not 0 <= place < len(places):
        raise RecipeError("There is no such model in the recipe any more: look at the page again.")
    at = places[place]
    parts[at : at + 1] = change(parts[at])
    return joined(parts)


def _with_blocks(text: str) -> str:
    """The same where models are a block each, and not a list in one line."""
    models = models_of(text)
    if len(repeated(text, "models")) == len(models):
        return text
    text = update_recipe(text, {"models": None})
    for one in models:
        text = inserted(text, Block("", "[[models]]\n", tomlkit.dumps(one)))
    return text


def with_algorithm(text: str, algorithm: Mapping[str, Any]) -> str:
    """The recipe with another algorithm, or other parameters of it."""

    def change(table: Any) -> None:
        for key in [key for key in table if key not in algorithm]:
            del table[key]
        for key, value in algorithm.items():
            if table.get(key) != value:
                table[key] = value

    return with_section(text, ("algorithm",), change)


def with_point(text: str, algorithm: Mapping[str, Any], models: Sequence[Mapping[str, Any]]) -> str:
    """The recipe with the algorithm and models of a point that was tried; models that stay keep their comments."""
    known, wanted = models_of(text), [dict(one) for one in models]
    for place in reversed(range(len(known))):
        if not any(_alike(known[place], one) for one in wanted):
            text = without_model(text, place)
    for one in wanted:
        at = next((place for place, other in enumerate(models_of(text)) if _alike(one, other)), None)
        text = with_model(text, one, at)
    return with_algorithm(text, algorithm)


def _alike(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return (one["name"], one.get("on")) == (other["name"], other.get("on"))

