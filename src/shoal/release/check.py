"""Look at a recipe, its source and its models before a run: ``shoal check`` and the server's job of that name."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from shoal.algorithms.base import Algorithm
from shoal.data.domain import Domain
from shoal.data.keys import Keys
from shoal.data.table import crowded
from shoal.data.texts import spelling_facts, told
from shoal.engines.base import Capability, OpenRows
from shoal.errors import GateError, InfeasibleError, RefusalError, ShoalError
from shoal.grammar import target_words
from shoal.models.base import Model, smallest_class
from shoal.models.feasibility import all_models, refusals_beforehand, vacuous, whole_reference
from shoal.models.judge import Judge
from shoal.models.refusals import refuse_unknown_codes
from shoal.recipe.draft import Draft, with_risk
from shoal.recipe.draft_text import recipe_text
from shoal.recipe.recipe import Recipe, parse_recipe
from shoal.recoding.coded_columns import refuse_uncodable, refuse_unfit
from shoal.recoding.kinds import PSEUDONYMISED
from shoal.recoding.publish import Output
from shoal.recoding.recoded import apply_recoding
from shoal.recoding.secrets import Secret, by_column
from shoal.registry import make
from shoal.release.capabilities import refuse_misplaced, unopened, unserved
from shoal.release.entry import open_rows, plan_of
from shoal.release.gating import naming, person_refusals, refusal_of
from shoal.release.prepare import guide
from shoal.release.publish import person_frames
from shoal.release.run import anonymize_recipe
from shoal.release.secrets import given_codes, refuse_unkept
from shoal.release.write import check_output, refuse_unlogged
from shoal.risk.attacks.limits import RISKS, known_limits
from shoal.utility.research_table import researched, told_research
from shoal.verify.identifier_scan import Anybody
from shoal.verify.identifier_words import Hidden
from shoal.verify.identifiers import Named
from shoal.verify.tally import Numbering
from shoal.verify.values import Coded

Step = Callable[[str], None]


def examine(recipe: Recipe, step: Step, *, replace: bool = False) -> tuple[dict[str, Any], list[ShoalError]]:
    """Facts and every problem as plain data, in the order that a run meets them, and the problems themselves.

    Parameters
    ----------
    recipe
        With roles that name every column (:func:`shoal.recipe.source.settled`).
    step
        Is told what is done next.
    replace
        Whether a release that is there may be replaced.
    """
    found = _Found()
    algorithm, asked, given = _asked(recipe, replace, found)
    with ExitStack() as places:
        rows = None
        if _is_readable(recipe, algorithm, found):
            rows = found.tried(lambda: places.enter_context(open_rows(recipe, step)))
        found.tried(lambda: refuse_unknown_codes(recipe.acknowledge))
        facts = None
        if rows is not None and algorithm is not None and None not in asked:
            facts = _facts(recipe, rows, algorithm, asked, given, found, step)
    return facts or {"problems": [_problem(one) for one in found.problems]}, found.problems


class _Found:
    """Every problem, in the order in which they were come to, none of them twice."""

    def __init__(self) -> None:
        self.problems: list[ShoalError] = []

    def tried(self, action: Callable[[], Any]) -> Any:
        """What an action gives, None where it is refused."""
        try:
            return action()
        except ShoalError as error:
            # Some can tell everything that is wrong, not the first of it alone.
            self.add((error.everything() if error.everything is not None else ()) or [error])
            return None

    def add(self, problems: Sequence[ShoalError]) -> None:
        """Note some more."""
        known = {str(one) for one in self.problems}
        self.problems += [one for one in problems if str(one) not in known]


def _asked(recipe: Recipe, replace: bool, found: _Found) -> tuple[Any, list[Any], Sequence[Secret]]:
    """The method, the models and the codes that a recipe names, each None or nothing where it cannot be."""
    _try_places(recipe, replace, found.tried)
    algorithm = found.tried(lambda: make("algorithm", recipe.algorithm))
    asked = [found.tried(partial(make, "model", spec)) for spec in recipe.models]
    # Those of a vault are not looked at, since nobody gave its key.
    given = found.tried(lambda: given_codes(recipe, None)) or []
    found.tried(lambda: known_limits(recipe.limits, RISKS, recipe.roles.sensitive))
    return algorithm, asked, given


def _is_readable(recipe: Recipe, algorithm: Algorithm | None, found: _Found) -> bool:
    """Whether the engine that is to keep the rows can read them; what else it does not serve is told as well."""
    before = len(found.problems)
    found.tried(lambda: refuse_misplaced(recipe))
    found.add(unopened(recipe, algorithm))
    readable = len(found.problems) == before
    found.add(unserved(recipe, algorithm))
    return readable


class _Begun(Exception):
    """The algorithm has begun its work, so that it found nothing to refuse."""


def _stop(step: str) -> None:
    raise _Begun


def _facts(
    recipe: Recipe, rows: OpenRows, algorithm: Algorithm, asked: list[Model], given: Sequence[Secret], found: _Found,
    step: Step,
) -> dict[str, Any] | None:  # fmt: skip
    """What is known of rows, method and models, with every problem noted; None where models do not fit."""
    step("holding the models against the table")
    before, domain = len(found.problems), rows.domain
    valued = found.tried(lambda: rows.knowing(researched(domain, rows.joined, algorithm.research, algorithm.kind)))
    judged = found.tried(lambda: _judge(rows if valued is None else valued, algorithm, asked))
    if judged is None:
        return None
    crowd, judge = judged
    empty = vacuous(judge, algorithm.share_allowed(domain.n))
    found.add(_problems(recipe, crowd, algorithm, judge, empty))
    found.add(person_refusals(domain, person_frames(rows), recipe.acknowledge, models=bool(judge.models)))
    # No run would come to the algorithm otherwise, whatever is accepted.
    if all(isinstance(one, RefusalError) for one in found.problems[before:]):
        found.tried(lambda: begin(recipe, crowd, algorithm, judge))
    found.tried(lambda: _of_codes(domain, algorithm, given, recipe.acknowledge))
    step("looking for names in what is published as it is")
    found.add(_measured(recipe, algorithm) + named(rows, recipe.acknowledge))
    return {
        "rows": domain.n,
        "rows_dropped": rows.n_dropped,
        "people": domain.n_subjects if domain.by_people else None,
        "columns": [_column(rows, name) for name in domain.types],
        **told_research(algorithm, domain),
        "models": [model.parameters() for model in judge.models],
        "vacuous": [{"model": model.parameters(), "on": on} for model, on in empty],
        "spellings": spelling_facts(domain),
        "output_free": _is_free(recipe.resolve(recipe.output.folder)),
        "untold": _untold(recipe),
        **_told(found.problems),
    }


def _judge(rows: OpenRows, algorithm: Algorithm, asked: Sequence[Model]) -> tuple[OpenRows, Judge]:
    """The rows as the models look at them, and the models with what they compare classes with."""
    models = all_models(rows.domain, asked, algorithm)
    rows = rows.knowing(crowded(rows.domain, smallest_class(models), rows.people_with))
    return rows, Judge(models, whole_reference(rows, models))


def begin(recipe: Recipe, rows: OpenRows, algorithm: Algorithm, judge: Judge) -> None:
    """Let an algorithm look at the rows as in a run, up to its first step of work; one without any recodes them."""
    plan = plan_of(recipe, rows, algorithm, (), Keys.from_seed(recipe.seed), _stop)
    try:
        recoding = plan.searched(guide(rows), judge)
        if recoding.counterfeits is None:
            apply_recoding(rows, recoding)
    except _Begun:
        return


def _column(rows: OpenRows, name: str) -> dict[str, Any]:
    """Counts of a column, never a value; one that is not coded is counted where all rows are in memory."""
    column, distinct, missing = rows.domain.columns.get(name), None, None
    if column is not None:
        missing = int(column.frequencies[column.missing]) if column.missing >= 0 else 0
        distinct = int((column.frequencies > 0).sum()) - (missing > 0)
    elif Capability.ARRAYS in rows.capabilities:
        cells = pl.concat(list(rows.cells(name)))
        distinct, missing = cells.drop_nulls().n_unique(), cells.null_count()
    tree = None if column is None else column.hierarchy
    return {
        "name": name,
        "role": rows.domain.schema.role(name),
        "type": None if column is None else column.type,
        "kind": None if column is None else column.kind,
        "distinct": distinct,
        "missing": missing,
        "hierarchy": None if tree is None else {"height": tree.height, "leaves": tree.n_leaves},
    }


def _untold(recipe: Recipe) -> list[str]:
    """List the questions that only a run answers."""
    found = ["whether all rows can be released"]
    found += ["whether the release keeps its limits"] if recipe.limits else []
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
    from shoal.vault.registry_file import refuse_unremembered

    folder, path = recipe.resolve(recipe.output.folder), recipe.source.path
    source = None if path is None else recipe.resolve(path)
    tried(lambda: _private_places(recipe))
    tried(lambda: check_output(folder, source, replace=replace))
    tried(lambda: refuse_unkept(recipe))
    tried(lambda: refuse_unlogged(recipe))
    tried(lambda: refuse_unremembered(recipe))


def _of_codes(domain: Domain, algorithm: Algorithm, given: Sequence[Secret], accepted: Collection[str]) -> None:
    """Refuse given codes that do not fit, and codes of columns that were not accepted."""
    refuse_unfit(domain, algorithm.kind, by_column(given), everybody=algorithm.share_allowed(domain.n) == 0)
    code = str(PSEUDONYMISED.code)
    if domain.schema.coded and code not in accepted and code != algorithm.kind.code:
        what = f"Codes of column '{domain.schema.coded[0]}' can be read back; a run measures how many."
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
    return {"type": type(error).__name__, "message": str(error), "exit_code": error.exit_code}


def _problems(
    recipe: Recipe, rows: OpenRows, algorithm: Algorithm, judge: Judge, empty: list[Any]
) -> list[ShoalError]:
    """Every refusal, as if those before it had been acknowledged, then infeasibility; as a run meets them."""
    found: list[ShoalError] = []
    try:
        refuse_uncodable(rows.domain, algorithm.kind)
    except ShoalError as error:
        found.append(error)
    output = Output(
        order=recipe.output.order, neutral_limit=recipe.output.neutral_limit, acknowledged=set(recipe.acknowledge)
    )
    return [*found, *refusals_beforehand(rows, judge, empty, output, algorithm)]


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


def _is_free(folder: Path) -> bool:
    return not folder.exists() or (folder.is_dir() and not any(folder.iterdir()))


# ----------------------------------------
# People in columns that are published as they were read: what the gate would find of them, before a run.


def named(rows: OpenRows, accepted: Collection[str]) -> list[ShoalError]:
    """Why the gate would refuse these columns; two passes over the rows, one where nothing is hidden."""
    roles, columns = rows.domain.schema, rows.domain.columns
    published, naming_columns = (*roles.sensitive, *roles.neutral), naming(roles)
    if not published:
        return []
    known, people = Hidden(), Numbering()
    for name, cells in rows.left_out(naming_columns).items():
        known.read_others(told(cells).alias(name), people=roles.subject is not None)
    for batch in rows.batches("kept") if naming_columns else ():
        who = None if roles.subject is None else batch.as_read(roles.subject).to_frame("who")
        hidden = [batch.as_read(name) for name in naming_columns]
        known.read(hidden, None if who is None else people.see(who).codes)
    sensitive = [columns[name] for name in roles.sensitive]
    closed = [one.name for one in sensitive if one.hierarchy is not None or one.spec.order]
    anybody, own = Anybody(known), Named(known, [name for name in published if name not in closed])
    for batch in rows.batches("kept"):
        read = Coded(pl.DataFrame([batch.as_read(name) for name in published]))
        anybody.see(read)
        own.see(read, [batch.as_read(name) for name in naming_columns])
    checks = [own.own(), anybody.check(), *own.read(accepted)]
    return [refusal_of([check]) for check in checks if not check.passed]


# ----------------------------------------
# What a check found, in sentences: the same on a terminal and on a page.


_INFEASIBLE = InfeasibleError.exit_code


def findings(data: Mapping[str, Any]) -> list[str]:
    """Say what stands in the way of a run and what only a run can tell; a sentence each."""
    if "rows" not in data:
        return list(_refused(data))
    refused = list(_refused(data))
    left = " and ".join(data["untold"])
    ending = [] if refused else [f"Nothing known before a run stands in its way; the run tells {left}."]
    return [*warnings(data), *refused, *ending]


def warnings(data: Mapping[str, Any]) -> list[str]:
    """Say what no run refuses and is no good news; a sentence each."""
    return [*_vacuous(data), *(f"Warning: {one['sentence']}" for one in data.get("spellings", ()))]


def _vacuous(data: Mapping[str, Any]) -> Iterator[str]:
    """Promises that cannot fail on the table, and so promise nothing; a sentence each."""
    for one in data.get("vacuous", ()):
        name = one["model"]["name"]
        on = "-" if one["on"] is None else target_words(name, one["on"])
        yield f"Vacuous: '{name}' on {on} cannot fail on this table."


def _refused(data: Mapping[str, Any]) -> Iterator[str]:
    for problem in data["problems"]:
        yield f"{'Infeasible' if problem['exit_code'] == _INFEASIBLE else 'Refused'}: {problem['message']}"


# ----------------------------------------
# A draft held against a run: what a run would refuse is mended, openly, until it passes the gate.


_MOST_ROWS = 200_000
_TRIALS = 20
_HELD = re.compile(r"cells of '(.+?)' hold (?:a word of )?(?:somebody's|their row's)")
_REPEATS = re.compile(r"'(.+?)' repeats")
_NAMED = re.compile(r"(?:[Cc]olumn|hierarchy of|levels of|[Vv]alues of|labels? of) '(.+?)'")


def tried(draft: Draft, progress: Callable[[str], None] = lambda step: None) -> Draft:
    """The same, changed until a run of it would pass; one that is too large to try is left as it is, and says so."""
    if draft.raw.frame.height > _MOST_ROWS:
        note = f"Not tried, since it has more than {_MOST_ROWS:,} rows: run shoal check."
        return replace(draft, mended=[*draft.mended, note])
    trials = 0
    while True:
        progress("trying the recipe")
        error, trials = _failure(draft), trials + 1
        if error is None:
            return replace(with_risk(draft), tried=True)
        changed = _mended(draft, error)
        if changed is None or trials == _TRIALS:
            raise error
        draft = changed


def _failure(draft: Draft) -> ShoalError | None:
    recipe = parse_recipe(recipe_text(draft, Path()), Path())
    if draft.raw.url is not None:  # of which the text has no password
        source = recipe.source.model_copy(update={"url": draft.raw.url})
        recipe = recipe.model_copy(update={"source": source})
    try:
        anonymize_recipe(recipe)
    except ShoalError as error:
        return error
    return None


def _mended(draft: Draft, error: ShoalError) -> Draft | None:
    """The draft with one thing less; None where nothing is left to leave out."""
    if isinstance(error, RefusalError):
        if "W-ROWS" in error.codes:
            return _no_identifier(draft, error)
        by_column = [code.partition(":")[2] for code in error.codes if ":" in code]
        known = [name for name in by_column if name in draft.proposals]
        return _dropped(draft, known[0], _why(error.codes[0])) if known else _without_neutral(draft)
    if isinstance(error, GateError):
        held = _HELD.search(str(error))
        return None if held is None else _dropped(draft, held[1], "its cells hold identifiers of people")
    if isinstance(error, InfeasibleError):
        return _weaker(draft, "over all classes of a person" in str(error))
    named = _NAMED.search(str(error))
    if named is None or named[1] not in draft.proposals:
        return None
    one = draft.proposals[named[1]]
    if one.tree is not None:
        note = f"{one.name}: no hierarchy, since the proposed one does not fit its values."
        return replace(draft.with_proposal(replace(one, tree=None)), mended=[*draft.mended, note])
    return _dropped(draft, one.name, "it cannot be read as it stands")


def _why(code: str) -> str:
    reasons = {"W-TEXT": "it looks like free text", "W-NAMES": "its cells hold names of people",
               "W-UNMODELLED": "no model would protect it", "W-IDENTIFIES": "it identifies people by itself",
               "W-DETERMINES": "it tells a quasi-identifier more finely than its cells"}  # fmt: skip
    return reasons.get(code.partition(":")[0], "a run would refuse it")


def _dropped(draft: Draft, name: str, why: str) -> Draft | None:
    if name not in draft.proposals or draft.proposals[name].role in ("drop", "identifiers"):
        return None
    if draft.proposals[name].role == "quasi" and len(draft.columns("quasi")) == 1:
        return None
    changed = draft.changed(name, role="drop", why=why, sure=False)
    return replace(changed, mended=[*draft.mended, f"{name}: left out, since {why}."])


def _no_identifier(draft: Draft, error: RefusalError) -> Draft | None:
    """Leave out what was only taken for an identifier, and repeats; other repetitions are for a person to judge."""
    repeated = _REPEATS.match(str(error))
    if repeated is None or (one := draft.proposals.get(repeated[1])) is None or one.sure or one.role != "identifiers":
        return None
    why = "not every row has its own"
    changed = draft.changed(one.name, role="drop", why=why, sure=False)
    return replace(changed, mended=[*draft.mended, f"{one.name}: left out, and no identifier, since {why}."])


def _without_neutral(draft: Draft) -> Draft | None:
    neutral = draft.columns("neutral")
    if not neutral:
        return None
    most = max(neutral, key=lambda name: draft.facts[name].distinct)
    return _dropped(draft, most, "released as it is, it would single people out")


def _weaker(draft: Draft, people: bool) -> Draft | None:
    """Fewer different values asked for, then people not judged over all classes, then a sensitive column less.

    Parameters
    ----------
    people
        Whether people fail whose rows are in several classes. Where fewer values do not help, as many are asked for
        again.
    """
    for one in draft.proposals.values():
        if one.model is not None and one.model.get("l", 0) > 2:
            weaker = replace(one, model={**one.model, "l": 2})
            note = f"{one.name}: 2 different values in a class, since no release has 3."
            stronger = draft.stronger or draft
            return replace(draft.with_proposal(weaker), mended=[*draft.mended, note], stronger=stronger)
    if people:
        first = draft.stronger or draft
        note = (
            "across_classes = false, since no release protects everybody whose rows are in several classes: a value "
            "that is the same in all rows of a person may be found. shoal attack counts such people "
            "(subject-intersection)."
        )
        return replace(first, across_classes=False, mended=[*first.mended, note])
    guarded = draft.columns("sensitive")
    if not guarded:
        return None
    worst = max(guarded, key=lambda name: draft.facts[name].common)
    return _dropped(draft, worst, "one of its values is so common that no release could hide it")
