"""``shoal start``: look at a raw file, and write a first recipe for it."""

from __future__ import annotations

import os
import secrets
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import options
from shoal.cli.console import (
    error_data,
    model_label,
    say,
    share,
    show_error,
    show_json,
    show_table,
    steps,
    target_label,
)
from shoal.cli.options import Json, Seed
from shoal.cli.options import Replace as options_Replace
from shoal.cli.run import carry_out
from shoal.cli.summary import release_data, show_release
from shoal.errors import InputError
from shoal.grammar import pairs

if TYPE_CHECKING:
    from shoal.recipe.draft import Draft, Question
    from shoal.recipe.sniff import Given

_WIDTH = 80
_MOST_LINES = 24
_SHORT = {"identifiers": "identifier", "categorical": "category", "numeric": "number"}

Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="RECIPE", help="Where the recipe goes; without it nothing is written.",
                 show_default=False),
]  # fmt: skip
Ask = Annotated[bool, typer.Option("--ask", help="Ask on the terminal about what is not certain.")]
Replace = Annotated[bool, typer.Option("--replace", help="Overwrite an earlier recipe.")]
K = Annotated[int, typer.Option("--k", metavar="NUMBER", min=2, help="How many people look the same, at least.")]


@options.takes(
    "file", "output", "ask", "replace", "columns", "separator", "encoding", "sheet", "decimal", "thousands",
    "missing_markers", "types", "identifiers", "quasi", "sensitive", "neutral", "drop", "subject", "weight", "k",
    "table", "query",
)  # fmt: skip
def start(
    file: options.FileOrUrl,
    output: Output = None,
    ask: Ask = False,
    replace: Replace = False,
    k: K = 5,
    as_json: Json = False,
    **given: Any,
) -> None:
    """Look at a raw file and write a first recipe for it, with a reason for everything in it."""
    _refuse_taken(output, replace)
    with steps() as step:
        step("reading")
        from shoal.recipe.draft import drafted, refuse_open
        from shoal.recipe.draft_text import recipe_text
        from shoal.recipe.sniff import read_raw
        from shoal.release.check import tried

        told = _given(given, k)
        raw = read_raw(file, told)
        step("looking at the columns")
        draft = drafted(raw, told)
    if ask:
        draft = _asked(draft)
    refuse_open(draft.questions)
    with steps() as step:
        draft = tried(draft, step)
    if output is not None:
        output.write_text(recipe_text(draft, output.parent), "utf-8")
    if as_json:
        show_json(_data(draft, output))
    else:
        say(*_screen(draft, output))


def _refuse_taken(output: Path | None, replace: bool) -> None:
    """Refuse places where a recipe would be lost, made public or, by a slip, written over the data themselves."""
    from shoal.io.folders import is_release

    if output is None:
        return
    if output.suffix.lower() != ".toml":
        raise InputError(f"The recipe '{output}' must end in .toml: choose another name.")
    if output.is_dir() or (output.exists() and not replace):
        raise InputError(f"'{output}' exists: choose another name for the recipe, or --replace it.")
    if not output.parent.is_dir():
        raise InputError(f"There is no folder '{output.parent}': make it first.")
    if any(is_release(parent) for parent in output.resolve().parents):
        raise InputError(f"'{output}' lies inside a release, which is public: choose another place.")


def _given(said: Mapping[str, Any], k: int) -> Given:
    """What the options say."""
    from shoal.recipe.sniff import Given

    kinds = {name: kind.split(maxsplit=1) for name, kind in pairs("--type", said["types"]).items()}
    odd = [name for name, kind in kinds.items() if kind[0] != "date" or len(kind) < 2]
    if odd:
        raise InputError(f"The --type of '{odd[0]}' must be that of dates with their format: '{odd[0]}=date %d.%m.%Y'.")
    data = options.recipe_data(said)
    source, listed = data.get("source", {}), data.get("roles", {})
    return Given(
        markers=source.pop("missing_markers", ()), **source, formats={name: kind[1] for name, kind in kinds.items()},
        roles={name: role for role, named in listed.items() for name in ([named] if isinstance(named, str) else named)},
        k=k,
    )  # fmt: skip


