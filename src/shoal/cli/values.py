"""``shoal values``: what every level of every column is worth to researchers, to look at and to edit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli.options import Json
from shoal.cli.show import figure, plain, say, show_json, show_table, steps

if TYPE_CHECKING:
    from shoal.recipe.recipe import Recipe
    from shoal.utility.research_table import ValuedLevel

_EXAMPLES = 3


def values(
    recipe: Annotated[Path, typer.Argument(metavar="RECIPE", help="A recipe file (TOML).", show_default=False)],
    csv: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv", help="Write the table, to edit and name under [research].", show_default=False
        ),
    ] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="Write a page, for yourself.", show_default=False)
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite earlier files.")] = False,
    as_json: Json = False,
) -> None:
    """List every level of a recipe's quasi-identifiers with labels, counts, research value and rules kept."""
    with steps() as step:
        step("loading")
        from shoal.io.private import check_private
        from shoal.recipe.recipe import load_recipe

        made = load_recipe(recipe)
        folder = made.resolve(made.output.folder)
        places = {
            suffix: check_private(file, suffix=suffix, replace=replace, release=folder)
            for suffix, file in ((".csv", csv), (".html", html))
            if file is not None
        }
        levels, warnings = _valued(made, step)
        title = made.source.title
        for suffix, place in places.items():
            step("writing")
            _write(suffix, place, levels, warnings, title)
    if as_json:
        files = {"csv": None if csv is None else str(csv), "html": None if html is None else str(html)}
        show_json({"levels": levels, "warnings": warnings, **files})
        return
    _show(levels)
    for sentence in warnings:
        say(f"Warning: {sentence}")
    for file in (csv, html):
        if file is not None:
            say(f"Private, not for publication: {file}")
    if csv is not None:
        say(f'To read it back, set values = "{csv.name}" under [research] in a recipe beside it.')


def _valued(recipe: Recipe, step: Callable[[str], None]) -> tuple[list[ValuedLevel], list[str]]:
    """Every level of the recipe's quasi-identifiers under its research values, and what to know about them."""
    from shoal.catalogue import make
    from shoal.release.run import open_rows
    from shoal.utility.research_table import researched, table_warnings, valued_levels

    algorithm = make("algorithm", recipe.algorithm)
    with open_rows(recipe, step) as rows:
        domain = researched(rows.domain, rows.joined, algorithm.research)
        return valued_levels(domain, rows.joined), table_warnings(domain, rows.joined)


def _write(suffix: str, place: Path, levels: list[ValuedLevel], warnings: list[str], title: str) -> None:
    from shoal.io.private import write_private
    from shoal.recipe.research_values import values_csv
    from shoal.reports.utility import values_html

    if suffix == ".csv":
        write_private(place, values_csv(levels))
    else:
        data: list[dict[str, Any]] = plain(levels)
        write_private(place, values_html(data, title=title, warnings=warnings))


def _show(levels: list[ValuedLevel]) -> None:
    headings = ["column", ">level", ">labels", "such as", ">fewest records", ">value", "", "rules kept"]
    show_table(headings, [_row(level) for level in levels])


def _row(level: ValuedLevel) -> tuple[str, ...]:
    shown = ", ".join(level.labels[:_EXAMPLES]) + (", ..." if len(level.labels) > _EXAMPLES else "")
    fewest = min((count for count in level.counts if count), default=0)
    kept = f"{len(level.kept)} of {level.rules}" if level.rules else "-"
    missing = f", not {_missing(level)}" if level.rules > len(level.kept) else ""
    return (
        level.column, str(level.level), f"{len(level.labels):,}", shown, f"{fewest:,}", figure(level.value),
        "by hand" if level.by_hand else "formula", kept + missing,
    )  # fmt: skip


def _missing(level: ValuedLevel) -> str:
    broken = dict.fromkeys(text for texts in level.breaks.values() for text in texts)
    return "; ".join(text.removeprefix(f"{level.column}: ") for text in broken)
