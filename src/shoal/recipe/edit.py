"""A recipe's text in blocks, one a heading, so that what stands above a heading goes with it.

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
from shoal.recipe.recipe import parse_recipe, update_recipe
from shoal.recipe.roles import Proposal, dressed
from shoal.web.once import once

_HEADING = re.compile(r"[ \t]*\[(\[?)[^\n]*\]?\][ \t]*(#[^\n]*)?\r?\n?")
# Texts and comments, in which nothing means anything, and what does outside of them.
_TOKEN = re.compile(
    r'''"""(?:\\.|[^\\])*?"{3,5}|\'{3}.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*|[\[\]{}\n]''', re.DOTALL
)


@dataclass(frozen=True)
class Block:
    """Lines of a recipe: comments right above a heading, the heading, and what stands below it."""

    lead: str
    heading: str
    body: str

    @property
    def text(self) -> str:
        """All of it."""
        return self.lead + self.heading + self.body

    @once
    def path(self) -> tuple[str, ...]:
        """What the heading names, such as ``("columns", "age")``; empty at the top."""
        found: list[str] = []
        inner: Any = tomllib.loads(self.heading)
        while isinstance(inner, dict | list) and inner:
            inner = inner[0] if isinstance(inner, list) else inner
            if not inner:
                break
            key = next(iter(inner))
            found.append(key)
            inner = inner[key]
        return tuple(found)

    @property
    def repeated(self) -> bool:
        """Whether it is one of several, ``[[models]]``."""
        return self.heading.lstrip().startswith("[[")

    def changed(self, change: Callable[[Any], None]) -> Block:
        """The same with another body."""
        inner = tomlkit.parse(self.body)
        change(inner)
        return replace(self, body=tomlkit.dumps(inner))


def blocks(text: str) -> list[Block]:
    """The blocks of a recipe, whose texts make up the recipe."""
    parts = list(_parts(text))
    found: list[Block] = []
    lead = ""
    for place, lines in enumerate(parts):
        heading, rest = ("", lines) if place == 0 else (lines[0], lines[1:])
        kept, above = rest, []
        if place < len(parts) - 1:
            at = len(rest)
            while at > 0 and rest[at - 1].lstrip().startswith("#"):
                at -= 1
            kept, above = rest[:at], rest[at:]
        found.append(Block(lead, heading, "".join(kept)))
        lead = "".join(above)
    return found


def _parts(text: str) -> Iterator[list[str]]:
    """Lines from heading to heading; a line that only looks like one, in a list or a text, is none."""
    current: list[str] = []
    free, at = _free_lines(text), 0
    for line in text.split("\n"):
        line, start, at = f"{line}\n", at, at + len(line) + 1
        if start in free and _HEADING.fullmatch(line) and _complete(line):
            yield current
            current = []
        current.append(line)
    current[-1] = current[-1][:-1]  # behind the last break there is no other
    yield current


def _free_lines(text: str) -> set[int]:
    """Where lines begin that are inside no text and no brackets, found in one go however many look like headings."""
    free, depth = {0}, 0
    for found in _TOKEN.finditer(text):
        mark = found[0]
        if mark == "\n":
            free |= {found.end()} if depth == 0 else set()
        elif mark in "[{":
            depth += 1
        elif mark in "]}":
            depth = max(depth - 1, 0)
    return free


def _complete(text: str) -> bool:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


def joined(parts: list[Block]) -> str:
    """Blocks as a recipe again."""
    return "".join(one.text for one in parts)


Change = Callable[[Any], None]


def with_section(text: str, path: tuple[str, ...], change: Change) -> str:
    """A recipe with a table changed, which is made where there is none; a table that is left empty goes.

    No path stands for what is said above all headings.
    """
    return with_sections(text, {path: change})


def with_sections(text: str, changes: Mapping[tuple[str, ...], Change]) -> str:
    """The same for many tables, at the cost of reading the recipe once."""
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
        elif _holds(written, path) or path[0] in lined:  # written in another way
            odd.append((path, change))
        else:
            heading = f"[{'.'.join(tomlkit.key(key).as_string() for key in path)}]\n"
            made = Block("", heading, "").changed(change)
            fresh += [made] if tomllib.loads(made.body) else []
    text = _with_odd(joined(parts), odd)
    for head in dict.fromkeys(one.path[0] for one in fresh):
        text = inserted(text, [one for one in fresh if one.path[0] == head])
    return text


def _kept(made: Block, alone: bool) -> Block:
    """A block that was changed: nothing, where nothing is left in it; a blank line below what stands at the top."""
    if made.heading:
        return made if tomllib.loads(made.body) else Block("", "", "")
    return replace(made, body=f"{made.body}\n") if made.body and not alone and made.body[-2:] != "\n\n" else made


def _holds(written: Any, path: tuple[str, ...]) -> bool:
    for key in path:
        if not isinstance(written, dict) or key not in written:
            return False
        written = written[key]
    return True


def _with_odd(text: str, changes: Sequence[tuple[tuple[str, ...], Change]]) -> str:
    """Tables changed that have no heading of their own."""
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
    """A value as it is written behind a key: a table in it stands in one line, and under no heading."""
    holder = tomlkit.inline_table()
    holder["entry"] = value
    return holder["entry"]


_ORDER = (
    "source", "roles", "columns", "hierarchies", "weights", "workload", "research", "policies", "limits", "models",
    "algorithm", "engine", "registry", "review", "output", "compare",
)  # fmt: skip


def _after(parts: list[Block], path: tuple[str, ...]) -> int:
    """Where a new table goes: behind those that usually come before it."""
    before = set(_ORDER[: _ORDER.index(path[0]) + 1]) if path[0] in _ORDER else set(_ORDER)
    places = [place for place, one in enumerate(parts) if one.path and one.path[0] in before]
    return max(places, default=len(parts) - 1) + 1


def inserted(text: str, made: Sequence[Block]) -> str:
    """A recipe with blocks more, of one first name, blank lines around each."""
    if not made:
        return text
    parts = blocks(text)
    at = _after(parts, made[0].path)
    before, behind = joined(parts[:at]), joined(parts[at:])
    gap = "" if not before or before.endswith("\n\n") else "\n" if before.endswith("\n") else "\n\n"
    body = "\n".join(one.text if one.text.endswith("\n") else f"{one.text}\n" for one in made)
    return before + gap + body + ("\n" if behind and not behind.startswith("\n") else "") + behind


def repeated(text: str, name: str) -> list[int]:
    """Places of the blocks ``[[name]]``."""
    return [place for place, one in enumerate(blocks(text)) if one.repeated and one.path == (name,)]


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