def _asked(draft: Draft) -> Draft:
    """The draft after all questions: those that have to be answered, then what is not certain."""
    from shoal.recipe.draft import drafted, role_question

    given = draft.given
    for question in draft.questions:
        given = _answer(question, given)
    draft = drafted(draft.raw, given)
    for proposal in draft.proposals.values():
        if not proposal.sure:
            given = _answer(role_question(proposal), given)
    return drafted(draft.raw, given)


def _answer(question: Question, given: Given) -> Given:
    """What was said with the answer to a question, which is put again until there is one."""
    listed = "  ".join(f"{at} {answer}" for at, answer in enumerate(question.answers, start=1))
    default = "" if question.default is None else f" [{question.default}]"
    while True:
        print(f"{question.what}. {question.asked}\n  {listed}{default}: ", end="", file=sys.stderr, flush=True)
        answer = sys.stdin.readline()
        if not answer:
            if question.default is None:
                raise InputError(f"Nobody answered about '{question.column}': say {question.option}.")
            return given
        found = question.answered(given, answer)
        if found is not None:
            return found


def _data(draft: Draft, output: Path | None) -> dict[str, Any]:
    """Everything for machines: figures and reasons, and no cells but those that a recipe names."""
    raw = draft.raw
    return {
        "source": {"name": raw.title, **raw.source},
        "rows": raw.frame.height,
        "people": draft.people,
        "columns": [_column(draft, name) for name in raw.frame.columns],
        "notes": [*draft.notes, *draft.mended],
        "risk": {"unique_share": draft.unique, "smallest_class": draft.smallest},
        "recipe": None if output is None else str(output),
    }


def _column(draft: Draft, name: str) -> dict[str, Any]:
    one, proposal = draft.facts[name], draft.proposals[name]
    return {
        "name": name, "type": one.type, "missing": one.missing, "distinct": one.distinct, "role": proposal.role,
        "why": proposal.why, "sure": proposal.sure, "settings": proposal.settings, "hierarchy": proposal.tree,
        "hierarchy_why": proposal.tree_why or None, "model": proposal.model,
    }  # fmt: skip


def _screen(draft: Draft, output: Path | None) -> list[str]:
    """One screen of 80 columns."""
    raw = draft.raw
    people = f" about {draft.people:,} people" if draft.columns("subject") else ""
    lines = [f"{raw.title}: {raw.frame.height:,} rows{people}, {raw.frame.width} columns{_written(draft)}", ""]
    wide = min(24, max(6, *map(len, raw.frame.columns)) + 1)
    lines.append(f"{'column':{wide}}{'role':11}{'type':9}{'values':>7}{'missing':>8}  why")
    shown = raw.frame.columns[:_MOST_LINES]
    for name in shown:
        one, proposal = draft.facts[name], draft.proposals[name]
        taken = str(proposal.settings.get("type", one.type))  # postcodes are no numbers, though they are made of digits
        kind = _SHORT.get(taken, taken)
        role = _SHORT.get(proposal.role, proposal.role)
        line = f"{name[: wide - 1]:{wide}}{role:11}{kind:9}{one.distinct:>7,}{one.missing:>8,}  "
        lines.append(_cut(line + proposal.why + ("" if proposal.sure else " ?")))
    if len(shown) < raw.frame.width:
        lines.append(f"... and {raw.frame.width - len(shown)} more: see the recipe, or --json")
    lines.append("")
    lines += [part for line in (*draft.notes, *draft.mended)[:6] for part in wrap(line, _WIDTH)]
    lines += _risk(draft)
    if output is None:
        lines.append("Nothing is written: add -o recipe.toml.")
    else:
        lines += [f"Written: {output}", "Next: read it, then", f"  shoal check {output}", f"  shoal run {output}"]
    return lines


