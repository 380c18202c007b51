"""What a declared workload is worth: the same release with it and without it, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shoal.data.table import Table
from shoal.data.workload import Workload
from shoal.errors import ParameterError, RecipeError
from shoal.pipeline import Progress, anonymize
from shoal.recipe.recipe import Recipe
from shoal.results import Release
from shoal.running import anonymize_table, read_recipe_source
from shoal.utility.classifiers import Classifiers
from shoal.utility.count_queries import answer, summarise
from shoal.utility.domains import Reading
from shoal.utility.features import Boundaries
from shoal.utility.queries import parse_queries
from shoal.utility.reading import read_release


@dataclass(frozen=True, kw_only=True)
class Gain:
    """One figure of two releases.

    Attributes
    ----------
    figure
        ``"query error"`` (median relative error), ``"boundaries kept"``, ``"accuracy LEARNER"``, or ``"lm"``, the loss
        that the workload costs where nobody looks.
    before, after
        Without the workload and with it; None where the figure does not exist.
    better
        ``"up"`` where a larger one is better, else ``"down"``.
    """

    figure: str
    before: float | None
    after: float | None
    better: str


_LEARNERS = ("naive-bayes",)


def workload_gain(table: Table, *, learners: tuple[str, ...] = _LEARNERS, **options: Any) -> list[Gain]:
    """Anonymise a table without and with its workload, and measure what the workload is about on both.

    Parameters
    ----------
    learners
        Classifiers of the target (see the evaluation ``classifiers``).
    options
        As for :func:`shoal.anonymize`; with a ``seed`` the figures repeat.
    """
    workload = table.domain.workload
    if workload is None:
        raise ParameterError("The table has no workload to gain by: give read() one.")
    plain, aware = (anonymize(one, **options) for one in (table.knowing(workload=None), table))
    return _gains(plain, aware, workload, learners)


def recipe_gain(recipe: Recipe, release: Release, *, progress: Progress = lambda step: None) -> list[Gain]:
    """The same of a recipe and its release, which is made once more without the workload."""
    table = read_recipe_source(recipe)
    if table.domain.workload is None:
        raise RecipeError("The recipe has no [workload] to gain by: add one.")
    plain = anonymize_table(recipe, table.knowing(workload=None), progress=progress)
    return _gains(plain, release, table.domain.workload, _LEARNERS)


def _gains(plain_release: Release, aware_release: Release, workload: Workload, learners: tuple[str, ...]) -> list[Gain]:
    plain, aware = (_figures(one, workload, learners) for one in (plain_release, aware_release))
    return [
        Gain(figure=name, before=plain[name][0], after=value, better=better) for name, (value, better) in aware.items()
    ]


def _figures(release: Release, workload: Workload, learners: tuple[str, ...]) -> dict[str, tuple[float | None, str]]:
    reading: Reading = read_release(release)
    found: dict[str, tuple[float | None, str]] = {}
    if workload.queries:
        answers = answer(reading, parse_queries(workload.queries, reading))
        found["query error"] = summarise(answers, reading.keys).median, "down"
    if workload.boundaries:
        found["boundaries kept"] = Boundaries(boundaries=workload.boundaries).run(reading)[0].value, "up"
    if workload.target is not None:
        for one in Classifiers(target=workload.target, learners=learners).run(reading):
            found[one.name.replace("classifiers", "accuracy")] = one.value, "up"
    found["lm"] = release.measure("lm").value, "down"
    return found
