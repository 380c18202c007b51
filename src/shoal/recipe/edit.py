"""Edit the text of a recipe in blocks, one a heading, so that comments above a heading go with it.

TOML's editors take a comment above ``[[models]]`` for the end of what comes before. To people it is the beginning of
what comes after, and it has to stay with that when a block comes or goes.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import tomlkit

from shoal.errors import RecipeError
from shoal.recipe.column_profile import Facts
from shoal.recipe.recipe import parse_recipe
from shoal.recipe.roles import Proposal, dressed

Change = Callable[[Any], None]
_HEADING = re.compile(r"[ \t]*\[(\[?)[^\n]*\]?\][ \t]*(#[^\n]*)?\r?\n?")
# Texts and comments, in which nothing means anything, and what does outside of them.
_TOKEN = re.compile(
    r'''"""(?:\\.|[^\\])*?"{3,5}|\'{3}.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*|[\[\]{}\n]''', re.DOTALL
)


@dataclass(frozen=True)
class Block:
    """Lines of a recipe: comments right above a heading, the heading, and what stands below it.

    Attributes
    ----------
    path
        The names in the heading, such as ``("columns", "age")``; empty at the top.
    """

    lead: str
    heading: str
    body: str
    path: tuple[str, ...]

    @property
    def text(self) -> str:
        return self.lead + self.heading + self.body

    @property
    def repeated(self) -> bool:
        """Whether it is one of several, ``[[models]]``."""
        return self.heading.lstrip().startswith("[[")

    def changed(self, change: Change) -> Block:
        """Change the body."""
        inner = tomlkit.parse(self.body)
        change(inner)
        return replace(self, body=tomlkit.dumps(inner))


def blocks(text: str) -> list[Block]:
    """Cut a recipe into blocks, whose texts make up the recipe."""
    parts = list(_parts(text))
    found: list[Block] = []
    lead = ""
    for place, (path, lines) in enumerate(parts):
        heading, rest = ("", lines) if place == 0 else (lines[0], lines[1:])
        at = len(rest)
        while place < len(parts) - 1 and at > 0 and rest[at - 1].lstrip().startswith("#"):
            at -= 1
        found.append(Block(lead, heading, "".join(rest[:at]), path))
        lead = "".join(rest[at:])
    return found


def _parts(text: str) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """Give lines from heading to heading; a line that only looks like one, in a list or a text, is none."""
    free, depth = {0}, 0  # where lines begin that are inside no text and no brackets
    for found in _TOKEN.finditer(text):
        if found[0] == "\n" and depth == 0:
            free.add(found.end())
        depth = max(depth + (found[0] in ("[", "{")) - (found[0] in ("]", "}")), 0)
    path: tuple[str, ...] = ()
    lines: list[str] = []
    at = 0
    for line in text.split("\n"):
        names = _names(f"{line}\n") if at in free else None
        if names is not None:
            yield path, lines
            path, lines = names, []
        lines.append(f"{line}\n")
        at += len(line) + 1
    lines[-1] = lines[-1][:-1]  # behind the last break there is no other
    yield path, lines


def _names(line: str) -> tuple[str, ...] | None:
    """The names in a heading, None of other lines."""
    try:
        inner: Any = tomllib.loads(line) if _HEADING.fullmatch(line) else None
    except tomllib.TOMLDecodeError:
        return None
    names: list[str] = []
    while inner:
        inner = inner[0] if isinstance(inner, list) else inner
        names += inner
        inner = inner[names[-1]] if inner else None
    return tuple(names) or None


def joined(parts: Iterable[Block]) -> str:
    """Put blocks together."""
    return "".join(one.text for one in parts)


def with_section(text: str, path: tuple[str, ...], change: Change) -> str:
    """Change a table of a recipe, which is made where there is none; a table that is left empty goes.

    No path stands for what is said above all headings.
    """
    return with_sections(text, {path: change})


def with_sections(text: str, changes: Mapping[tuple[str, ...], Change]) -> str:
    """Change many tables, at the cost of reading the recipe once."""
    parts, written = blocks(text), tomllib.loads(text)
    places = {one.path: place for place, one in reversed([*enumerate(parts)]) if not one.repeated}
    above = {one.path[:depth] for one in parts for depth in range(1, len(one.path))}
    # What belongs to a table that stands in one line, such as columns = {}, can have no heading.
    top = tomlkit.parse(parts[0].body)
    lined = {key for key, value in top.items() if isinstance(value, tomlkit.items.InlineTable)}
    fresh: list[Block] = []
    odd: list[tuple[tuple[str, ...], Change]] = []
    for path, change in changes.items():
        if path in places and path not in above:  # else what changes may stand under a heading of its own
            parts[places[path]] = _kept(parts[places[path]].changed(change), alone=len(parts) == 1)
        elif path[0] in lined or path[-1] in (written.get(path[0], {}) if path[1:] else written):  # written otherwise
            odd.append((path, change))
        else:
            made = _block("[{}]\n", path, change)
            fresh += [made] if tomllib.loads(made.body) else []
    text = _with_odd(joined(parts), odd)
    for head in dict.fromkeys(one.path[0] for one in fresh):
        text = _inserted(text, [one for one in fresh if one.path[0] == head])
    return text


