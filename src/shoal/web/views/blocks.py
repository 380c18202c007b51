"""A recipe's text in blocks, one a heading, so that what stands above a heading goes with it.

TOML's editors take a comment above ``[[models]]`` for the end of what comes before. To people it is the beginning of
what comes after, and it has to stay with that when a block comes or goes.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import tomlkit

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
