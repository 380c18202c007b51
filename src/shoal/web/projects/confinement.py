"""Recipes that reach nothing but their own project: every path in it, and no database but those that are offered."""

from __future__ import annotations

import glob
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from shoal.errors import RecipeError
from shoal.io.databases import without_password
from shoal.recipe.recipe import Recipe, parse_recipe
from shoal.recoding.kinds import Trait
from shoal.registry import load
from shoal.web.settings import Offer

MOST = 1 << 20  # characters
_ADDRESS = re.compile(r"[A-Za-z][\w+.-]*:")  # such as file: and s3a:, which readers take for another place
# What is drawn, and undone by whoever can draw it again.
_DRAWN = (Trait.CODES, Trait.NOISE, Trait.PERTURBED, Trait.GROUPS)
# Entries that something is written to; what is offered is there to be read.
_WRITTEN = ("engine.scratch", "registry.file", "output.folder", "output.vault", "output.log")


def parse_confined(text: str, folder: Path, offers: Sequence[Offer] = ()) -> Recipe:
    """A recipe that was written by somebody in a browser, refused where it reaches beyond the project."""
    if len(text) > MOST:
        raise RecipeError("The recipe is larger than a MiB: keep lists of values in files of their own.")
    recipe = parse_recipe(text.replace("\r\n", "\n"), folder)
    for where, path in paths_of(recipe):
        if path.count("**") > 1:  # each of which goes through all folders for all that the others found
            raise RecipeError(f"The pattern in '{where}' has '**' more than once: one stands for folders of any depth.")
        try:
            inside = is_inside(folder, path, () if where in _WRITTEN else offers)
        except OSError:
            raise RecipeError(f"The path in '{where}' cannot be that of a file: it is too long, or a loop.") from None
        if not inside:
            raise RecipeError(f"The path in '{where}' leads out of the project: name a file that was uploaded to it.")
    if recipe.source.path is None and offer_of(recipe, offers) is None:
        raise RecipeError("The database in 'source' is not offered by this server: choose one of those that are.")
    if recipe.engine.name == "spark":
        raise RecipeError(
            "The engine 'spark' reads whatever its cluster reaches, and is not for the server: choose 'memory' or "
            "'duckdb'."
        )
    if recipe.output.table is not None:
        raise RecipeError("The server writes no table of a database: remove 'table' from [output].")
    _refuse_entries(recipe)
    _refuse_seed(recipe)
    return recipe


def _refuse_entries(recipe: Recipe) -> None:
    """Refuse names of entries in a vault: the server keeps what undoes a release by the release."""
    codes = recipe.output.codes
    if codes is not None and not codes.endswith(".json"):
        raise RecipeError(
            "The 'codes' in [output] name an entry of a vault, and projects have none here: upload the codes of the "
            "earlier release, as the page of its answers exports them, and name that .json file."
        )
    if recipe.output.token_key is not None:
        raise RecipeError(
            "The 'token_key' in [output] names an entry of a vault, and projects have none here: remove it; every "
            "release gets tokens of its own."
        )


def _refuse_seed(recipe: Recipe) -> None:
    """Refuse a seed by which codes, shifts or noise are drawn again: recipes are not sealed, and those are."""
    if recipe.seed is None:
        return
    own = any(entry.code is not None or entry.shift is not None for entry in recipe.columns.values())
    kind = load("algorithm", recipe.algorithm["name"]).kind
    if own or recipe.roles.pseudonym or any(kind.has(trait) for trait in _DRAWN):
        raise RecipeError(
            "The 'seed' of the recipe gives away what this release is coded or redrawn by, and recipes lie open on "
            "the server: remove it."
        )


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


def is_inside(folder: Path, path: str, offers: Sequence[Offer]) -> bool:
    """Whether a path, or all that a pattern or folder stands for, is in a folder or an offer, links followed."""
    if _ADDRESS.match(path):
        return False
    place, own = folder / path, folder.resolve()
    lent = [Path(one.place).resolve() for one in offers if not one.in_database]
    if not _within(place, [own, *lent]):
        return False
    if place.is_dir():
        links: Iterable[Path] = () if _within(place, lent) else (one for one in place.rglob("*") if one.is_symlink())
        return all(one.is_dir() or _within(one, [own, *lent]) for one in links)  # folders behind links are not entered
    if place.exists() or not glob.has_magic(str(path)):
        return True
    # What is above a link is known only where the pattern has been filled in.
    return ".." not in Path(path).parts and all(
        _within(Path(one), [own, *lent]) for one in glob.iglob(str(place), recursive=True)
    )


def _within(place: Path, allowed: Sequence[Path]) -> bool:
    return any(place.resolve().is_relative_to(one) for one in allowed)


def offer_of(recipe: Recipe, offers: Sequence[Offer]) -> Offer | None:
    """The offer that a recipe's database is; neither its password nor another table is taken from the recipe."""
    source = recipe.source
    for one in offers:
        if one.in_database and without_password(one.place) == source.url and one.table == source.table:
            return one if source.query is None else None
    return None