def _kept(made: Block, alone: bool) -> Block:
    """Drop a block in which nothing is left, and leave a blank line below what stands at the top."""
    if made.heading:
        return made if tomllib.loads(made.body) else Block("", "", "", ())
    return replace(made, body=f"{made.body}\n") if made.body and not alone and made.body[-2:] != "\n\n" else made


def _block(heading: str, path: tuple[str, ...], change: Change) -> Block:
    names = ".".join(tomlkit.key(key).as_string() for key in path)
    return Block("", heading.format(names), "", path).changed(change)


def _with_odd(text: str, changes: Sequence[tuple[tuple[str, ...], Change]]) -> str:
    """Change tables that have no heading of their own."""
    if not changes:
        return text
    document = tomlkit.parse(text)
    for path, change in changes:
        inner: Any = document
        for key in path[:-1]:
            inner = inner[key]
        last = path[-1]
        if last not in inner:
            inner[last] = tomlkit.inline_table()
        change(inner[last])
        if isinstance(inner, tomlkit.items.InlineTable) and not inner[last]:
            del inner[last]
    return tomlkit.dumps(document)


def entry(value: Any) -> Any:
    """Make a value as it is written behind a key: a table in it stands in one line, and under no heading."""
    holder = tomlkit.inline_table()
    holder["entry"] = value
    return holder["entry"]


def merging(values: Mapping[str, Any], *, alone: bool = False) -> Change:
    """A change that sets some entries of a table, where None removes one; ``alone`` leaves no others in it."""

    def change(table: Any) -> None:
        gone = [key for key in table if key not in values] if alone else []
        for key in [*gone, *(key for key, value in values.items() if value is None)]:
            table.pop(key, None)
        for key, value in values.items():
            if value is not None and (key not in table or table[key] != value):
                table[key] = entry(value)

    return change


def update_recipe(text: str, changes: Mapping[str, Any]) -> str:
    """Change entries of a recipe's text and keep everything else, comments included.

    Parameters
    ----------
    changes
        As nested as the recipe: tables are merged entry by entry (``models`` is replaced whole), and None
        removes an entry.
    """
    parse_recipe(text)
    for key, value in changes.items():
        if key == "models":
            known = models_of(text)
            text = text if value == known else with_models(text, dict.fromkeys(range(len(known))), value or ())
        elif key in ("columns", "policies") and value is not None:
            text = _forget(text, key, [name for name, one in value.items() if one is None])
            text = with_sections(text, {(key, name): merging(one) for name, one in value.items() if one is not None})
        elif isinstance(value, Mapping):
            text = with_section(text, (key,), merging(value))
        else:
            text = joined(one for one in blocks(text) if one.path[:1] != (key,))
            text = with_section(text, (), merging({key: value}))
    parse_recipe(text)
    return text


_ORDER = (
    "source", "roles", "columns", "hierarchies", "weights", "workload", "research", "policies", "limits", "models",
    "algorithm", "engine", "registry", "review", "output", "compare",
)  # fmt: skip


def _inserted(text: str, made: Sequence[Block]) -> str:
    """Add blocks of one first name behind those that usually come before it, blank lines around each."""
    if not made:
        return text
    parts, name = blocks(text), made[0].path[0]
    before = set(_ORDER[: _ORDER.index(name) + 1]) if name in _ORDER else set(_ORDER)
    at = max((at for at, one in enumerate(parts, 1) if one.path and one.path[0] in before), default=len(parts))
    above, behind = joined(parts[:at]), joined(parts[at:])
    gap = "" if not above or above.endswith("\n\n") else "\n" if above.endswith("\n") else "\n\n"
    body = "\n".join(one.text if one.text.endswith("\n") else f"{one.text}\n" for one in made)
    return above + gap + body + ("\n" if behind and not behind.startswith("\n") else "") + behind


# ----------------------------------------
# Changes of a recipe's text that keep its comments: roles, types, hierarchies, models, profile, algorithm.


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
    """Remove what new roles leave behind, of all columns at once: a recipe is long where a table is wide."""
    for section, roles in _SAID.items():
        text = _forget(text, section, {name for name, role in moved.items() if role not in roles})
    gone = {name for name, role in moved.items() if role != "sensitive"}
    listed = [one.get("on", []) for one in models_of(text)]
    alone = [on if isinstance(on, str) else on[0] if len(on) == 1 else None for on in listed]
    return with_models(text, {place: None for place, on in enumerate(alone) if on in gone})


