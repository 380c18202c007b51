"""Recipes that reach nothing but their own project: every path in it, and no database but those that are offered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from shoal.errors import RecipeError
from shoal.io.recipes import Recipe, parse_recipe
from shoal.io.relations import without_password
from shoal.web.settings import Offer

MOST = 1 << 20  # characters
# Entries that something is written to; what is offered is there to be read.
_WRITTEN = ("engine.scratch", "registry.file", "output.folder", "output.vault", "output.log")


def parse_confined(text: str, folder: Path, offers: Sequence[Offer] = ()) -> Recipe:
    """A recipe that was written by somebody in a browser, refused where it reaches beyond the project."""
    if len(text) > MOST:
        raise RecipeError("The recipe is larger than a MiB: keep lists of values in files of their own.")
    recipe = parse_recipe(text.replace("\r\n", "\n"), folder)
    for where, path in paths_of(recipe):
        if not _inside(folder, path, () if where in _WRITTEN else offers):
            raise RecipeError(f"The path in '{where}' leads out of the project: name a file that was uploaded to it.")
    source = recipe.source
    if source.url is not None and offer_of(recipe, offers) is None:
        raise RecipeError("The database in 'source' is not offered by this server: choose one of those that are.")
    if recipe.output.table is not None:
        raise RecipeError("The server writes no table of a database: remove 'table' from [output].")
    return recipe


def paths_of(recipe: Recipe) -> Iterator[tuple[str, str]]:
    """Every path that a recipe holds, and the entry that it stands in."""
    single = {
        "source.path": recipe.source.path,
        "source.population": recipe.source.population,
        "engine.scratch": recipe.engine.scratch,
        "registry.file": None if recipe.registry is None else recipe.registry.file,
        "research.values": None if recipe.research is None else recipe.research.values,
        **{f"output.{key}": getattr(recipe.output, key) for key in ("folder", "vault", "codes", "log")},
    }
    if recipe.workload is not None and isinstance(recipe.workload.queries, str):
        single["workload.queries"] = recipe.workload.queries
    for column, entry in recipe.hierarchies.items():
        single[f"hierarchies.{column}"] = entry.get("path") if isinstance(entry, dict) else entry
    for column, policy in recipe.policies.items():
        single[f"policies.{column}"] = policy.ranges if isinstance(policy.ranges, str) else None
    for where, path in single.items():
        if isinstance(path, str):
            yield where, path


def _inside(folder: Path, path: str, offers: Sequence[Offer]) -> bool:
    """Whether a path stays in a folder, followed through links, or is that of an offer."""
    place = (folder / path).resolve()
    allowed = [folder.resolve(), *(Path(one.place).resolve() for one in offers if not one.in_database)]
    return any(place.is_relative_to(one) for one in allowed)


def offer_of(recipe: Recipe, offers: Sequence[Offer]) -> Offer | None:
    """The offer that a recipe's database is; neither its password nor another table is taken from the recipe."""
    source = recipe.source
    for one in offers:
        if one.in_database and without_password(one.place) == source.url and one.table == source.table:
            return one if source.query is None else None
    return None
