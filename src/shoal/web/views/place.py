"""Where a project's files are and what its recipe says, and that neither reaches outside the folder."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from shoal.errors import RecipeError
from shoal.io.recipes import Recipe, parse_recipe

FILES = "hierarchies"


@dataclass(frozen=True)
class Place:
    """A project's folder, which holds its source and hierarchies, and the text of its recipe."""

    folder: Path
    text: str

    @cached_property
    def recipe(self) -> Recipe:
        """The recipe, whose paths start from the folder and stay in it."""
        recipe = parse_recipe(self.text, self.folder)
        refuse_outside(recipe, self.folder)
        return recipe

    @property
    def source(self) -> Path:
        """The file that is read."""
        return self.recipe.resolve(self.recipe.source.file)

    @property
    def stamp(self) -> tuple[str, int, int]:
        """What tells that the file is the same as before."""
        known = self.source.stat()
        return str(self.source), known.st_mtime_ns, known.st_size

    def with_text(self, text: str) -> Place:
        """The same folder with another recipe."""
        return Place(self.folder, text)


def refuse_outside(recipe: Recipe, folder: Path) -> None:
    """Refuse a recipe that would read or write outside its project's folder."""
    root = folder.resolve()
    for what, path in _paths(recipe):
        if not (root / path).resolve().is_relative_to(root):
            raise RecipeError(f"The {what} of the recipe lies outside the project: upload the file, and name it alone.")


def _paths(recipe: Recipe) -> list[tuple[str, str]]:
    """Every file or folder that a recipe names, with what it is."""
    source, output = recipe.source, recipe.output
    found = [("path under [source]", source.path), ("population under [source]", source.population)]
    found += [
        (f"{key} under [output]", getattr(output, key)) for key in ("folder", "vault", "codes", "log")
    ]  # fmt: skip
    found.append(("scratch under [engine]", recipe.engine.scratch))
    found.append(("file under [registry]", None if recipe.registry is None else recipe.registry.file))
    found.append(("values under [research]", None if recipe.research is None else recipe.research.values))
    queries = None if recipe.workload is None else recipe.workload.queries
    found.append(("queries under [workload]", queries if isinstance(queries, str) else None))
    for name, entry in recipe.hierarchies.items():
        found.append((f"hierarchy of '{name}'", entry if isinstance(entry, str) else entry.get("path")))
    for name, policy in recipe.policies.items():
        found.append((f"policy of '{name}'", policy.ranges if isinstance(policy.ranges, str) else None))
    return [(what, path) for what, path in found if isinstance(path, str)]


def file_name(column: str) -> str:
    """A column as part of a file's name."""
    return re.sub(r"[^A-Za-z0-9]+", "-", column).strip("-").lower()[:40] or "column"
