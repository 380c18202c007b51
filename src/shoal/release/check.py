"""What a run would find, as far as it can be known before: for the command and for the server's job of that name."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import GateError, InfeasibleError, RefusalError, ShoalError
from shoal.grammar import target_words
from shoal.recipe.draft import Draft, with_risk
from shoal.recipe.draft_text import recipe_text
from shoal.recipe.recipe import parse_recipe
from shoal.release.check_source import Source
from shoal.release.forecast import Foreseen, hopeless
from shoal.release.gating import naming, refusal_of
from shoal.release.run import anonymize_recipe
from shoal.verify.identifier_scan import Anybody
from shoal.verify.identifier_words import Hidden
from shoal.verify.identifiers import Named
from shoal.verify.tally import Numbering
from shoal.verify.values import Coded

if TYPE_CHECKING:
    from shoal.algorithms.base import Algorithm
    from shoal.data.domain import Domain
    from shoal.models.base import Model
    from shoal.models.judge import Judge
    from shoal.recipe.recipe import Recipe
    from shoal.recoding.secrets import Secret

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
    from shoal.release.check_source import read_source

    found = _Found()
    algorithm, asked, given = _asked(recipe, replace, found)
    with ExitStack() as places:
        source = None
        if _is_readable(recipe, algorithm, found):
            source = found.tried(lambda: places.enter_context(read_source(recipe, given, step)))
        found.tried(lambda: _refuse_codes(recipe))
        facts = None
        if source is not None and algorithm is not None and None not in asked:
            facts = _Examined(recipe, algorithm, asked, given, found).facts(source, step)
    return facts or {"problems": [_problem(one) for one in found.problems]}, found.problems


class _Found:
    """Every problem, in the order in which they were come to, none of them twice."""

    def __init__(self) -> None:
        self.problems: list[ShoalError] = []
        self.of_places = 0

    def tried(self, action: Callable[[], Any]) -> Any:
        """What an action gives, None where it is refused."""
        try:
            return action()
        except ShoalError as error:
            self.add(_all_of(error))
            return None

    def add(self, problems: Sequence[ShoalError]) -> None:
        """Note some more."""
        known = {str(one) for one in self.problems}
        self.problems += [one for one in problems if str(one) not in known]


def _asked(recipe: Recipe, replace: bool, found: _Found) -> tuple[Any, list[Any], Sequence[Secret]]:
    """The method, the models and the codes that a recipe names, each None or nothing where it cannot be."""
    from shoal.registry import make
    from shoal.release.secrets import given_codes
    from shoal.risk.attacks.limits import RISKS, known_limits

    _try_places(recipe, replace, found.tried)
    found.of_places = len(found.problems)
    algorithm = found.tried(lambda: make("algorithm", recipe.algorithm))
    asked = [found.tried(partial(make, "model", spec)) for spec in recipe.models]
    # Those of a vault are not looked at, since nobody gave its key.
    given = found.tried(lambda: given_codes(recipe, None)) or []
    found.tried(lambda: known_limits(recipe.limits, RISKS, recipe.roles.sensitive))
    return algorithm, asked, given


def _is_readable(recipe: Recipe, algorithm: Algorithm | None, found: _Found) -> bool:
    """Whether the engine that is to keep the rows can read them; what else it does not serve is told as well."""
    from shoal.release.capabilities import refuse_misplaced, unopened, unserved

    before = len(found.problems)
    found.tried(lambda: refuse_misplaced(recipe))
    found.add(unopened(recipe, algorithm))
    readable = len(found.problems) == before
    found.add(unserved(recipe, algorithm))
    return readable


def _refuse_codes(recipe: Recipe) -> None:
    from shoal.models.refusals import refuse_unknown_codes

    refuse_unknown_codes(recipe.acknowledge)


class _Examined:
    """A method and models, held against the rows of a source."""

    def __init__(
        self, recipe: Recipe, algorithm: Algorithm, asked: list[Model], given: Sequence[Secret], found: _Found
    ) -> None:
        self._recipe, self._algorithm, self._asked, self._given = recipe, algorithm, asked, given
        self._found = found

    def facts(self, source: Source, step: Step) -> dict[str, Any] | None:
        """What is known of rows, method and models, with every problem noted; None where models do not fit."""
        from shoal.data.texts import spelling_facts
        from shoal.models.feasibility import vacuous
        from shoal.release.gating import person_refusals
        from shoal.utility.research_table import told_research

        recipe, algorithm, found = self._recipe, self._algorithm, self._found
        step("holding the models against the table")
        before = len(found.problems)
        valued = found.tried(lambda: source.valued(algorithm)) or source
        judged = found.tried(lambda: self._judge(valued))
        if judged is None:
            return None
        crowded, judge = judged
        domain = source.rows.domain
        empty = vacuous(judge, algorithm.share_allowed(domain.n))
        found.add(_problems(recipe, crowded, algorithm, judge, empty))
        found.add(person_refusals(domain, source.person_frames(), recipe.acknowledge, models=bool(judge.models)))
        if not hopeless(found.problems[before:]):
            found.tried(lambda: crowded.begin(algorithm, judge))
        found.tried(lambda: _of_codes(domain, algorithm, self._given, recipe.acknowledge))
        foreseen = self._foresee(source, step)
        return {
            "rows": domain.n,
            "rows_dropped": source.dropped,
            "people": domain.n_subjects if domain.by_people else None,
            "columns": source.columns(),
            **told_research(algorithm, domain),
            "models": [model.parameters() for model in judge.models],
            "vacuous": [{"model": model.parameters(), "on": on} for model, on in empty],
            "spellings": spelling_facts(domain),
            "output_free": _is_free(recipe.resolve(recipe.output.folder)),
            "foreseen": None if foreseen is None else foreseen.data(),
            "untold": _untold(recipe, domain.n, 0 if foreseen is None else foreseen.sample),
            **_told(found.problems),
        }

    def _judge(self, source: Source) -> tuple[Source, Judge]:
        """The rows as the models look at them, and the models with what they compare classes with."""
        from shoal.models.feasibility import all_models, whole_reference
        from shoal.models.judge import Judge

        models = all_models(source.rows.domain, self._asked, self._algorithm)
        crowded = source.crowded(models)
        return crowded, Judge(models, whole_reference(crowded.rows, models))

    def _foresee(self, source: Source, step: Step) -> Foreseen | None:
        """What a run takes, None where none can come to an end; what it would refuse on its way is noted."""
        found = self._found
        step("looking for names in what is published as it is")
        later = _measured(self._recipe, self._algorithm) + named(source, self._recipe.acknowledge)
        told = [*found.problems[found.of_places :], *later]
        foreseen = None
        if not hopeless(told):
            # Whether columns tell people apart was asked of all rows: some of them may seem to, or not.
            published = (*source.rows.domain.schema.sensitive, *source.rows.domain.schema.neutral)
            accepted = {*_codes(told), "W-ROWS", *(f"W-IDENTIFIES:{name}" for name in published)}
            foreseen = source.foresee(self._algorithm, self._asked, accepted, step)
        found.add(later if foreseen is None else _in_order(later, foreseen))
        return foreseen


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
    from shoal.release.secrets import refuse_unkept
    from shoal.release.write import check_output, refuse_unlogged
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
    from shoal.recoding.coded_columns import refuse_unfit
    from shoal.recoding.kinds import PSEUDONYMISED
    from shoal.recoding.secrets import by_column

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
    recipe: Recipe, source: Source, algorithm: Algorithm, judge: Judge, empty: list[Any]
) -> list[ShoalError]:
    """Every refusal, as if those before it had been acknowledged, then infeasibility; as a run meets them."""
    from shoal.models.feasibility import refusals_beforehand
    from shoal.recoding.coded_columns import refuse_uncodable
    from shoal.recoding.publish import Output

    found: list[ShoalError] = []
    try:
        refuse_uncodable(source.rows.domain, algorithm.kind)
    except ShoalError as error:
        found.append(error)
    output = Output(
        order=recipe.output.order, neutral_limit=recipe.output.neutral_limit, acknowledged=set(recipe.acknowledge)
    )
    return [*found, *refusals_beforehand(source.rows, judge, empty, output, algorithm)]


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


def named(source: Source, accepted: Collection[str]) -> list[ShoalError]:
    """Why the gate would refuse these columns; two passes over the rows, one where nothing is hidden."""
    roles, columns = source.rows.domain.schema, source.rows.domain.columns
    if not (*roles.sensitive, *roles.neutral):
        return []
    known, people = Hidden(), Numbering()
    for name, cells in source.left_out().items():
        known.read_others(cells.alias(name), people=roles.subject is not None)
    for batch in source.batches() if naming(roles) else ():
        known.read(batch.hidden, None if batch.subject is None else people.see(batch.subject.to_frame("who")).codes)
    sensitive = [columns[name] for name in roles.sensitive]
    closed = [one.name for one in sensitive if one.hierarchy is not None or one.spec.order]
    open_ones = [name for name in (*roles.sensitive, *roles.neutral) if name not in closed]
    anybody, rows = Anybody(known), Named(known, open_ones)
    for batch in source.batches():
        read = Coded(batch.published)
        anybody.see(read)
        rows.see(read, batch.hidden)
    checks = [rows.own(), anybody.check(), *rows.read(accepted)]
    return [refusal_of([check]) for check in checks if not check.passed]


# ----------------------------------------
# What a check found, in sentences: the same on a terminal and on a page.


_INFEASIBLE = InfeasibleError.exit_code


def findings(data: Mapping[str, Any]) -> list[str]:
    """What stands in the way of a run, what it would take, and what only a run can tell; a sentence each."""
    if "rows" not in data:
        return list(_refused(data))
    return [*warnings(data), *_refused(data), *_foreseen(data["foreseen"]), *_ending(data)]


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


def _foreseen(foreseen: Mapping[str, Any] | None) -> Iterator[str]:
    """What a run takes, and what samples of the rows were refused for."""
    if foreseen is None:
        return
    for sentence in foreseen["likely"]:
        yield f"Likely refused, as {foreseen['sample']:,} rows of it were: {sentence}"
    if foreseen["seconds"] is not None:
        amount = "" if foreseen["bytes"] is None else f" and {foreseen['bytes'] / (1 << 30):.1f} GiB of memory"
        yield f"A run takes about {_duration(foreseen['seconds'])}{amount}."


def _ending(data: Mapping[str, Any]) -> Iterator[str]:
    if data["problems"] or data["foreseen"]["likely"]:
        return
    left = " and ".join(data["untold"])
    yield (
        f"Nothing known before a run stands in its way; the run tells {left}." if left else
        "Nothing stands in the way of a run."
    )  # fmt: skip


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.0f} h"


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
