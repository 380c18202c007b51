"""``shoal check``: a recipe, its source and its models, before anything runs."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli.foreseen import Foreseen, foresee, foreseen_stream, hopeless
from shoal.cli.options import Json, Replace
from shoal.cli.show import (
    error_data,
    model_label,
    say,
    show_error,
    show_json,
    show_table,
    steps,
    target_label,
)
from shoal.errors import InfeasibleError, RefusalError, ShoalError

if TYPE_CHECKING:
    from shoal.algorithms.base import Algorithm
    from shoal.io.recipes import Recipe
    from shoal.models.judge import Judge
    from shoal.pseudonyms.secrets import Secret
    from shoal.table.rows import Rows
    from shoal.table.table import Table


Step = Callable[[str], None]


def check(
    recipe: Annotated[Path, typer.Argument(metavar="RECIPE", help="A recipe file (TOML).", show_default=False)],
    replace: Replace = False,
    as_json: Json = False,
) -> None:
    """Look at a recipe before anything runs: keys, columns, roles, hierarchies, models. Writes nothing."""
    with steps() as step:
        step("loading")
        from shoal.io.recipes import load_recipe
        from shoal.io.roles import settled

        data, problems = _examine(settled(load_recipe(recipe)), step, replace)
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


def _examine(recipe: Recipe, step: Callable[[str], None], replace: bool) -> tuple[dict[str, Any], list[ShoalError]]:
    """What a run would find, as far as it can be known before: every problem, in the order that a run meets them."""
    from shoal.attacks.limits import RISKS, known_limits
    from shoal.catalogue import load, make
    from shoal.evaluation.research import told_research
    from shoal.judging.beforehand import all_models
    from shoal.judging.feasible import vacuous, whole_reference
    from shoal.judging.refusals import refuse_unknown_codes
    from shoal.models.judge import Judge
    from shoal.running import keeps_rows, read_recipe_source

    problems: list[ShoalError] = []

    def tried(action: Callable[[], Any]) -> Any:
        try:
            return action()
        except ShoalError as error:
            problems.extend(_all_of(error))
            return None

    _try_places(recipe, replace, tried)
    of_places = len(problems)
    algorithm = tried(lambda: make("algorithm", recipe.algorithm))
    asked = [tried(partial(make, "model", spec)) for spec in recipe.models]
    given = tried(lambda: _given(recipe))
    tried(lambda: known_limits(recipe.limits, RISKS, recipe.roles.sensitive))
    if keeps_rows(recipe):
        return _elsewhere(recipe, algorithm, asked, problems, step), problems
    step("reading")
    started, table = time.perf_counter(), tried(lambda: read_recipe_source(recipe))
    reading = time.perf_counter() - started
    tried(lambda: refuse_unknown_codes(recipe.acknowledge))
    models = None if None in (table, algorithm, *asked) else tried(lambda: all_models(table.domain, asked, algorithm))
    if table is None or algorithm is None or models is None:
        return {"problems": [_problem(one) for one in problems]}, problems
    step("holding the models against the table")
    rows = load("engine", recipe.engine.name)().open(table)
    judge = Judge(models, whole_reference(rows, models))
    empty = vacuous(judge, algorithm.share_allowed(table.n))
    problems += _problems(recipe, table, rows, algorithm, judge, empty)
    if not any(isinstance(one, InfeasibleError) for one in problems):
        tried(lambda: _begin(recipe, table, algorithm, judge))
        tried(lambda: _of_codes(table, algorithm, given or {}, recipe.acknowledge))
    later = _measured(recipe, algorithm) + _named(table, recipe.acknowledge)
    told = [*problems[of_places:], *later]
    found = None if hopeless(told) else foresee(recipe, table, reading, _codes(told), step)
    problems += later if found is None else _in_order(later, found)
    return {
        "rows": table.n,
        "rows_dropped": table.n_dropped,
        "people": table.n_subjects or None,
        "columns": _columns(table),
        **told_research(algorithm, table.domain),
        "models": [model.parameters() for model in models],
        "vacuous": [{"model": model.parameters(), "on": on} for model, on in empty],
        "output_free": _is_free(recipe.resolve(recipe.output.folder)),
        "foreseen": None if found is None else found.data(),
        "untold": _untold(recipe, table.n, 0 if found is None else found.sample),
        **_told(problems),
    }, problems


def _all_of(error: ShoalError) -> Sequence[ShoalError]:
    """Everything that is wrong, where somebody can tell more than the first of it."""
    return (error.everything() if error.everything is not None else ()) or [error]


def _in_order(later: list[ShoalError], found: Foreseen) -> list[ShoalError]:
    """What a run measures, among what a trial of all rows was refused for, as a run comes to them.

    That no class is good enough shows before what a release tells is measured.
    """
    refused = found.refused if found.whole else []
    early = [one for one in refused if isinstance(one, InfeasibleError)]
    return [*early, *later, *(one for one in refused if one not in early)]


def _codes(problems: Sequence[ShoalError]) -> set[str]:
    """Warning codes that would accept problems."""
    return {code for one in problems if isinstance(one, RefusalError) for code in one.codes}


def _elsewhere(
    recipe: Recipe, algorithm: Algorithm | None, asked: list[Any], problems: list[ShoalError], step: Step
) -> dict[str, Any]:
    """The same where an engine keeps the rows."""
    from shoal.streaming.checking import examine_stream
    from shoal.streaming.recipes import memory_of

    started = time.perf_counter()
    found = {} if algorithm is None or None in asked else examine_stream(recipe, algorithm, asked, problems, step)
    if not found:
        return {"problems": [_problem(one) for one in problems]}
    foreseen = foreseen_stream(found["rows"], time.perf_counter() - started, memory_of(recipe)).data()
    free = _is_free(recipe.resolve(recipe.output.folder))
    untold = _untold(recipe, found["rows"], 0)
    return {**found, "foreseen": foreseen, "untold": untold, "output_free": free, **_told(problems)}


def _untold(recipe: Recipe, rows: int, tried: int) -> list[str]:
    """What only a run can tell."""
    found = []
    if tried < rows:
        found.append("whether all rows can be released" + (f" ({tried:,} of them could)" if tried else ""))
        found += ["whether the release keeps its limits"] if recipe.limits else []
    elif recipe.sample is not None and recipe.seed is None:
        found.append("whether the sample that it draws can be released (another one could)")
    return found + (["whether it may stand beside earlier ones"] if recipe.registry is not None else [])


def _told(problems: list[ShoalError]) -> dict[str, Any]:
    """Problems as plain data."""
    refusals = [problem for problem in problems if isinstance(problem, RefusalError)]
    hopeless = [str(problem) for problem in problems if isinstance(problem, InfeasibleError)]
    return {
        "refusals": [{"message": str(one), "codes": one.codes} for one in refusals],
        "infeasible": hopeless[0] if hopeless else None,
        "problems": [_problem(one) for one in problems],
    }


def _try_places(recipe: Recipe, replace: bool, tried: Callable[[Callable[[], Any]], Any]) -> None:
    """Whether what a run writes and keeps has its place."""
    from shoal.io.output import check_output
    from shoal.running import refuse_unkept, refuse_unlogged
    from shoal.vault.remembering import refuse_unremembered

    folder, path = recipe.resolve(recipe.output.folder), recipe.source.path
    source = None if path is None else recipe.resolve(path)
    tried(lambda: _private_places(recipe))
    tried(lambda: check_output(folder, source, replace=replace))
    tried(lambda: refuse_unkept(recipe))
    tried(lambda: refuse_unlogged(recipe))
    tried(lambda: refuse_unremembered(recipe))


class _Begun(Exception):
    """The algorithm has begun its work, so that it found nothing to refuse."""


def _begin(recipe: Recipe, table: Table, algorithm: Algorithm, judge: Judge) -> None:
    """Let the algorithm look at the table as in a run, up to its first step of work."""
    from shoal.algorithms.base import Problem
    from shoal.catalogue import load
    from shoal.evaluation.research import with_research
    from shoal.evaluation.workload import with_preferences
    from shoal.table.keys import Keys

    def stop(step: str) -> None:
        raise _Begun

    valued = with_research(table, algorithm.research, algorithm.kind)
    rows = load("engine", recipe.engine.name)().open(with_preferences(valued))
    keys = Keys.from_seed(recipe.seed)
    try:
        algorithm.run(Problem(rows=rows, judge=judge, keys=keys, progress=stop))
    except _Begun:
        return


def _given(recipe: Recipe) -> dict[str, Secret]:
    """The codes of a file; those of a vault are not looked at, since nobody gave its key."""
    from shoal.pseudonyms.secrets import by_column
    from shoal.running import given_codes

    return by_column(given_codes(recipe, None))


def _of_codes(table: Table, algorithm: Algorithm, given: dict[str, Secret], accepted: Collection[str]) -> None:
    """Refuse given codes that do not fit, and codes of columns that were not accepted."""
    from shoal.kinds.pseudonymised import PSEUDONYMISED
    from shoal.pseudonyms.sensitive import refuse_unfit

    refuse_unfit(table, algorithm.kind, given, everybody=algorithm.share_allowed(table.n) == 0)
    code = str(PSEUDONYMISED.code)
    if table.schema.coded and code not in accepted and code != algorithm.kind.code:
        what = f"Codes of column '{table.schema.coded[0]}' can be read back; a run measures how many."
        raise RefusalError(what, [code])


def _private_places(recipe: Recipe) -> None:
    """Refuse a vault or a registry where none may be."""
    from shoal.vault.files import check_vault
    from shoal.vault.registry_file import check_registry

    folder = recipe.resolve(recipe.output.folder)
    if recipe.output.vault is not None:
        check_vault(recipe.resolve(recipe.output.vault), release=folder)
    if recipe.registry is not None:
        check_registry(recipe.resolve(recipe.registry.file), release=folder)


def _problem(error: ShoalError) -> dict[str, Any]:
    return error_data(type(error).__name__, str(error), error.exit_code)


def _problems(
    recipe: Recipe, table: Table, rows: Rows, algorithm: Algorithm, judge: Judge, empty: list[Any]
) -> list[ShoalError]:
    """Every refusal, as if those before it had been acknowledged, then infeasibility; as a run meets them."""
    from shoal.judging.beforehand import refuse_beforehand
    from shoal.pseudonyms.sensitive import refuse_uncodable
    from shoal.recoding.output import Output

    found: list[ShoalError] = []
    try:
        refuse_uncodable(table.domain, algorithm.kind)
    except ShoalError as error:
        found.append(error)
    accepted = set(recipe.acknowledge)
    output = Output(order=recipe.output.order, neutral_limit=recipe.output.neutral_limit)
    while True:
        try:
            refuse_beforehand(rows, judge, empty, dataclasses.replace(output, acknowledged=accepted), algorithm)
        except RefusalError as error:
            found.append(error)
            accepted |= set(error.codes)
        except ShoalError as error:
            return [*found, error]
        else:
            return found


def _measured(recipe: Recipe, algorithm: Algorithm) -> list[ShoalError]:
    """What a run measures when it has made a release, and refuses unless it was accepted."""
    found: list[ShoalError] = []
    if recipe.roles.pseudonym and "W-TRAJECTORY" not in recipe.acknowledge:
        what = "Tokens link the records of a person, which may single people out; a run measures how many."
        found.append(RefusalError(what, ["W-TRAJECTORY"]))
    if algorithm.kind.code is not None and algorithm.kind.code not in recipe.acknowledge:
        what = f"A release of the method '{algorithm.name}' protects less than it seems to; a run measures how much."
        found.append(RefusalError(what, [algorithm.kind.code]))
    return found


def _named(table: Table, accepted: Collection[str]) -> list[ShoalError]:
    """What the gate would find of people in columns that are published as they are read."""
    from shoal.io.gating import refusal_of
    from shoal.verify.coded import Coded
    from shoal.verify.hidden import Hidden
    from shoal.verify.strangers import Anybody, FreeText, Names
    from shoal.verify.values import encode

    roles, frame = table.schema, table.frame
    hidden = [frame[name] for name in dict.fromkeys([*roles.identifiers, *([roles.subject] if roles.subject else [])])]
    known = Hidden()
    known.read(hidden, None if roles.subject is None else encode(frame[roles.subject])[0])
    read = Coded(frame.select(*roles.sensitive, *roles.neutral))
    closed = [one.name for one in table.sensitive if one.hierarchy is not None or one.spec.order]
    open_ones = read.select([name for name in read.frame.columns if name not in closed])
    anybody, names, texts = Anybody(known), Names(known), FreeText()
    anybody.see(read)
    names.see(open_ones, hidden)
    texts.see(open_ones)
    checks = [anybody.check(), *names.checks(accepted), *texts.checks(accepted)]
    return [refusal_of([check]) for check in checks if not check.passed]


def _columns(table: Table) -> list[dict[str, Any]]:
    """Counts of every column, never a value."""
    found = []
    for name in table.kept.columns:
        cells = table.series(name)
        entry: dict[str, Any] = {"name": name, "role": table.schema.role(name), "type": None, "kind": None}
        entry |= {"distinct": cells.drop_nulls().n_unique(), "missing": cells.null_count()}
        entry |= {"hierarchy": None}
        column = table.columns.get(name)
        if column is not None:
            entry |= {"type": column.type, "kind": column.kind}
            if column.hierarchy is not None:
                entry["hierarchy"] = {"height": column.hierarchy.height, "leaves": column.hierarchy.n_leaves}
        found.append(entry)
    return found


def _is_free(folder: Path) -> bool:
    return not folder.exists() or (folder.is_dir() and not any(folder.iterdir()))


def _show(data: dict[str, Any]) -> None:
    if "rows" not in data:
        for problem in data["problems"]:
            say(f"Refused: {problem['message']}")
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
        say(f"Model: {model_label(model)}" + (f" on {target_label(model['on'])}" if "on" in model else ""))
    for entry in data["vacuous"]:
        say(f"Vacuous: '{entry['model']['name']}' on {target_label(entry['on'])} cannot fail on this table.")
    for problem in data["problems"]:
        hopeless = problem["message"] == data["infeasible"]
        say(f"{'Infeasible' if hopeless else 'Refused'}: {problem['message']}")
    _show_foreseen(data["foreseen"])
    if "error" in data or data["foreseen"]["likely"]:
        return
    left = " and ".join(data["untold"])
    say(f"Nothing known before a run stands in its way; the run tells {left}." if left else
        "Nothing stands in the way of a run.")  # fmt: skip


def _show_foreseen(foreseen: dict[str, Any] | None) -> None:
    """What a run takes, and what samples of the rows were refused for."""
    if foreseen is None:
        return
    for sentence in foreseen["likely"]:
        say(f"Likely refused, as {foreseen['sample']:,} rows of it were: {sentence}")
    if foreseen["seconds"] is not None:
        amount = f"{foreseen['bytes'] / (1 << 30):.1f} GiB"
        say(f"A run takes about {_duration(foreseen['seconds'])} and {amount} of memory.")


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.0f} h"


def _row(entry: dict[str, Any]) -> list[str]:
    tree = entry["hierarchy"] or {}
    shown = [entry["name"], entry["role"], entry["type"] or "-", entry["kind"] or "-"]
    shown += ["–" if entry[key] is None else f"{entry[key]:,}" for key in ("distinct", "missing")]
    return shown + [f"{tree[key]:,}" if tree else "-" for key in ("height", "leaves")]
