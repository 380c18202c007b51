"""``shoal hierarchy``: propose, look at, edit, export and check the hierarchies of columns."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import console as shown_by
from shoal.cli.console import clean, error_data, figure, say, share, show_error, show_json, show_table, steps
from shoal.cli.options import Json, ShowValues, recipe_data, takes
from shoal.errors import HierarchyError, InputError

if TYPE_CHECKING:
    from shoal.data.hierarchy import Hierarchy
    from shoal.data.hierarchy_edits import LevelCost
    from shoal.data.hierarchy_suggest import Suggestion
    from shoal.release.hierarchy_columns import Known, Reading

app = typer.Typer(help="Propose, look at, edit, export and check hierarchies.")

_Replace = Annotated[bool, typer.Option("--replace", help="Overwrite an earlier file.")]
_TreeFile = Annotated[
    Path, typer.Argument(metavar="FILE.csv|RECIPE", help="A hierarchy file, or a recipe.", show_default=False)
]
_Column = Annotated[
    str | None, typer.Argument(metavar="[COLUMN]", help="Which column; a recipe needs it.", show_default=False)
]
_Data = Annotated[
    Path | None, typer.Option("--data", metavar="FILE", help="Data to count records of.", show_default=False)
]
_Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE.csv", help="Where it goes.", show_default=False)
]


@app.callback(invoke_without_command=True)
def _start(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command()
@takes("source", "names", "how", "beside", "output", "separator", "types")
def suggest(
    source: Annotated[
        Path, typer.Argument(metavar="FILE|RECIPE", help="Data, or a recipe (.toml).", show_default=False)
    ],
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[COLUMN]...", help="All columns by default.", show_default=False)
    ] = None,
    how: Annotated[
        str | None,
        typer.Option(
            metavar="HOW", help="dates, widths, quantiles, prefix, stems, together or rare.", show_default=False
        ),
    ] = None,
    beside: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN", help="Group categories by what goes with them here. Can be repeated.", show_default=False
        ),
    ] = None,
    output: _Output = None,
    as_json: Json = False,
    **given: Any,
) -> None:
    """Propose hierarchies by type, with a reason each."""
    with steps() as step:
        step("loading")
        from shoal.data.hierarchy_suggest import HOWS
        from shoal.data.hierarchy_suggest import suggest as propose
        from shoal.params import choice
        from shoal.release.hierarchy_columns import check_output, known_columns, write_tree

        if how is not None:
            choice("shoal hierarchy suggest", "how", how, HOWS)
        place = None if output is None else check_output(output, False)
        if place is not None and len(names or ()) != 1:
            raise InputError("A hierarchy file is of one column: name it before -o.")
        reading = _reading(given)
        known = known_columns(source, names or (), beside or (), reading, step)
        step("proposing")
        found = {one.name: propose(one.name, one.counts, type=one.type, beside=one.beside, how=how) for one in known}
        if place is not None:
            first = next(iter(found.values()))
            if not first:
                raise HierarchyError(_nothing(known[0], how))
            write_tree(first[0].hierarchy, place)
    if as_json:
        show_json({"columns": [_suggested(one, found[one.name]) for one in known], "file": output and str(output)})
        return
    for one in known:
        _show_suggestions(one, found[one.name], how)
    if output is not None:
        say(f"Written: {output} (private: it holds values of the data). Look at it: shoal hierarchy show {output}")


@app.command()
@takes("tree", "column", "data", "deepest", "most", "separator", "types")
def show(
    tree: _TreeFile,
    column: _Column = None,
    data: _Data = None,
    deepest: Annotated[
        int | None, typer.Option("--levels", metavar="NUMBER", min=1, help="Draw so many levels.", show_default=False)
    ] = None,
    most: Annotated[int, typer.Option("--most", metavar="NUMBER", min=2, help="Draw so many labels of a node.")] = 12,
    as_json: Json = False,
    **given: Any,
) -> None:
    """Draw a hierarchy as a tree, with records and what each level costs."""
    with steps() as step:
        step("loading")
        from shoal.data.hierarchy_edits import level_costs

        reading = _reading(given)
        found, known = _one_tree(tree, column, data, reading, step)
        counts = {} if known is None else known.counts
        costs = level_costs(found, counts or dict.fromkeys(found.labels[0], 1))
    if as_json:
        show_json(_tree_data(found, known, costs))
        return
    _show_tree(found, known, deepest, most)
    _show_costs(costs, known is not None)


@app.command()
def edit(
    tree: Annotated[Path, typer.Argument(metavar="FILE.csv", help="A hierarchy file.", show_default=False)],
    edits: Annotated[
        list[str], typer.Argument(metavar="EDIT...", help="Done in order, such as 'rename a to b'.", show_default=False)
    ],
    output: _Output = None,
    replace: _Replace = False,
    as_json: Json = False,
) -> None:
    """Change a hierarchy file by sentences; without -o or --replace nothing is written.

    rename OLD to NEW · move LABEL under PARENT · merge A, B as NEW · split LABEL into NEW: A, B; OTHER: C ·
    add level above 0: NEW = A, B · drop level 1
    """
    from shoal.data.hierarchy_edits import apply_edit, level_costs
    from shoal.release.hierarchy_columns import check_output, file_tree, write_tree

    found = file_tree(tree, None, None)
    for one in edits:
        found = apply_edit(found, one)
    place = output or (tree if replace else None)
    if place is not None:
        write_tree(found, check_output(place, replace))
    if as_json:
        costs = level_costs(found, dict.fromkeys(found.labels[0], 1))
        show_json(_tree_data(found, None, costs) | {"file": None if place is None else str(place)})
        return
    _show_tree(found, None, None, 12)
    say(f"Written: {place}" if place is not None else "Nothing was written: give -o FILE.csv, or --replace.")


@app.command()
def export(
    recipe: Annotated[Path, typer.Argument(metavar="RECIPE", help="A recipe file (TOML).", show_default=False)],
    column: Annotated[str, typer.Argument(metavar="COLUMN", help="Which column.", show_default=False)],
    output: _Output = None,
    replace: _Replace = False,
    as_json: Json = False,
) -> None:
    """Write a recipe's hierarchy as a file, one line a value, to edit and name."""
    with steps() as step:
        step("loading")
        from shoal.release.hierarchy_columns import check_export, recipe_trees, write_tree

        file = output or recipe.with_name(re.sub(r"[^\w.-]", "_", column) + ".csv")
        place = check_export(file, replace, recipe)
        found, _ = recipe_trees(recipe, [column], step)[0]
        write_tree(found, place)
    if as_json:
        show_json({"column": column, "file": str(file), "leaves": found.n_leaves, "height": found.height})
        return
    say(
        f"Written: {file} ({found.n_leaves:,} values, {found.height + 1} levels; private, as it holds values).",
        f'Edit it, then name it in the recipe: {column} = "{file.name}" under [hierarchies].',
    )


