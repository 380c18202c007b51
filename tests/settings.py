"""Write the names and types of the settings of `shoal.read`, which follow from the sections of a recipe.

    python -m tests.settings

Editors complete names from ``src/shoal/recipe/settings.py``; ``tests/test_python.py`` holds it equal to the sections.
"""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

from shoal.data.schema import Roles
from shoal.recipe.recipe import Recipe, Source

FILE = Path(__file__).resolve().parents[1] / "src/shoal/recipe/settings.py"
PLACES = {"path", "url", "table", "query"}  # the argument `source` of a call
HEAD = '''"""Settings of `shoal.read` by name, written by ``python -m tests.settings`` from the sections of a recipe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict

from shoal.data.sampling import Sampling
from shoal.data.schema import ColumnSpec
from shoal.data.workload import Workload


class ReadSettings(TypedDict, total=False):
    """Entries of [roles] and [source], and what stands under the headings of other sections."""

'''
# Sections that are entries of a call: their names there, and the objects that Python callers may give besides.
WHOLE = {
    "columns": ("settings", "Mapping[str, ColumnSpec | Mapping[str, Any]] | None"),
    "hierarchies": ("hierarchies", "Mapping[str, Any] | None"),
    "weights": ("weights", "Mapping[str, float] | None"),
    "policies": ("policies", "Mapping[str, Any] | None"),
    "workload": ("workload", "Workload | Mapping[str, Any] | None"),
    "research": ("research", "Mapping[str, Any] | None"),
    "sample": ("sample", "Sampling | Mapping[str, Any] | float | None"),
    "seed": ("seed", "int | None"),
}


def typed(annotation: Any) -> str:
    """An annotation of a section, with any sequence in the place of a list."""
    text = annotation if isinstance(annotation, str) else str(annotation)
    text = re.sub(r"Annotated\[((?:[^\[\],]|\[[^\]]*\])*),.*\]$", r"\1", text.replace("typing.", ""))
    text = re.sub(r"<class '(\w+)'>", r"\1", text)
    return re.sub(r"\blist\[", "Sequence[", re.sub(r"\bNames\b", "Sequence[str]", text)).replace("'", '"')


def text() -> str:
    """The module."""
    found = {one.name: typed(one.type) for one in fields(Roles)}
    found |= {
        name: typed(field.annotation) for name, field in Source.model_fields.items() if name not in PLACES
    } | {"population": "Any"}  # a frame, too
    found |= dict(entry for name, entry in WHOLE.items() if name in Recipe.model_fields)
    found["base"] = "Path | None"
    return HEAD + "".join(f"    {name}: {kind}\n" for name, kind in found.items())


if __name__ == "__main__":
    FILE.write_text(text(), "utf-8")
