"""``shoal explain``: why a release is as it is, and what would have to change."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli.options import Json
from shoal.cli.show import say, share, show_json, show_table, steps
from shoal.errors import InputError

if TYPE_CHECKING:
    from shoal.release.explain import Explanation


def explain(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of a release.", show_default=False)],
    column: Annotated[
        str | None, typer.Argument(metavar="[COLUMN]", help="Only this column.", show_default=False)
    ] = None,
    recipe: Annotated[
        Path | None,
        typer.Option(metavar="RECIPE", help="Its recipe, where files have moved since.", show_default=False),
    ] = None,
    as_json: Json = False,
) -> None:
    """Say why a release is as it is, and what would have to change to keep more."""
    with steps() as step:
        step("loading")
        from shoal.recipe.recipe import load_recipe
        from shoal.release.explain import explain as explained

        given = None if recipe is None else load_recipe(recipe)
        found = explained(folder, recipe=given, progress=step)
    names = [one["column"] for one in found.columns]
    if column is not None and column not in names:
        raise InputError(f"There is no quasi-identifier '{column}' in '{folder}': it has {', '.join(names)}.")
    if as_json:
        show_json(found)
    else:
        _show(found, column)


def _show(found: Explanation, wanted: str | None) -> None:
    say(f"The release is {found.statement}.", *found.why)
    shown = [one for one in found.columns if wanted in (None, one["column"])]
    rows = []
    for one in shown:
        total = max(one["exact"] + one["coarser"] + one["everything"], 1)
        level = "-" if one["level"] is None else f"{one['level']} of {one['height']}"
        shares = [share(one[key] / total) for key in ("exact", "coarser", "everything")]
        rows.append((one["column"], level, *shares, f"{one['cells']:,}"))
    show_table(["column", ">level", ">one value", ">coarser", ">everything", ">cells"], rows)
    for one in shown:
        if found.advice[one["column"]]:
            say(f"To keep more of {one['column']}:", *(f"  - {line}" for line in found.advice[one["column"]]))
    say("This is for the publisher: it tells of suppressed people.")
