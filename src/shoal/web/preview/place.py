"""Where a project's files are, and what its recipe says."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from glob import has_magic
from pathlib import Path
from typing import Any, TypeVar

from shoal.errors import InputError, ShoalError
from shoal.recipe.recipe import Recipe, Source, parse_recipe
from shoal.web.preview.cache import apart, once, remembered, unreadable
from shoal.web.preview.head import beginning, is_large, refuse_large
from shoal.web.projects.confinement import paths_of

_T = TypeVar("_T")
FILES = "hierarchies"
_SMALL = 8 << 20  # bytes of a hierarchy, of research values and the like: more than a form takes
_WRITTEN = ("engine.", "registry.", "output.")  # entries that no page reads
_READ = ("source", "roles", "columns")


@dataclass(frozen=True)
class Place:
    """A project's folder, which holds its source and hierarchies, and the text of a recipe that stays in it."""

    folder: Path
    text: str

    @once
    def recipe(self) -> Recipe:
        """The recipe, whose paths start from the folder."""
        return _parsed(self.text, self.folder)

    @once
    def seen(self) -> Source:
        """What pages read: the source, or its beginning where it is large; a large population is left out."""
        source = self.recipe.source
        part = None if source.path is None else self._beginning(source.path)
        changed: dict[str, str | None] = {}
        if part is not None:
            changed |= {"path": part.relative_to(self.folder).as_posix(), "name": source.title}
        if source.population is not None and not self._is_small(source.population):
            changed["population"] = None  # it decides nothing that a page shows
        return source.model_copy(update=changed)

    def _beginning(self, named: str) -> Path | None:
        path = self.recipe.resolve(named)
        with _readable():
            return beginning(self.folder, path) if path.exists() else None

    def _is_small(self, named: str) -> bool:
        path = self.recipe.resolve(named)
        try:
            refuse_large(self.folder, path)
        except InputError:
            return False
        except OSError:  # which who reads it tells
            return True
        with _readable():
            return not (path.exists() and is_large(self.folder, path))

    @property
    def whole(self) -> bool:
        """Whether pages look at all of the source, as far as they can."""
        try:
            return self.seen.path == self.recipe.source.path
        except ShoalError:  # which the page tells
            return True

    @property
    def stamp(self) -> tuple[str, int, int]:
        """What tells that the file is the same as before."""
        if self.seen.path is None:
            raise InputError("The source is in a database, which pages do not look into: jobs do.")
        path = self.recipe.resolve(self.seen.path)
        with _readable():
            if path.is_dir() or (has_magic(self.seen.path) and not path.exists()):
                raise InputError("The source is a folder of files, which pages do not look into: jobs do.")
            if not path.exists():
                raise InputError("The data of this project are not there: upload them again.")
            known = path.stat()
            refuse_large(self.folder, path)
        return str(path), known.st_mtime_ns, known.st_size

    @property
    def files(self) -> tuple[int, ...]:
        """What tells that other files that the recipe names are the same as before, of which none may be large."""
        return tuple(self._file(where, named) for where, named in paths_of(self.recipe) if where != "source.path")

    def _file(self, where: str, named: str) -> int:
        path = self.recipe.resolve(named)
        with _readable():
            if where.startswith(_WRITTEN) or not path.exists():
                return 0  # which the reader then misses
            known = path.stat()
        if known.st_size > _SMALL and where != "source.population":
            raise InputError(
                f"The file '{path.name}' in '{where}' is larger than the {_SMALL >> 20} MiB that pages read, though "
                "jobs read more: shorten it to see it here."
            )
        return known.st_mtime_ns

    def carried(self, *parts: str) -> bytes:
        """What of the recipe decides what is read, for another process: source, roles, columns, and these parts."""
        told = {name: getattr(self.recipe, name) for name in (*_READ, *parts)}
        return pickle.dumps((told | {"source": self.seen}, self.folder))


    def read(self, make: Callable[..., _T], *given: Hashable, parts: Sequence[str] = ("hierarchies",)) -> _T:
        """Call a function in the sandbox with what is carried of the recipe, or remember what it returned."""
        return _read(str(self.folder), self.stamp, self.carried(*parts), self.files, make, given)  # type: ignore[no-any-return]


@remembered(64)
def _read(
    folder: str, stamp: tuple[str, int, int], told: bytes, files: tuple[int, ...], make: Any, given: tuple[Any, ...]
) -> Any:
    return apart(make, told, *given, within=folder)


@contextmanager
def _readable() -> Iterator[None]:
    """Tell what the system refuses in a sentence."""
    try:
        yield
    except OSError as error:
        raise unreadable(error) from None


_parsed = lru_cache(maxsize=32)(parse_recipe)  # which takes seconds where a recipe is long


def carried_recipe(told: bytes) -> Recipe:
    """The recipe of which somebody carried parts over."""
    parts, folder = pickle.loads(told)
    recipe = Recipe.model_validate(parts)
    recipe._base = folder
    return recipe


def file_name(column: str) -> str:
    """A column as part of a file's name."""
    return re.sub(r"[^A-Za-z0-9]+", "-", column).strip("-").lower()[:40] or "column"
