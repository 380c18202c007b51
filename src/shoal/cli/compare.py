"""``shoal compare``: algorithms and parameters of a recipe side by side."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli.console import (
    ARROWS,
    bar,
    figure,
    model_label,
    say,
    share,
    show_json,
    show_table,
    steps,
    target_label,
)
from shoal.cli.options import Json, Seed
from shoal.errors import InputError, ParameterError
from shoal.grammar import pairs, typed_value

if TYPE_CHECKING:
    from shoal.algorithms.base import Algorithm
    from shoal.models.base import Model
    from shoal.recipe.recipe import Recipe
    from shoal.release.compare.result import Comparison
    from shoal.results import Survey, SurveyNode

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
        table = None if csv is None else _check_table(csv, folder, replace)
    with bar() as progress:
        found = sweep(
            made, algorithms=named, grid=made.compare.grid | values, utility=utility, protection=protection,
            risk=risk, seed=seed, processes=processes or cores(), progress=progress,
        )  # fmt: skip
    data = comparison_data(found)
    title = made.source.title
    write_private(place, compare_html(data, title=title))
    if table is not None:
        write_private(table, found.frame.write_csv())
    if as_json:
        show_json({"file": str(file), "csv": None if csv is None else str(csv), **data})
    else:
        _show_compare(found, data, title, [file, *([] if csv is None else [csv])])


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


def _show_compare(found: Comparison, data: dict[str, Any], title: str, files: Sequence[Path]) -> None:
    say(f"{title}: {found.rows:,} rows, {len(found.entries)} points.", *found.notes)
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


# ----------------------------------------
# ``shoal explore``: the nodes of a recipe's lattice on one page, to pick another than the optimum.


# A lattice too large to list is searched for its optimum for at most so long, unless the recipe says otherwise.
_SECONDS = 60.0
_SHOWN = 5
_VERDICTS = {"allowed": "allowed", "over": "over the suppression limit", "fails": "models fail everywhere"}


def explore(
    recipe: Annotated[Path, typer.Argument(metavar="RECIPE", help="A recipe file (TOML).", show_default=False)],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE.html", help="By default beside the recipe.", show_default=False),
    ] = None,
    measure: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="What to price by: the recipe's measure, else lm.", show_default=False),
    ] = None,
    max_nodes: Annotated[
        int,
        typer.Option(metavar="NUMBER", min=1, max=20_000, help="Count so many at most; larger lattices are sampled."),
    ] = 5000,
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite an earlier file.")] = False,
    as_json: Json = False,
) -> None:
    """Draw the nodes of a recipe's lattice by loss and suppression, to pick one by hand. The page is private."""
    with steps() as step:
        step("loading")
        from shoal.io.private import check_private, write_private
        from shoal.recipe.recipe import load_recipe
        from shoal.reports.compare import explore_html

        made = load_recipe(recipe)
        file = output or recipe.with_suffix(".explore.html")
        place = check_private(file, suffix=".html", replace=replace, release=made.resolve(made.output.folder))
        survey, models, extra = _survey(made, measure, max_nodes, step)
        title = made.source.title
        step("writing")
        page = explore_html(survey, title=title, models=[_label(model) for model in models], extra=extra)
        write_private(place, page)
    if as_json:
        show_json(_data(survey, models, file))
    else:
        _show_explore(survey, title, file)


