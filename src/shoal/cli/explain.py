"""``shoal explain``: why a release is as it is, and what would have to change."""

from __future__ import annotations

import json
from collections.abc import Callable
from enum import StrEnum
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli.console import figure, plain, say, share, show_json, show_table, steps
from shoal.cli.options import Json
from shoal.errors import InputError

if TYPE_CHECKING:
    from shoal.recipe.recipe import Recipe
    from shoal.release.explain import Explanation
    from shoal.utility.research_table import ValuedLevel


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
        _show_explain(found, column)


def _show_explain(found: Explanation, wanted: str | None) -> None:
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


# ----------------------------------------
# ``shoal diff``: what differs between two releases, or two recipes.


_WIDEST = 30


def diff(
    one: Annotated[Path, typer.Argument(metavar="A", help="A release folder or a recipe.", show_default=False)],
    other: Annotated[Path, typer.Argument(metavar="B", help="Another one.", show_default=False)],
    as_json: Json = False,
) -> None:
    """Say what differs between two releases, or two recipes."""
    with steps() as step:
        step("loading")
        from shoal.release.explain import differences

        found = differences(one, other)
    if as_json:
        show_json({"a": str(one), "b": str(other), "same": not found, "differences": found})
        return
    if not found:
        say("They do not differ.")
    for part, mine in groupby(found, key=lambda entry: entry.part):
        rows = [(entry.what, _short(entry.one), _short(entry.other)) for entry in mine]
        show_table([part, one.name, other.name], rows)


def _short(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return figure(value)
    text = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"


# ----------------------------------------
# ``shoal report``: the dossier of a written release, for its publisher, a regulator or its recipients.


class Audience(StrEnum):
    """Who reads it."""

    internal = "internal"
    external = "external"
    regulator = "regulator"


class Format(StrEnum):
    """What it is written as."""

    html = "html"
    md = "md"
    json = "json"


Release = Annotated[Path, typer.Argument(metavar="RELEASE", help="The folder of a release.", show_default=False)]
Output = Annotated[
    Path, typer.Option("--output", "-o", metavar="FILE", help="Where it goes.", show_default=False)
]
For = Annotated[Audience, typer.Option("--audience", help="Who reads it: internal and regulator are private.")]
How = Annotated[
    Format | None,
    typer.Option("--format", help="html, md or json; by default what the file's name ends in.", show_default=False),
]
Attacks = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="What shoal attack --json printed, to stand in it.", show_default=False),
]
Evaluations = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="What shoal measure --evaluate all --json printed.", show_default=False),
]
Replace = Annotated[bool, typer.Option("--replace", help="Overwrite an earlier one.")]


def report(
    release: Release,
    output: Output,
    audience: For = Audience.internal,
    format: How = None,
    attacks: Attacks = None,
    evaluations: Evaluations = None,
    replace: Replace = False,
    as_json: Json = False,
) -> None:
    """Write the dossier of a release: what was done, what is promised, what risk is left, and who answers for it."""
    with steps() as step:
        step("loading")
        from shoal.io.private import check_private, write_private
        from shoal.release import dossier
        from shoal.reports.dossier import FORMATS

        suffix = output.suffix.lower().removeprefix(".")
        chosen = suffix if format is None else format.value
        if chosen not in FORMATS:
            raise InputError(f"'{output}' ends in nothing that a dossier is written as: name it .html, .md or .json.")
        private = audience is not Audience.external
        if not private and (attacks or evaluations):
            raise InputError("Those outside are told what the manifest says: leave --attacks and --evaluations out.")
        place = check_private(output, suffix=f".{chosen}", replace=replace)
        step("reading the release")
        text = dossier.report(
            release, audience=audience.value, format=chosen, attacks=_given(attacks, "attacks", release),
            evaluations=_given(evaluations, "evaluations", release),
        )  # fmt: skip
        step("writing")
        write_private(place, text)
        if not private:
            place.chmod(0o644)
    if as_json:
        show_json({"release": release, "output": place, "audience": audience.value, "private": private})
    elif private:
        say(f"Private, not for publication: {output}")
    else:
        say(f"Written, as public as the release: {output}")


def _given(path: Path | None, key: str, release: Path) -> list[Any]:
    """Results about a release that another command printed."""
    from shoal.verify.folder import read_manifest

    if path is None:
        return []
    try:
        found = json.loads(path.read_bytes())
        listed, statement = found[key], found["statement"]
    except OSError as error:
        raise InputError(f"'{path}' cannot be read: {error.strerror}.") from None
    except (ValueError, KeyError, TypeError):
        raise InputError(f"'{path}' holds no '{key}': give what the command printed with --json.") from None
    if not isinstance(listed, list) or not all(_FITS[key](one) for one in listed):
        raise InputError(f"The '{key}' of '{path}' are not as they were printed: give what the command printed.")
    if statement != read_manifest(release)["statement"]:
        raise InputError(f"The '{key}' of '{path}' are of a release that promises something else than '{release}'.")
    return listed


def _is_attack(one: Any) -> bool:
    figures = one.get("figures", ()) if isinstance(one, dict) else None
    return isinstance(figures, list) and all(
        isinstance(each, dict) and isinstance(each.get("name"), str)
        and all(isinstance(each.get(part), int | float) for part in ("value", "low", "high"))
        for each in figures
    )  # fmt: skip


def _is_finding(one: Any) -> bool:
    texts = [one.get(key) for key in ("name", "sentence")] if isinstance(one, dict) and "value" in one else [None]
    return all(isinstance(text, str) for text in texts)


_FITS = {"attacks": _is_attack, "evaluations": _is_finding}


# ----------------------------------------
# ``shoal values``: what every level of every column is worth to researchers, to look at and to edit.


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
    _show_values(levels)
    for sentence in warnings:
        say(f"Warning: {sentence}")
    for file in (csv, html):
        if file is not None:
            say(f"Private, not for publication: {file}")
    if csv is not None:
        say(f'To read it back, set values = "{csv.name}" under [research] in a recipe beside it.')


def _valued(recipe: Recipe, step: Callable[[str], None]) -> tuple[list[ValuedLevel], list[str]]:
    """Every level of the recipe's quasi-identifiers under its research values, and what to know about them."""
    from shoal.registry import make
    from shoal.release.entry import open_rows
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


def _show_values(levels: list[ValuedLevel]) -> None:
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
