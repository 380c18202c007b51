"""``shoal compare``: algorithms and parameters of a recipe side by side."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli.options import Json, Seed
from shoal.cli.show import ARROWS, bar, say, share, show_error, show_json, show_table, steps
from shoal.errors import InputError, ParameterError
from shoal.grammar import pairs, typed_value

if TYPE_CHECKING:
    from shoal.release.compare.result import Comparison

# What a table of ours begins with, so that --replace never overwrites another file.
_FIRST = "point,algorithm,"


def _one(metavar: str, help: str, *names: str) -> Any:
    return typer.Option(*names, metavar=metavar, help=help, show_default=False)


def compare(
    recipe: Annotated[Path, typer.Argument(metavar="RECIPE", help="A recipe file (TOML).", show_default=False)],
    output: Annotated[Path | None, _one("FILE.html", "By default beside the recipe.", "--output", "-o")] = None,
    csv: Annotated[Path | None, _one("FILE.csv", "Write the table as well.", "--csv")] = None,
    algorithm: Annotated[
        list[str] | None,
        _one("NAME", "NAME [key=value ...], instead of the recipe's. Can be repeated.", "--algorithm"),
    ] = None,
    grid: Annotated[
        list[str] | None, _one("KEY=A,B,...", "Values of a parameter, such as k=2,5,10. Can be repeated.", "--grid")
    ] = None,
    utility: Annotated[str | None, _one("NAME", "The figure for utility, lm by default.")] = None,
    protection: Annotated[str | None, _one("NAME", "The figure for protection, mpm by default.")] = None,
    risk: Annotated[str | None, _one("NAME", "The measured risk, linkage:COLUMN by default.")] = None,
    processes: Annotated[
        int | None, typer.Option(metavar="NUMBER", min=1, help="One a core by default.", show_default=False)
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Compute every point anew.")] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite earlier files.")] = False,
    seed: Seed = None,
    as_json: Json = False,
) -> None:
    """Sweep algorithms and parameters, plot utility against protection and risk, and recommend a point. Private."""
    named = [_algorithm(text) for text in algorithm or ()] or None
    values = {key: _values(text) for key, text in pairs("--grid", grid).items()}
    with steps() as step:
        step("loading")
        from shoal.io.private import check_private, write_private
        from shoal.kernels.cores import cores
        from shoal.recipe.recipe import load_recipe
        from shoal.release.compare.result import comparison_data
        from shoal.release.compare.run import compare as sweep
        from shoal.reports.compare import compare_html

        made = load_recipe(recipe)
        file = output or recipe.with_suffix(".compare.html")
        folder = made.resolve(made.output.folder)
        place = check_private(file, suffix=".html", replace=replace, release=folder)
        work = check_private(place.with_suffix(".jsonl"), suffix=".jsonl", replace=True, release=folder)
        table = None if csv is None else _check_table(csv, folder, replace)
    try:
        with bar() as progress:
            found = sweep(
                made, algorithms=named, grid=made.compare.grid | values, utility=utility, protection=protection,
                risk=risk, seed=seed, work=work, fresh=fresh, processes=processes or cores(),
                progress=progress,
            )  # fmt: skip
    except KeyboardInterrupt:
        show_error(f"stopped: what was done is kept in '{work}', and the same command goes on from there.")
        raise
    data = comparison_data(found)
    title = made.source.title
    write_private(place, compare_html(data, title=title))
    if table is not None:
        write_private(table, found.frame.write_csv())
    if as_json:
        show_json({"file": str(file), "csv": None if csv is None else str(csv), **data})
    else:
        _show(found, data, title, [file, *([] if csv is None else [csv])])


def _algorithm(text: str) -> dict[str, Any]:
    """An algorithm as a recipe writes it, from ``NAME [key=value ...]``."""
    try:
        name, *words = shlex.split(text)
    except ValueError:
        raise ParameterError(f"--algorithm needs the form NAME [key=value ...]. Got '{text}'.") from None
    return {"name": name} | {key: typed_value(value) for key, value in pairs(f"--algorithm {name}", words).items()}


def _values(text: str) -> list[Any]:
    """Values with commas between them: numbers, texts, or whatever a recipe would have in the list."""
    found = typed_value(text if text.startswith("[") else f"[{text}]")
    return found if isinstance(found, list) else [typed_value(part.strip()) for part in text.split(",")]


def _check_table(path: Path, folder: Path, replace: bool) -> Path:
    """Where the table goes; an existing file must be such a table, because a source may end in .csv too."""
    from shoal.io.private import check_private

    place = check_private(path, suffix=".csv", replace=replace, release=folder)
    if place.exists() and place.read_bytes()[: len(_FIRST)] != _FIRST.encode():
        raise InputError(f"'{path}' is no table of a comparison: choose another name.")
    return place


def _show(found: Comparison, data: dict[str, Any], title: str, files: Sequence[Path]) -> None:
    say(f"{title}: {found.rows:,} rows, {len(found.entries)} points.", *found.notes)
    if found.reused:
        say(f"{found.reused} of the points were done before and were not computed again.")
    headings = [f">{axis.name} {ARROWS[axis.better]}" for axis in found.axes]
    headings += [f">{name} {ARROWS[better]}" for name, better in found.evaluated.items()]
    rows = [_row(point, data) for point in data["points"]]
    show_table(["", "point", *headings, ">suppressed", ">classes", ">seconds", "note"], rows)
    say("* no other point is better on all axes together; > recommended", "", found.recommendation)
    for file in files:
        say(f"Private, not for publication: {file}")


def _row(point: dict[str, Any], data: dict[str, Any]) -> list[str]:
    done = point["status"] == "done"
    mark = ">" if point["number"] == data["recommended"] else "*" if point["number"] in data["front"] else ""
    evaluated = ["-" if value is None else f"{value:.4g}" for value in point["evaluated"].values()]
    note = " ".join(filter(None, [point["reason"], *point["over"]]))
    return [
        mark, point["label"], *point["shown"].values(), *evaluated,
        share(point["suppressed"]) if done else "-", f"{point['classes']:,}" if done else "-",
        f"{point['seconds']:.2f}", note if done else f"{point['status']}: {note}",
    ]  # fmt: skip