def _brought(text: str, moved: Mapping[str, str], facts: Mapping[str, Facts]) -> str:
    """Add what new roles bring with them, where nothing was said of it."""
    given = [(name, role) for name, role in moved.items() if name in facts]
    made = [dressed(Proposal(name=name, role=role, why="as you said"), facts[name]) for name, role in given]
    known = tomllib.loads(text)
    settings = {one.name: one.settings for one in made if one.settings and one.name not in known.get("columns", {})}
    trees = {one.name: one.tree for one in made if one.tree is not None}
    trees = {name: tree for name, tree in trees.items() if name not in known.get("hierarchies", {})}
    text = _with_hierarchies(_with_settings(text, settings), trees)
    models: list[Mapping[str, Any]] = list(models_of(text))
    known_models = len(models)
    for one in made:
        if one.model is not None and not any(_guards(model, one.name) for model in models):
            models.append(one.model)
    return with_models(text, {}, models[known_models:])


def _guards(model: Mapping[str, Any], name: str) -> bool:
    """Whether a model on values looks at a column."""
    on = model.get("on", [name])
    return model.get("name") != "k" and name in ([on] if isinstance(on, str) else on)


def _forget(text: str, section: str, names: Collection[str]) -> str:
    """Remove what a section says of some columns."""
    said = tomllib.loads(text).get(section, {})
    if not any(name in said for name in names):
        return text
    parts = blocks(text)
    own = {one.path[1] for one in parts if one.path[:1] == (section,) and one.path[1:2] and one.path[1] in names}
    text = joined(one for one in parts if one.path[:1] != (section,) or not own & set(one.path[1:2]))
    inner = dict.fromkeys(name for name in names if name in said and name not in own)
    return with_section(text, (section,), merging(inner)) if inner else text


def models_of(text: str) -> list[dict[str, Any]]:
    """Models that the recipe itself asks for, without those of its profile."""
    return [dict(one) for one in tomllib.loads(text).get("models", [])]


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
    return with_sections(text, {("columns", name): merging(one) for name, one in wanted.items()})


def with_hierarchy(text: str, name: str, tree: str | Mapping[str, Any] | None, type: str | None = None) -> str:
    """Give a column a hierarchy, by rule or as a file; None leaves two levels."""
    text = _with_hierarchies(text, {name: tree})
    return text if type is None else _with_settings(text, {name: {"type": type}})


def _with_hierarchies(text: str, trees: Mapping[str, str | Mapping[str, Any] | None]) -> str:
    own = {one.path[1] for one in blocks(text) if one.path[:1] == ("hierarchies",) and one.path[1:]} & set(trees)
    text = _forget(text, "hierarchies", own) if own else text
    return with_section(text, ("hierarchies",), merging(trees)) if trees else text


def with_models(
    text: str, changes: Mapping[int, Mapping[str, Any] | None], more: Sequence[Mapping[str, Any]] = ()
) -> str:
    """Change models by their places, where None removes one and the comment above it, and add more behind them."""
    known = models_of(text)
    if not all(0 <= place < len(known) for place in changes):
        raise RecipeError("There is no such model in the recipe any more: look at the page again.")
    if "models" in tomllib.loads(blocks(text)[0].body):  # in one line
        kept = [changes.get(place, one) for place, one in enumerate(known)]
        text = with_section(text, (), merging({"models": None}))
        changes, more = {}, [*(one for one in kept if one is not None), *more]
    parts: list[Block] = []
    place = -1
    for one in blocks(text):
        if one.path[:1] == ("models",):  # a table in a model may have a heading of its own, which follows
            place += len(one.path) == 1
            if place in changes:
                model = changes[place] if len(one.path) == 1 else None
                parts += [] if model is None else [one.changed(merging(model, alone=True))]
                continue
        parts.append(one)
    return _inserted(joined(parts), [_block("[[{}]]\n", ("models",), merging(one)) for one in more])


def with_model(text: str, model: Mapping[str, Any], place: int | None = None) -> str:
    """Add a model, or put it in the place of another."""
    return with_models(text, {}, [model]) if place is None else with_models(text, {place: model})


def without_model(text: str, place: int) -> str:
    """Remove a model."""
    return with_models(text, {place: None})


def with_profile(text: str, profile: str) -> str:
    """Choose another profile; none where its name is empty."""
    if tomllib.loads(text).get("profile", "") == profile:
        return text
    return with_section(text, (), merging({"profile": profile or None}))


def with_algorithm(text: str, algorithm: Mapping[str, Any]) -> str:
    """Choose another algorithm, or other parameters of it."""
    return with_section(text, ("algorithm",), merging(algorithm, alone=True))


def with_point(text: str, algorithm: Mapping[str, Any], models: Sequence[Mapping[str, Any]]) -> str:
    """Take algorithm and models of a point that was tried; models that stay keep their comments."""
    changes: dict[int, Mapping[str, Any] | None] = dict.fromkeys(range(len(models_of(text))))
    more = []
    for one in models:
        same = (
            place for place, other in enumerate(models_of(text))
            if changes[place] is None and (one["name"], one.get("on")) == (other["name"], other.get("on"))
        )  # fmt: skip
        place = next(same, None)
        if place is None:
            more.append(one)
        else:
            changes[place] = one
    return with_algorithm(with_models(text, changes, more), algorithm)
