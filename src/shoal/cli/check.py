"""``shoal check``: a recipe, its source and its models, before anything runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli.options import Json, Replace
from shoal.cli.show import error_data, model_label, say, show_error, show_json, show_table, steps, target_label


def check(
    recipe: Annotated[Path, typer.Argument(metavar="RECIPE", help="A recipe file (TOML).", show_default=False)],
    replace: Replace = False,
    as_json: Json = False,
) -> None:
    """Look at a recipe before anything runs: keys, columns, roles, hierarchies, models. Writes nothing."""
    with steps() as step:
        step("loading")
        from shoal.recipe.recipe import load_recipe
        from shoal.recipe.source import settled
        from shoal.release.check import examine

        data, problems = examine(settled(load_recipe(recipe)), step, replace=replace)
    if problems:
        first = problems[0]
        data["error"] = error_data(type(first).__name__, str(first), first.exit_code)
    if as_json:
        show_json(data)
    else:
        _show(data)
        if problems:
            show_error(str(problems[0]))
    if problems:
        raise typer.Exit(problems[0].exit_code)


def _show(data: dict[str, Any]) -> None:
    from shoal.release.check import findings

    if "rows" not in data:
        say(*findings(data))
        return
    people = "" if data["people"] is None else f" about {data['people']:,} people"
    dropped = f" ({data['rows_dropped']:,} more dropped for missing cells)" if data["rows_dropped"] else ""
    say(f"{data['rows']:,} rows{people}{dropped}")
    headings = ["column", "role", "type", "kind", ">distinct", ">missing", ">levels", ">leaves"]
    show_table(headings, [_row(entry) for entry in data["columns"]])
    say(f"Algorithm: {model_label({key: entry for key, entry in data['algorithm'].items() if key != 'rules'})}")
    for rule in data["rules"]:
        say(f"Rule: {rule}")
    for model in data["models"]:
        on = f" on {target_label(model['name'], model['on'])}" if "on" in model else ""
        say(f"Model: {model_label(model)}{on}")
    say(*findings(data))


def _row(entry: dict[str, Any]) -> list[str]:
    tree = entry["hierarchy"] or {}
    shown = [entry["name"], entry["role"], entry["type"] or "-", entry["kind"] or "-"]
    shown += ["–" if entry[key] is None else f"{entry[key]:,}" for key in ("distinct", "missing")]
    return shown + [f"{tree[key]:,}" if tree else "-" for key in ("height", "leaves")]
