"""Changes of a recipe's text that keep its comments: roles, types, hierarchies, models, profile, algorithm."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from shoal.errors import RecipeError
from shoal.io.recipes import parse_recipe, update_recipe
from shoal.starting.columns import Facts
from shoal.starting.proposing import Proposal, dressed
from shoal.web.views.blocks import Block, blocks, entry, inserted, joined, repeated, with_section, with_sections

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

    if moved:
        text = _brought(_left(with_section(text, ("roles",), change), moved), moved, facts)
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


# What may be said of a column only while it has one of these roles.
_SAID = {
    "hierarchies": ("quasi", "sensitive"), "columns": ("quasi", "sensitive", "neutral", "weight"),
    "policies": ("sensitive",),
}  # fmt: skip


def _left(text: str, moved: Mapping[str, str]) -> str:
    """What new roles leave behind, of all columns at once: a recipe is long where a table is wide."""
    for section, roles in _SAID.items():
        text = _forget(text, section, {name for name, role in moved.items() if role not in roles})
    gone = {name for name, role in moved.items() if role != "sensitive"}
    listed = [one.get("on", []) for one in models_of(text)]
    alone = [on if isinstance(on, str) else on[0] if len(on) == 1 else None for on in listed]
    return without_models(text, [place for place, on in enumerate(alone) if on in gone])


def _brought(text: str, moved: Mapping[str, str], facts: Mapping[str, Facts]) -> str:
    """What new roles bring with them, where nothing was said of it."""
    given = [(name, role) for name, role in moved.items() if name in facts]
    made = [dressed(Proposal(name=name, role=role, why="as you said"), facts[name]) for name, role in given]
    known = tomllib.loads(text)
    settings = {one.name: one.settings for one in made if one.settings and one.name not in known.get("columns", {})}
    trees = {
        one.name: one.tree for one in made if one.tree is not None and one.name not in known.get("hierarchies", {})
    }
    text = _with_hierarchies(_with_settings(text, settings), trees)
    models = models_of(text)
    more: list[Mapping[str, Any]] = []
    for one in made:
        if one.model is not None and not _guarded([*models, *more], one.name):
            more.append(one.model)
    return _with_more(text, more)


def _forget(text: str, section: str, names: Collection[str]) -> str:
    """The recipe without what a section says of some columns."""
    said = tomllib.loads(text).get(section, {})
    if not any(name in said for name in names):
        return text
    parts = blocks(text)
    own = {one.path[1] for one in parts if len(one.path) > 1 and one.path[0] == section and one.path[1] in names}
    if own:
        text = joined([one for one in parts if one.path[:1] != (section,) or not set(one.path[1:2]) & own])
    inner = [name for name in names if name in said and name not in own]

    def change(table: Any) -> None:
        for name in inner:
            table.pop(name, None)

    return with_section(text, (section,), change) if inner else text


def models_of(text: str) -> list[dict[str, Any]]:
    """Models that the recipe itself asks for, without those of its profile."""
    return [dict(one) for one in tomllib.loads(text).get("models", [])]


def _guarded(models: Iterable[Mapping[str, Any]], name: str) -> bool:
    """Whether a model on values looks at a column already."""
    valued = [one for one in models if one.get("name") != "k"]
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
    return _with_settings(text, changes)


def _with_settings(text: str, wanted: Mapping[str, Mapping[str, Any]]) -> str:
    """The recipe with other settings of some columns; None removes one."""

    def changing(settings: Mapping[str, Any]) -> Callable[[Any], None]:
        def change(table: Any) -> None:
            for key, value in settings.items():
                if value is None:
                    table.pop(key, None)
                else:
                    table[key] = value

        return change

    return with_sections(text, {("columns", name): changing(one) for name, one in wanted.items()})


def with_hierarchy(text: str, name: str, tree: str | Mapping[str, Any] | None, type: str | None = None) -> str:
    """The recipe with a hierarchy for a column, by rule or as a file; None leaves two levels."""
    text = _with_hierarchies(text, {name: tree})
    return text if type is None else _with_settings(text, {name: {"type": type}})


def _with_hierarchies(text: str, trees: Mapping[str, str | Mapping[str, Any] | None]) -> str:
    def change(table: Any) -> None:
        for name, tree in trees.items():
            if tree is None:
                table.pop(name, None)
            else:
                table[name] = tree if isinstance(tree, str) else entry(dict(tree))

    own = {one.path[1] for one in blocks(text) if len(one.path) > 1 and one.path[0] == "hierarchies"} & set(trees)
    text = _forget(text, "hierarchies", own) if own else text
    return with_section(text, ("hierarchies",), change) if trees else text


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
    if place is None:
        return _with_more(text, [model])
    text = _with_blocks(text)
    parts, (at,) = blocks(text), _places(text, [place])
    parts[at] = parts[at].changed(_exactly(model))
    return joined(parts)


def _with_more(text: str, models: Sequence[Mapping[str, Any]]) -> str:
    made = [Block("", "[[models]]\n", "").changed(_exactly(one)) for one in models]
    return inserted(_with_blocks(text), made) if made else text


def without_model(text: str, place: int) -> str:
    """The recipe with a model less, and the comment above it."""
    return without_models(text, [place])


def without_models(text: str, places: Sequence[int]) -> str:
    """The recipe with some models less."""
    if not places:
        return text
    text = _with_blocks(text)
    gone = _places(text, places)
    return joined([one for at, one in enumerate(blocks(text)) if at not in gone])


def _places(text: str, wanted: Sequence[int]) -> set[int]:
    """Which blocks some models are."""
    places = repeated(text, "models")
    if not all(0 <= place < len(places) for place in wanted):
        raise RecipeError("There is no such model in the recipe any more: look at the page again.")
    return {places[place] for place in wanted}


def _with_blocks(text: str) -> str:
    """The same where models are a block each, and not a list in one line or spread over headings of their own."""
    models, parts = models_of(text), blocks(text)
    if len(repeated(text, "models")) != len(models) or (not models and "models" in tomllib.loads(text)):
        text = update_recipe(text, {"models": None})
        return inserted(text, [Block("", "[[models]]\n", "").changed(_exactly(one)) for one in models])
    if not any(one.path[:1] == ("models",) and len(one.path) > 1 for one in parts):
        return text
    kept = [one for one in parts if one.path[:1] != ("models",) or len(one.path) == 1]
    places = [place for place, one in enumerate(kept) if one.repeated and one.path == ("models",)]
    for place, model in zip(places, models, strict=True):
        kept[place] = kept[place].changed(_exactly(model))
    return joined(kept)


def with_profile(text: str, profile: str) -> str:
    """The recipe with another profile; with none where its name is empty."""
    if tomllib.loads(text).get("profile", "") == profile:
        return text

    def change(top: Any) -> None:
        if profile:
            top["profile"] = profile
        else:
            top.pop("profile", None)

    return with_section(text, (), change)


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
