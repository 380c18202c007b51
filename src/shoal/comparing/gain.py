"""What a declared workload is worth: the same release with it and without it, side by side."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from shoal.errors import ParameterError
from shoal.evaluation.boundaries import Boundaries
from shoal.evaluation.classifiers import Classifiers
from shoal.evaluation.estimate import answer, summarise
from shoal.evaluation.grammar import parse_queries
from shoal.evaluation.reading import Reading, read_release
from shoal.pipeline import anonymize
from shoal.results import Release
from shoal.table.table import Table
from shoal.table.workload import Workload


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


def workload_gain(table: Table, *, learners: tuple[str, ...] = ("naive-bayes",), **options: Any) -> list[Gain]:
    """Anonymise a table without and with its workload, and measure what the workload is about on both.

    Parameters
    ----------
    learners
        Classifiers of the target (see the evaluation ``classifiers``).
    options
        As for :func:`shoal.anonymize`; with a ``seed`` the figures repeat.
    """
    workload = table.workload
    if workload is None:
        raise ParameterError("The table has no workload to gain by: give read() one.")
    plain, aware = (
        _figures(anonymize(one, **options), workload, learners) for one in (replace(table, workload=None), table)
    )
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
