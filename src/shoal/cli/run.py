"""``shoal run``: carry out a recipe."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli.options import Json, Replace
from shoal.cli.show import show_json, steps
from shoal.cli.summary import release_data, show_release

if TYPE_CHECKING:
    from shoal.io.recipes import Recipe
    from shoal.results import Release


def run(
    recipe: Annotated[
        Path, typer.Argument(metavar="RECIPE", help="A recipe file (TOML).", show_default=False)
    ],
    replace: Replace = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Anonymise and gate, but write nothing.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Carry out a recipe: read, anonymise, gate, write."""
    release, folder = carry_out(recipe, replace=replace, dry_run=dry_run)
    if as_json:
        show_json(release_data(release, folder))
    else:
        show_release(release, folder)


def carry_out(
    recipe: Recipe | Path, *, replace: bool = False, dry_run: bool = False
) -> tuple[Release, Path | None]:
    """The release of a recipe, and the folder it was written to (None in a dry run)."""
    with steps() as step:
        step("loading")
        from shoal import pipeline
        from shoal.io.recipes import load_recipe

        if isinstance(recipe, Path):
            recipe = load_recipe(recipe)
        if dry_run:
            return pipeline.anonymize_recipe(recipe, progress=step), None
        return pipeline.run(recipe, replace=replace, progress=step), recipe.resolve(recipe.output.folder)