def _written(draft: Draft) -> str:
    layout = draft.raw.layout
    if layout is None:
        return ""
    mark = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}.get(layout.separator, repr(layout.separator))
    return f"; {mark}, {layout.encoding}"


def _risk(draft: Draft) -> list[str]:
    if draft.unique is None:
        return []
    quasi = draft.columns("quasi")
    line = f"Raw, {share(draft.unique)} of the rows are alone on the {len(quasi)} columns that others may know"
    return [_cut(line), f"(smallest class: {draft.smallest:,}). The recipe asks for at least {draft.given.k}."]


def _cut(line: str) -> str:
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 3]}..."


# ----------------------------------------
# ``shoal check``: a recipe, its source and its models, before anything runs.


def check(
    recipe: Annotated[Path, typer.Argument(metavar="RECIPE", help="A recipe file (TOML).", show_default=False)],
    replace: options_Replace = False,
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
        else:
            say(f"Try it without writing anything: shoal run {shlex.quote(str(recipe))} --dry-run")
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


# ----------------------------------------
# ``shoal demo``: the synthetic census, anonymised.


_FILES = {"census.csv", "recipe.toml"}


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Where the release goes.")
    ] = Path("demo-out"),
    rows: Annotated[int, typer.Option(metavar="NUMBER", help="Rows of the census.")] = 10_000,
    seed: Seed = None,
    replace: options_Replace = False,
    as_json: Json = False,
) -> None:
    """Anonymise a built-in census of invented people, to see what Shoal does."""
    folder = Path(os.path.abspath(output))
    source = folder.with_name(f"{folder.name}.source")
    _refuse_losses(source, replace)
    with _fresh(source):
        write_census(source, folder, rows, seed)
        release, _ = carry_out(source / "recipe.toml", replace=replace)
    if as_json:
        show_json(release_data(release, output) | {"source": str(_shown(output))})
        return
    say(f"A census of {rows:,} rows about invented people, anonymised.", "")
    show_release(release, output)
    say(
        f"  shoal check {_shown(output) / 'recipe.toml'}",
        f"  edit that recipe, then: shoal run {_shown(output) / 'recipe.toml'} --replace",
    )


def write_census(folder: Path, release: Path, rows: int, seed: int | None) -> None:
    """Write a census and its recipe into an existing folder; ``release`` is where the recipe writes to."""
    from shoal.io.census import generate
    from shoal.io.census_hierarchies import recipe_text

    generate(rows, seed=1 if seed is None else seed).write_csv(folder / "census.csv")
    target = Path("..") / release.name
    (folder / "recipe.toml").write_text(recipe_text("census.csv", target.as_posix(), seed=seed), "utf-8")


def _shown(output: Path) -> Path:
    return output.with_name(f"{output.name}.source")


def _refuse_losses(source: Path, replace: bool) -> None:
    """An earlier demonstration may be replaced, other people's files may not."""
    if not source.exists():
        return
    if not replace:
        raise InputError(f"'{source}' exists: choose another folder with -o, or --replace it.")
    if not source.is_dir() or {path.name for path in source.iterdir()} - _FILES:
        raise InputError(
            f"'{source}' holds other files, so it is not replaced: choose another folder with -o."
        )


@contextmanager
def _fresh(folder: Path) -> Iterator[None]:
    """Put an empty folder in the place of ``folder``; if something goes wrong, all is as it was."""
    parents = [parent for parent in folder.parents if not parent.exists()]
    folder.parent.mkdir(parents=True, exist_ok=True)
    old = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}.old") if folder.exists() else None
    if old is not None:
        folder.rename(old)
    try:
        folder.mkdir()
        yield
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        if old is not None:
            old.rename(folder)
        for parent in parents:
            parent.rmdir()
        raise
    if old is not None:
        shutil.rmtree(old, ignore_errors=True)
