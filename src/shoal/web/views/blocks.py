"""A recipe's text in blocks, one a heading, so that what stands above a heading goes with it.

TOML's editors take a comment above ``[[models]]`` for the end of what comes before. To people it is the beginning of
what comes after, and it has to stay with that when a block comes or goes.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import tomlkit

_HEADING = re.compile(r"[ \t]*\[(\[?)[^\n]*\]?\][ \t]*(#[^\n]*)?\r?\n?")


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

    @property
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
    parts = list(_parts(text.splitlines(keepends=True)))
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


def _parts(lines: list[str]) -> Iterator[list[str]]:
    """Lines from heading to heading; a line that only looks like one, in a list or a text, is none."""
    current: list[str] = []
    for line in lines:
        if _HEADING.fullmatch(line) and _complete(line) and _complete("".join(current)):
            yield current
            current = []
        current.append(line)
    yield current


def _complete(text: str) -> bool:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


def joined(parts: list[Block]) -> str:
    """Blocks as a recipe again."""
    return "".join(one.text for one in parts)


def with_section(text: str, path: tuple[str, ...], change: Callable[[Any], None]) -> str:
    """A recipe with a table changed, which is made where there is none; a table that is left empty goes.

    No path stands for what is said above all headings.
    """
    parts = blocks(text)
    at = next((place for place, one in enumerate(parts) if one.path == path and not one.repeated), None)
    spread = bool(path) and any(one.path[: len(path)] == path and len(one.path) > len(path) for one in parts)
    if at is not None and not spread:  # else what changes may stand under a heading of its own
        made = parts[at].changed(change)
        if not path and made.body and len(parts) > 1 and not made.body.endswith("\n\n"):
            made = replace(made, body=f"{made.body}\n")
        parts[at : at + 1] = [made] if not path or tomllib.loads(made.body) else []
        return joined(parts)
    document = tomlkit.parse(text)
    inner: Any = document
    for key in path:
        inner = inner.get(key) if hasattr(inner, "get") else None
    if inner is not None:  # written in another way, such as in one line
        change(inner)
        return tomlkit.dumps(document)
    made = Block("", f"[{'.'.join(tomlkit.key(key).as_string() for key in path)}]\n", "").changed(change)
    return inserted(text, made, _after(parts, path)) if tomllib.loads(made.body) else text


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


def inserted(text: str, block: Block, place: int | None = None) -> str:
    """A recipe with a block more, blank lines around it."""
    parts = blocks(text)
    at = _after(parts, block.path) if place is None else place
    before, behind = joined(parts[:at]), joined(parts[at:])
    gap = "" if not before or before.endswith("\n\n") else "\n" if before.endswith("\n") else "\n\n"
    body = block.text if block.text.endswith("\n") else f"{block.text}\n"
    return before + gap + body + ("\n" if behind and not behind.startswith("\n") else "") + behind


def repeated(text: str, name: str) -> list[int]:
    """Places of the blocks ``[[name]]``."""
    return [place for place, one in enumerate(blocks(text)) if one.repeated and one.path == (name,)]
