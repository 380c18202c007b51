"""Where a project's files are, and what its recipe says."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from shoal.errors import InputError
from shoal.io.recipes import Recipe, parse_recipe, update_recipe
from shoal.web.views.beginnings import beginning, refuse_large

FILES = "hierarchies"


@dataclass(frozen=True)
class Place:
    """A project's folder, which holds its source and hierarchies, and the text of a recipe that stays in it."""

    folder: Path
    text: str

    @cached_property
    def recipe(self) -> Recipe:
        """The recipe, whose paths start from the folder."""
        return parse_recipe(self.text, self.folder)

    @cached_property
    def head(self) -> Place:
        """The same over the beginning of the source, where that is too large for a page to read whole."""
        source = self.recipe.source
        path = None if source.path is None else self.recipe.resolve(source.path)
        part = None if path is None or not path.exists() else beginning(self.folder, path)
        if part is None:
            return self
        named = {"path": part.relative_to(self.folder).as_posix(), "name": source.title}
        return Place(self.folder, update_recipe(self.text, {"source": named}))

    @property
    def whole(self) -> bool:
        """Whether pages look at all of the source."""
        return self.head is self

    @property
    def stamp(self) -> tuple[str, int, int]:
        """What tells that the file is the same as before."""
        if self.recipe.source.path is None:
            raise InputError("The source is in a database, which pages do not look into: jobs do.")
        path = self.recipe.resolve(self.recipe.source.path)
        try:
            known = path.stat()
        except OSError:
            raise InputError("The data of this project are not there: upload them again.") from None
        refuse_large(path)
        return str(path), known.st_mtime_ns, known.st_size

    @property
    def files(self) -> tuple[int, ...]:
        """What tells that hierarchies and research values that the recipe names are the same as before."""
        recipe = self.recipe
        named = [one if isinstance(one, str) else one.get("path") for one in recipe.hierarchies.values()]
        named += [] if recipe.research is None else [recipe.research.values]
        paths = [recipe.resolve(one) for one in named if one]
        return tuple(one.stat().st_mtime_ns if one.exists() else 0 for one in paths)  # which the reader then misses


def file_name(column: str) -> str:
    """A column as part of a file's name."""
    return re.sub(r"[^A-Za-z0-9]+", "-", column).strip("-").lower()[:40] or "column"