@app.command()
@takes("tree", "column", "data", "separator", "types")
def check(
    tree: _TreeFile,
    column: _Column = None,
    data: _Data = None,
    show_values: ShowValues = False,
    as_json: Json = False,
    **given: Any,
) -> None:
    """Say what is wrong with a hierarchy, all at once, and which records it does not cover (exit 2)."""
    shown_by.refuse_values_shown(show_values, as_json)
    with steps() as step:
        step("loading")
        reading = _reading(given)
        found = _checks(tree, column, data, reading, step, show_values)
    wrong = [line for one in found for line in one["problems"]]
    if as_json:
        error = {"error": error_data("HierarchyError", wrong[0], 2)} if wrong else {}
        show_json({"hierarchies": found, **error})
    else:
        for one in found:
            _show_check(one)
        if wrong:
            show_error(f"{len(wrong)} things are to be mended." if len(wrong) > 1 else wrong[0])
    if wrong:
        raise typer.Exit(2)


def _reading(given: Mapping[str, Any]) -> Reading:
    from shoal.release.hierarchy_columns import Reading

    data = recipe_data(given)
    return Reading(separator=data.get("source", {}).get("separator"), settings=data.get("columns", {}))


def _one_tree(
    tree: Path, column: str | None, data: Path | None, reading: Reading, step: Any
) -> tuple[Hierarchy, Known | None]:
    from shoal.release.hierarchy_columns import column_of, file_tree, is_recipe, recipe_trees

    if is_recipe(tree):
        if column is None:
            raise InputError(f"'{tree.name}' is a recipe: name one of its columns too.")
        return recipe_trees(tree, [column], step)[0]
    found = file_tree(tree, column, None)
    return found, None if data is None else column_of(found, data, column, reading, step)


def _checks(
    tree: Path, column: str | None, data: Path | None, reading: Reading, step: Any, show_values: bool
) -> list[dict[str, Any]]:
    from shoal.data.hierarchy import Hierarchy
    from shoal.data.hierarchy_files import find_faults
    from shoal.recipe.recipe import load_recipe
    from shoal.release.hierarchy_columns import column_of, file_rows, is_recipe, known_columns, recipe_tree

    if not is_recipe(tree):
        name = column or tree.stem
        rows = file_rows(tree, name, None)
        faults = [fault.message for fault in find_faults(name, rows)]
        made = None if faults else Hierarchy.from_rows(name, rows)
        known = None if made is None or data is None else column_of(made, data, column, reading, step)
        return [_checked(name, made, known, faults, show_values)]
    recipe = load_recipe(tree)
    wanted = [column] if column is not None else list(recipe.hierarchies)
    found = []
    for known in known_columns(tree, wanted, (), reading, step) if wanted else []:
        try:
            made, faults = (recipe_tree(recipe, known), []) if known.name in recipe.hierarchies else (None, [])
        except HierarchyError as error:
            made, faults = None, [str(error)]
        found.append(_checked(known.name, made, known, faults, show_values))
    return found