def _survey(
    recipe: Recipe, measure: str | None, max_nodes: int, step: Callable[[str], None]
) -> tuple[Survey, list[Model], str]:
    """Nodes under the recipe's models and suppression limit, whatever its algorithm; and TOML for what that adds."""
    from shoal.algorithms.base import Problem
    from shoal.algorithms.lattice.optimal import MEASURES
    from shoal.algorithms.lattice.survey import survey
    from shoal.data.keys import Keys
    from shoal.models.feasibility import all_models, refuse_infeasible, whole_reference
    from shoal.models.judge import Judge
    from shoal.params import choice
    from shoal.registry import load, make
    from shoal.release.entry import open_rows
    from shoal.utility.research_table import researched

    algorithm: Algorithm = make("algorithm", recipe.algorithm)
    asked = [make("model", spec) for spec in recipe.models]
    own = "rv" if algorithm.name.startswith("rv-") else getattr(algorithm, "measure", "lm")
    wanted = choice("explore", "measure", measure or own, MEASURES)
    with open_rows(recipe, step) as read:
        rows = read.knowing(researched(read.domain, read.joined, algorithm.research))
        models = all_models(rows.domain, asked, algorithm)
        step("holding the models against the table")
        judge = Judge(models, whole_reference(rows, models))
        refuse_infeasible(judge, 1.0)  # what no suppression could mend
        # Which nodes are drawn is no secret, and the same recipe should give the same page.
        keys = Keys.from_seed(recipe.seed or 0)
        found = survey(
            Problem(rows=rows, judge=judge, keys=keys, progress=step),
            measure=load("measure", wanted)(),
            limit=algorithm.share_allowed(rows.domain.n),
            max_nodes=max_nodes,
            seconds=getattr(algorithm, "seconds", None) or _SECONDS,
        )
    added = [model for model in algorithm.models() if model.name not in {one.name for one in asked}]
    return found, models, _models_toml(added)


def _models_toml(models: list[Model]) -> str:
    """Models that the recipe's algorithm stands for, which ``optimal`` needs to be told."""
    import tomlkit

    return tomlkit.dumps({"models": [model.parameters() for model in models]}) if models else ""


def _label(model: Model) -> str:
    """A model about as ``--model`` takes it: ``k=5``, ``entropy-l=2 on diagnosis``."""
    given = model.parameters()
    label = model_label(given).replace(f"{model.name} {model.main}=", f"{model.name}=", 1)
    return label + (f" on {target_label(model.name, given['on'])}" if "on" in given else "")


def _data(survey: Survey, models: list[Model], file: Path) -> dict[str, Any]:
    """The survey as plain data: counts and levels, no labels of any hierarchy."""
    best = None if survey.optimum is None else survey.nodes[survey.optimum]
    return {
        "file": str(file),
        "measure": survey.measure,
        "better": survey.better,
        "rows": survey.rows,
        "suppression_limit": survey.limit,
        "models": [model.parameters() for model in models],
        "columns": [
            {"name": name, "height": height} for name, height in zip(survey.columns, survey.heights, strict=True)
        ],
        "lattice": survey.lattice,
        "complete": survey.complete,
        "chosen": survey.chosen,
        "counts": {key: sum(node.verdict == key for node in survey.nodes) for key in _VERDICTS},
        "optimum": best,
        "proven": survey.proven,
        "nodes": survey.nodes,
    }


def _show_explore(survey: Survey, title: str, file: Path) -> None:
    from shoal.reports.compare import counted

    say(f"{title}: {survey.rows:,} rows, {len(survey.columns)} quasi-identifiers. {counted(survey)}")
    show_table(["verdict", ">nodes", ">least suppressed"], [_verdict_row(survey, key) for key in _VERDICTS])
    allowed = [node for node in survey.nodes if node.verdict == "allowed"]
    if survey.optimum is None:
        say(f"No node is allowed: the suppression_limit is {share(survey.limit)}. Raise it or relax the models.")
    else:
        best = survey.nodes[survey.optimum]
        say(
            f"The {'optimum' if survey.proven else 'best node found (not proven)'} for {survey.measure}, in the order "
            f"{', '.join(survey.columns)}: node = {list(best.levels)}"
        )
        first = [best, *(node for node in allowed if node is not best)][:_SHOWN]
        headings = ["node", f">{survey.measure}", ">suppressed", ">classes", ">smallest"]
        show_table(headings, [_node_row(survey, node) for node in first], title="Best allowed nodes")
    say(f"Private, not for publication: {file}")


def _verdict_row(survey: Survey, verdict: str) -> tuple[str, ...]:
    mine = [node.suppressed for node in survey.nodes if node.verdict == verdict]
    return _VERDICTS[verdict], f"{len(mine):,}", share(min(mine) / survey.rows) if mine else "-"


def _node_row(survey: Survey, node: SurveyNode) -> tuple[str, ...]:
    return (
        str(list(node.levels)),
        figure(node.loss),
        share(node.suppressed / survey.rows),
        f"{node.classes:,}",
        f"{node.smallest:,}",
    )
