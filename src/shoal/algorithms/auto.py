"""Trying several methods on a part of the table, and running the one that does best on all of it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.algorithms.aims import POLISHED
from shoal.algorithms.base import Algorithm, Problem, shuffled_codes
from shoal.algorithms.polish import held
from shoal.algorithms.prices import prices_of
from shoal.errors import InfeasibleError, ParameterError, UserError
from shoal.kernels.median_split import halve
from shoal.models.base import Model
from shoal.models.judge import Judge
from shoal.params import whole
from shoal.recoding.recodings import Recoding
from shoal.registry import load, make

# Whole stretches of neighbouring records, so that they lie as close together as in the table.
_STRETCH = 512
# Measures of levels, which only a full-domain recoding has.
_LEVELS = ("height", "rv", "genc", "precision")


@dataclass(frozen=True, kw_only=True)
class Auto(Algorithm):
    """Choose a method by the measure it reaches on a part of the table.

    Parameters
    ----------
    measure
        What to optimise.
    candidates
        Methods to try, each as a recipe writes an algorithm. By default those that suit the measure: partitioning and
        clustering, with polish where it can lower the measure, or full-domain search where levels count.
    sample
        Records to try them on: stretches of neighbours from a keyed choice of places. A smaller table is used whole.
    k
        Shorthand that adds the model ``k``.

    Examples
    --------
    >>> Auto(measure="ncp", sample=1000).parameters()
    {'name': 'auto', 'suppression_limit': 0.0, 'measure': 'ncp', 'sample': 1000}
    """

    name: ClassVar[str] = "auto"
    shorthand: ClassVar[tuple[str, ...]] = ("k",)
    measure: str = "lm"
    candidates: Sequence[Mapping[str, Any]] | None = None
    sample: int = 4096
    k: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        load("measure", self.measure)
        whole("Auto", "sample", self.sample, least=2)
        if self.candidates is not None:
            given = tuple(dict(spec) for spec in self.candidates)
            object.__setattr__(self, "candidates", given)
            if not given:
                raise ParameterError("Auto has no candidates: name at least one, or leave them out.")
            self._methods(given, 1)

    def models(self) -> list[Model]:
        """The model that ``k`` stands for."""
        return [] if self.k is None else [load("model", "k")(k=self.k)]

    def run(self, problem: Problem) -> Recoding:
        """Try every candidate on the part, then the best of them on all rows."""
        part = self._part(problem)
        specs = self.candidates or portfolio(self.measure, problem)
        methods = self._methods(specs, problem.domain.n)
        tried: list[dict[str, Any]] = []
        for spec, method in zip(specs, methods, strict=True):
            problem.progress(f"trying {_label(spec)} on {part.table.n} records")
            figure, failed = self._try(method, part)
            tried.append({"method": _label(spec), "algorithm": method.parameters(), "figure": figure, "failed": failed})
        figures = self._ranked([one["figure"] for one in tried])
        # On the part none may do, and on all rows one still might: the first is as good a guess as any.
        best = int(np.argmin(figures))
        problem.progress(f"running {tried[best]['method']} on all records")
        recoding = methods[best].run(problem)
        notes = {
            **recoding.notes,
            "auto": {
                "measure": self.measure,
                "records": part.table.n,
                "chosen": methods[best].parameters(),
                "why": _reason(tried, figures, self.measure, part.table.n),
                "tried": tried,
            },
        }
        return dataclasses.replace(recoding, notes=notes)

    def _methods(self, specs: Sequence[Mapping[str, Any]], n: int) -> list[Algorithm]:
        # As a share, which means the same on a part of the rows.
        made = []
        for spec in specs:
            if spec.get("name") == self.name:
                raise ParameterError("Auto cannot be its own candidate: name the methods it should choose from.")
            made.append(make("algorithm", {"suppression_limit": self.share_allowed(n), **spec}))
            if not made[-1].kind.generalises:
                raise ParameterError(f"Auto chooses among methods that generalise, and '{spec['name']}' does not.")
        return made

    def _part(self, problem: Problem) -> Problem:
        """The same problem on part of the rows; models still compare with the whole table."""
        table = problem.table
        if table.n <= self.sample:
            return problem
        order, codes = shuffled_codes(problem)
        places, starts = halve(codes, prices_of(table.domain), min(_STRETCH, self.sample))
        chosen = problem.keys.generator("auto").permutation(starts.size - 1)
        taken = np.cumsum(np.diff(starts)[chosen])
        chosen = chosen[: int(np.searchsorted(taken, self.sample)) + 1]
        rows = np.sort(order[np.concatenate([places[starts[s] : starts[s + 1]] for s in chosen])])
        part = problem.memory.part(rows, problem.judge.attributes)
        reference = dataclasses.replace(problem.judge.reference, domain=part.domain, whole=False)
        judge = Judge(problem.judge.models, reference)
        return dataclasses.replace(problem, rows=part, judge=judge, progress=lambda step: None)

    def _try(self, method: Algorithm, part: Problem) -> tuple[float | None, str | None]:
        """The figure that a method reaches on the part, or why it has none."""
        try:
            released = held(part, method.run(part))
        except (InfeasibleError, UserError) as error:
            return None, str(error)
        if released.n_classes == 0 or released.n_suppressed > method.rows_allowed(part.table.n):
            return None, "more rows would be suppressed than allowed"
        score = load("measure", self.measure)().score(released.price_stats())
        return score.value, None if score.reason is None else f"no {self.measure}: {score.reason}"

    def _ranked(self, figures: Sequence[float | None]) -> list[float]:
        """Figures of which less is better; infinite where there is none."""
        sign = -1.0 if load("measure", self.measure).better == "up" else 1.0
        return [math.inf if one is None else sign * one for one in figures]


def portfolio(measure: str, problem: Problem) -> list[dict[str, Any]]:
    """Methods that suit a measure and a table."""
    if measure in _LEVELS:
        return [{"name": "optimal", "measure": measure}, {"name": "incognito"}]
    polish = {"polish": measure} if measure in POLISHED else {"polish": "lm"}
    size = max(256, 8 * problem.judge.k)
    found: list[dict[str, Any]] = [
        {"name": "mondrian", "mode": "relaxed", **polish},
        {"name": "mondrian", "mode": "relaxed"},
        {"name": "k-members", "loss": "spread", "prepartition": size, **polish},
        {"name": "top-down", "prepartition": size, **polish},
        {
            "name": "toc", "listing": "printed", "utility_weight": 1.0, "protection_weight": 0.0,
            "max_size": 2 * problem.judge.k - 1, **polish,
        },
    ]
    if all(column.kind == "tree" for column in problem.table.quasi):
        found.append({"name": "optimal", "repeat": True, **polish})
    return found


def _label(spec: Mapping[str, Any]) -> str:
    """A method as it was given, for people."""
    return ", ".join([str(spec["name"]), *(f"{key} = {value}" for key, value in spec.items() if key != "name")])


def _reason(tried: Sequence[Mapping[str, Any]], ranked: Sequence[float], measure: str, n: int) -> str:
    """Why which of the methods was chosen, in one sentence."""
    first, *others = (tried[place] for place in np.argsort(ranked, kind="stable"))
    if first["figure"] is None:
        return f"No method reached any {measure} on the {n} records tried; '{first['method']}' is the first of them."
    text = f"Of {len(tried)} methods tried on {n} records, '{first['method']}' reached the best {measure}"
    text += f", {first['figure']:.4g}"
    if others and others[0]["figure"] is not None:
        text += f"; the next best was '{others[0]['method']}' with {others[0]['figure']:.4g}"
    return text + "."