def _checked(
    name: str, tree: Hierarchy | None, known: Known | None, faults: list[str], show_values: bool
) -> dict[str, Any]:
    """What is known of one hierarchy; where values may be shown, with a few quasi-identifiers that it lacks."""
    from shoal.data.hierarchy_files import coverage

    found: dict[str, Any] = {"column": name, "problems": list(faults), "coverage": None}
    if tree is not None:
        found |= {"leaves": tree.n_leaves, "levels": [len(labels) for labels in tree.labels]}
    if tree is None or known is None:
        return found
    met = coverage(tree, known.counts)
    found["coverage"] = {
        "values": met.values,
        "records": met.records,
        "values_uncovered": len(met.uncovered),
        "records_uncovered": met.records_uncovered,
        "records_of_each": list(met.uncovered.values())[:10],
        "leaves_unused": met.unused,
    }
    if met.uncovered:
        shown = ", ".join(f"'{value}'" for value in list(met.uncovered)[:5])
        shown = f" ({shown})" if show_values and known.role == "quasi" else ""
        found["problems"].append(
            f"The hierarchy of '{name}' lacks {len(met.uncovered):,} of {met.values:,} values, which "
            f"{met.records_uncovered:,} of {met.records:,} records have{shown}: add lines."
        )
    return found


def _nothing(known: Known, how: str | None) -> str:
    kind = "" if how is None else f" by '{how}'"
    return (
        f"There is nothing to propose for '{known.name}'{kind}: its {len(known.counts):,} values are few, or unlike in "
        "what their beginnings and frequencies tell. It needs none: it has two levels, as it is and everything."
    )


def _suggested(known: Known, found: list[Suggestion]) -> dict[str, Any]:
    from shoal.data.hierarchy_edits import level_costs

    proposals = [
        {
            "how": one.how, "why": one.why, "spec": one.spec if one.by_rule else None, "type": one.type,
            "levels": level_costs(one.hierarchy, known.counts, examples=0),
        }
        for one in found
    ]  # fmt: skip
    return {"column": known.name, "type": known.type, "values": len(known.counts), "suggestions": proposals}


def _show_suggestions(known: Known, found: list[Suggestion], how: str | None) -> None:
    import tomlkit

    if not found:
        say(_nothing(known, how), "")
        return
    say(f"{known.name}: {len(known.counts):,} values, {known.type}")
    for one in found:
        labels = " → ".join(f"{len(level):,}" for level in one.hierarchy.labels)
        say(f"  {one.how}: {one.why}.", f"    labels by level: {labels}")
        if one.by_rule:
            inline = tomlkit.inline_table()
            inline.update(dict(one.spec))
            line = tomlkit.dumps({known.name: inline}).strip()
            say(f"    {line}" + ("" if one.type in (None, known.type) else f'    (with type = "{one.type}")'))
        else:
            say(f"    a file: shoal hierarchy suggest ... {known.name} --how {one.how} -o {known.name}.csv")
    say("")


def _tree_data(tree: Hierarchy, known: Known | None, costs: list[LevelCost]) -> dict[str, Any]:
    return {
        "column": tree.name,
        "leaves": tree.n_leaves,
        "height": tree.height,
        "records": None if known is None else known.records,
        "levels": costs,
        "rows": tree.rows(),
    }


def _show_tree(tree: Hierarchy, known: Known | None, deepest: int | None, most: int) -> None:
    from shoal.data.hierarchy_edits import outline

    say(f"{tree.name}: {tree.n_leaves:,} values, {tree.height + 1} levels")
    lines = outline(tree, None if known is None else known.counts, deepest=deepest, most=most)
    width = min(60, max(len(clean(line)) for line, _, _ in lines))
    total = max(known.records, 1) if known is not None else 1
    for line, leaves, records in lines:
        shown = clean(line)
        shown = shown if len(shown) <= width else f"{shown[: width - 1]}…"
        told = f"{leaves:>7,}" if known is None else f"{records:>9,} {share(records / total):>8}"
        say(f"{shown:<{width}} {told}")
    say("")


def _show_costs(costs: list[LevelCost], counted: bool) -> None:
    headings = [">level", ">labels", ">fewest", ">loss", ">kept", "such as"]
    rows = [
        (
            str(cost.level), f"{cost.used:,}", f"{cost.fewest:,}" if counted else "-", figure(round(cost.loss, 4)),
            "-" if not counted or math.isnan(cost.kept) else share(cost.kept), _short(", ".join(cost.examples)),
        )
        for cost in costs
    ]  # fmt: skip
    show_table(headings, rows, title="What each level would cost")
    say("fewest: records of the rarest label; loss: as the measure lm; kept: share of the column's information.")


def _short(text: str) -> str:
    return text if len(text) <= 36 else f"{text[:35]}…"


def _show_check(found: dict[str, Any]) -> None:
    name = found["column"]
    if "levels" in found:
        levels = " → ".join(f"{count:,}" for count in found["levels"])
        say(f"{name}: {found['leaves']:,} values, labels by level: {levels}")
    met = found["coverage"]
    if met is not None:
        covered = met["records"] - met["records_uncovered"]
        say(
            f"  covers {met['values'] - met['values_uncovered']:,} of {met['values']:,} values, "
            f"{covered:,} of {met['records']:,} records; {met['leaves_unused']:,} of its values nobody has."
        )
    for line in found["problems"]:
        say(f"  Wrong: {line}")
    if not found["problems"]:
        say("  Nothing is wrong with it.")
