"""What a run would find, as far as it can be known before: for the command and for the server's job of that name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.checking.foreseen import Foreseen, hopeless
from shoal.errors import InfeasibleError, RefusalError, ShoalError

if TYPE_CHECKING:
    from shoal.algorithms.base import Algorithm
    from shoal.checking.sources import Source
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
    from shoal.checking.sources import read_source

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
    from shoal.catalogue import make
    from shoal.risk.attacks.limits import RISKS, known_limits
    from shoal.running import given_codes

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
    from shoal.running import keeps_rows
    from shoal.streaming.unserved import refuse_unopened, unserved

    if not keeps_rows(recipe):
        return True
    before = len(found.problems)
    found.tried(lambda: refuse_unopened(recipe, algorithm))
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
        from shoal.io.gating import person_refusals
        from shoal.models.feasibility import vacuous
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
        from shoal.checking.named import named

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
    from shoal.io.hash_chain import refuse_unlogged
    from shoal.io.output import check_output
    from shoal.running import refuse_unkept
    from shoal.vault.remembering import refuse_unremembered

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
