"""Tables of any tool in the hands of an engine, their cells as they stand: files, tables of a database, releases."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from shoal.data.keys import Keys
from shoal.engines.base import OpenRows
from shoal.engines.postgres import connected
from shoal.errors import SchemaError
from shoal.io.batches import Batches
from shoal.io.databases import Relation
from shoal.params import nearest
from shoal.recipe.recipe import Recipe
from shoal.release.capabilities import refuse_misplaced
from shoal.release.entry import engine_of, source_of
from shoal.release.prepare import Progress
from shoal.risk.audit import Standing
from shoal.verify.folder import open_folder

Cleaning = Callable[[pl.DataFrame], pl.DataFrame]


@dataclass(frozen=True, eq=False, kw_only=True)
class Released:
    """A written release as a source, which is read to its end so that its hash can be trusted.

    Attributes
    ----------
    clean
        What to do with every batch: suppressed rows go, missing cells become null.
    """

    folder: Path
    clean: Cleaning
    told = "a release"

    @property
    def name(self) -> str:
        """What it is called."""
        return self.folder.resolve().stem

    def stamp(self) -> dict[str, Any]:
        """What tells another release from this one: the manifest, which has the hash of all that is read."""
        return {"manifest": (self.folder / "manifest.json").read_text("utf-8")}

    @cached_property
    def names(self) -> list[str]:
        """The columns of its data: some may be in a table of their own."""
        return next(open_folder(self.folder)[0]["release"]).columns

    def frames(
        self, wanted: Sequence[str] | None = None, held: Collection[str] = (), hashed: Sequence[str] = ()
    ) -> Iterator[pl.DataFrame]:
        """Its rows in batches, all texts one by one."""
        for frame in open_folder(self.folder)[0]["release"]:
            found = self.clean(frame)
            if found.height:
                yield found if wanted is None else found.select(wanted)


@contextmanager
def opened_standing(
    recipe: Recipe, standing: Standing, progress: Progress, source: Released | None = None
) -> Iterator[OpenRows]:
    """The rows of a source, coded as they stand.

    Parameters
    ----------
    recipe
        Says where the rows are, if no ``source`` does, and which engine keeps them.
    """
    refuse_misplaced(recipe)
    with nullcontext(source) if source is not None else source_of(recipe) as found:
        names = _names(found)
        roles = standing.schema.roles()
        _refuse_unknown(list(roles), names)
        # Columns without a role are not looked at.
        rest = [*standing.schema.drop, *(name for name in names if name not in roles)]
        with engine_of(recipe).opened(
            found, replace(standing.schema, drop=rest), standing.table, Keys.from_seed(recipe.seed), missing="value",
            name=None, progress=progress,
        ) as rows:  # fmt: skip
            yield rows.knowing(replace(rows.domain, name=None))


def names_of(recipe: Recipe) -> list[str]:
    """The columns of the source of a recipe."""
    refuse_misplaced(recipe)
    with source_of(recipe) as found:
        return _names(found)


def _names(found: Any) -> list[str]:
    """The columns of a source: files and releases know them, a database is asked, a frame of Spark has them."""
    if isinstance(found, Batches | Released):
        return found.names
    if isinstance(found, Relation):
        with connected(found.url) as database:
            return database.names(found)
    return list(found.frame.columns)


def _refuse_unknown(wanted: Sequence[str], names: Sequence[str]) -> None:
    for name in wanted:
        if name not in names:
            near = nearest(name, names)
            hint = f"Did you mean '{near}'?" if near else f"The columns are: {', '.join(names)}."
            raise SchemaError(f"There is no column '{name}' in the table. {hint}")
