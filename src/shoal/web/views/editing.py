"""Changes of a recipe's text that keep its comments: roles, types, hierarchies, models, profile, algorithm."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tomlkit

from shoal.errors import RecipeError
from shoal.io.recipes import parse_recipe, update_recipe
from shoal.starting.columns import Facts
from shoal.starting.proposing import Proposal, dressed
from shoal.web.views.blocks import Block, blocks, entry, inserted, joined, repeated, with_section

LISTED = ("identifiers", "quasi", "sensitive", "neutral", "drop", "pseudonym")
SINGLE = ("subject", "weight", "key", "guard")
ROLES = {
    "identifiers": "identifier: names a person, never released",
    "quasi": "quasi-identifier: others may know it, generalised",
    "sensitive": "sensitive: kept as it is, guarded by models",
    "neutral": "neutral: released as it is",
    "drop": "dropped: not released",
    "subject": "subject: whose row it is, never released",
    "weight": "survey weight: never released",
    "key": "key: tells rows apart, never released",
    "guard": "guard: what each person wants nobody to learn, never released",
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
    for role in wanted.values():
        if role not in ROLES:
            raise RecipeError(f"'{role}' is no role: choose {', '.join(ROLES)}.")
    moved = {name: role for name, role in wanted.items() if known.get(name) != role}

    def change(roles: Any) -> None:
        for name in moved:  # all leave before any comes, so that two can change places
            _leave(roles, name, known.get(name))
        for name, role in moved.items():
            _come(roles, name, role)

    text = with_section(text, ("roles",), change) if moved else text
    for name, role in moved.items():
        text = _follow(text, name, role, facts.get(name))
    parse_recipe(text)
    return text


def _leave(roles: Any, name: str, role: str | None) -> None:
    if role in SINGLE:
        roles.pop(role, None)
    elif role is not None:
        roles[role].remove(name)


def _come(roles: Any, name: str, role: str) -> None:
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


def with_types(text: str, wanted: Mapping[str, tuple[str, str | None]]) -> str:
    """The recipe with other types (and formats of dates) for some columns; an empty type is told by the values.

    No format leaves it as it is, an empty one removes it.
    """
    known, changes = parse_recipe(text).columns, {}
    for name, (kind, form) in wanted.items():
        if kind and kind not in TYPES:
            raise RecipeError(f"'{kind}' is no type: choose {', '.join(TYPES)}.")
        before = known.get(name)
        had = ("", "") if before is None else (before.type or "", before.format or "")
        form = had[1] if form is None else form
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


def with_hierarchy(text: str, name: str, tree: str | Mapping[str, Any] | None, type: str | None = None) -> str:
    """The recipe with a hierarchy for a column, by rule or as a file; None leaves two levels."""

    def change(trees: Any) -> None:
        if tree is None:
            trees.pop(name, None)
        else:
            trees[name] = tree if isinstance(tree, str) else entry(dict(tree))

    if any(one.path == ("hierarchies", name) for one in blocks(text)):
        text = _forget(text, "hierarchies", name)
    text = with_section(text, ("hierarchies",), change)
    return text if type is None else _with_settings(text, name, {"type": type})


def _exactly(wanted: Mapping[str, Any]) -> Callable[[Any], None]:
    """A change that leaves in a table what is wanted, and nothing else."""

    def change(table: Any) -> None:
        for key in [key for key in table if key not in wanted]:
            del table[key]
        for key, value in wanted.items():
            if table.get(key) != value:
                table[key] = entry(value)

    return change


def with_model(text: str, model: Mapping[str, Any], place: int | None = None) -> str:
    """The recipe with a further model, or with another in the place of one."""
    change = _exactly(model)
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
    """The same where models are a block each, and not a list in one line or spread over headings of their own."""
    models, parts = models_of(text), blocks(text)
    if len(repeated(text, "models")) != len(models):
        text = update_recipe(text, {"models": None})
        for one in models:
            text = inserted(text, Block("", "[[models]]\n", "").changed(_exactly(one)))
        return text
    if not any(one.path[:1] == ("models",) and len(one.path) > 1 for one in parts):
        return text
    kept = [one for one in parts if one.path[:1] != ("models",) or len(one.path) == 1]
    places = [place for place, one in enumerate(kept) if one.repeated and one.path == ("models",)]
    for place, model in zip(places, models, strict=True):
        kept[place] = kept[place].changed(_exactly(model))
    return joined(kept)


def with_algorithm(text: str, algorithm: Mapping[str, Any]) -> str:
    """The recipe with another algorithm, or other parameters of it."""
    return with_section(text, ("algorithm",), _exactly(algorithm))


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

