"""Settings and figures in words, taken from where they are defined: docstrings and the catalogue."""

from __future__ import annotations

import inspect
import re
from typing import Any

from shoal.catalogue import summary, working

_SECTION = re.compile(r"^(?:Parameters|Attributes)\n-+\n(.*?)(?=^\S[^\n]*\n-{3,}$|\Z)", re.MULTILINE | re.DOTALL)
_ENTRY = re.compile(r"^(\S[^\n]*)\n((?:[ \t]+[^\n]*\n?|\n(?=[ \t]))+)", re.MULTILINE)


def settings_told(cls: Any) -> dict[str, str]:
    """What each parameter of a class means, as its docstring or that of a class above it says."""
    found: dict[str, str] = {}
    for one in reversed(cls.__mro__):
        section = _SECTION.search(inspect.cleandoc(one.__dict__.get("__doc__") or ""))
        for names, text in _ENTRY.findall(section[1]) if section else ():
            words = " ".join(text.replace("``", "").split())
            found |= {name.strip(): words for name in names.partition(":")[0].split(",")}
    return found


def figures_told(names: list[str]) -> tuple[tuple[str, str], ...]:
    """What measures and attacks tell, by the names of their figures; what nobody describes is left out."""
    found: dict[str, str] = {}
    for name in names:
        known = name.partition(":")[0]
        kind = next((kind for kind in ("measure", "attack") if known in working(kind)), None)
        found |= {} if kind is None else {name: summary(kind, known)}
    return tuple(found.items())
