"""Comparing algorithms and parameters on one table."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.algorithms.base import Algorithm
from shoal.attacks.limits import RISKS, attacks_of, known_limits
from shoal.catalogue import load, make, names
from shoal.comparing.advice import advise
from shoal.comparing.figures import Axis, default_axes, find_axis
from shoal.comparing.front import oriented, pareto, ranked
from shoal.comparing.grid import Grid, Point, has_classes, plain
from shoal.comparing.points import DONE, Outcome, Task
from shoal.comparing.sources import open_source
from shoal.comparing.sweep import Progress, Scene, sweep
from shoal.comparing.work import Work, open_work
from shoal.errors import ParameterError
from shoal.grammar import as_list
from shoal.io.recipes import Compare, Recipe, load_recipe
from shoal.judging.beforehand import all_models
from shoal.models.base import Model
from shoal.params import real, whole
from shoal.pipeline import Given
from shoal.table.domain import Domain
from shoal.table.table import Table


@dataclass(frozen=True, eq=False, kw_only=True)
class Entry:
    """A point and what came of it."""

    point: Point
    outcome: Outcome

    def value(self, axis: Axis) -> float | None:
        """Its figure on an axis."""
        return self.outcome.figures.get(axis.name)

    def is_placed(self, axes: Sequence[Axis]) -> bool:
        """Whether it has a figure on every axis."""
        return all(self.value(axis) is not None for axis in axes)


@dataclass(frozen=True, eq=False, kw_only=True)
class Comparison:
    """Points side by side. Private: its figures tell about suppressed people.

    Attributes
    ----------
    entries
        Points with their outcomes, an algorithm after another.
    axes
        Utility, protection and measured risk.
    varied
        Parameters of the grid.
    evaluated
        Evaluations beside the axes, and which way each is better.
    rows, held_out
        Rows that releases were made from, and rows kept back as a control.
    reused
        Points whose outcomes an earlier sweep had left.
    notes
        What else there is to say.
    """

    entries: Sequence[Entry]
    axes: Sequence[Axis]
    varied: Sequence[str]
    evaluated: Mapping[str, str] = field(default_factory=dict)
    rows: int = 0
    held_out: int = 0
    reused: int = 0
    notes: Sequence[str] = ()

    @cached_property
    def costs(self) -> np.ndarray:
        """float64, shape (points, axes): smaller is better, NaN in rows that take no part in fronts."""
        values = np.full((len(self.entries), len(self.axes)), np.nan)
        for row, entry in enumerate(self.entries):
            if entry.outcome.status == DONE and not entry.outcome.over and entry.is_placed(self.axes):
                values[row] = [entry.value(axis) for axis in self.axes]
        return oriented(values, [axis.better for axis in self.axes])

    @cached_property
    def front(self) -> list[Entry]:
        """Points that no other beats on all axes together."""
        return [self.entries[row] for row in np.flatnonzero(pareto(self.costs)).tolist()]

    def plane_front(self, first: int, second: int) -> list[Entry]:
        """Points that no other beats on two of the axes, by the first of them."""
        costs = self.costs[:, [first, second]]
        rows = np.flatnonzero(pareto(costs))
        return [self.entries[row] for row in rows[np.lexsort((costs[rows, 1], costs[rows, 0]))].tolist()]

    @cached_property
    def ranking(self) -> list[tuple[Entry, float]]:
        """The front with distances to its ideal corner, nearest first."""
        front = self.front
        if not front:
            return []
        costs = self.costs[[entry.point.number for entry in front]]
        suppressed = np.array([entry.outcome.suppressed for entry in front])
        order, far = ranked(costs, suppressed, np.array([entry.outcome.seconds for entry in front]))
        return [(front[row], float(away)) for row, away in zip(order, far, strict=True)]

    @property
    def recommended(self) -> Entry | None:
        """The point of the front nearest to the ideal corner, None where there is no front."""
        return self.ranking[0][0] if self.ranking else None

    @property
    def recommendation(self) -> str:
        """One paragraph: which point, why, and what it costs."""
        return advise(self)

    @cached_property
    def frame(self) -> pl.DataFrame:
        """A row a point."""
        rows = pl.DataFrame([self._row(entry) for entry in self.entries], infer_schema_length=None)
        # Where no point has a figure, its column is still one of numbers.
        texts = {"point", "algorithm", "status", "reason", "over_limits", *self.varied}
        empty = [name for name, dtype in rows.schema.items() if dtype == pl.Null and name not in texts]
        return rows.with_columns(pl.col(empty).cast(pl.Float64))

    def _row(self, entry: Entry) -> dict[str, Any]:
        outcome, risk = entry.outcome, self.axes[-1].name
        named = dict.fromkeys([*(axis.name for axis in self.axes), *self.evaluated])
        beside = outcome.beside.get(risk, {})
        return {
            "point": entry.point.label,
            "algorithm": entry.point.series,
            **{key: self._setting(entry, key) for key in self.varied},
            "status": outcome.status,
            "reason": outcome.reason or None,
            **{name: outcome.figures.get(name) for name in named},
            **{f"{risk} {word}": beside.get(word) for word in ("low", "high", "baseline", "control")},
            "over_limits": " ".join(outcome.over) or None,
            "suppressed": outcome.suppressed if outcome.status == DONE else None,
            "classes": outcome.classes if outcome.status == DONE else None,
            "smallest": outcome.smallest if outcome.status == DONE else None,
            "seconds": round(outcome.seconds, 3),
            "front": entry in self.front,
            "recommended": entry is self.recommended,
        }

    def _setting(self, entry: Entry, key: str) -> Any:
        """A setting as a cell; a parameter with values of several types is text throughout."""
        value = entry.point.settings.get(key)
        mine = [other.point.settings[key] for other in self.entries if key in other.point.settings]
        numbers = all(isinstance(one, int | float) and not isinstance(one, bool) for one in mine)
        return value if value is None or numbers else plain(value)


def compare(
    source: Recipe | Table | str | Path,
    *,
    algorithms: Sequence[Algorithm | Mapping[str, Any] | str] | None = None,
    grid: Mapping[str, Sequence[Any]] | None = None,
    models: Given[Model] | Sequence[Given[Model]] | None = None,
    utility: str | None = None,
    protection: str | None = None,
    risk: str | None = None,
    evaluate: Sequence[Mapping[str, Any] | str] | None = None,
    hold_out: float | None = None,
    limits: Mapping[str, Any] | None = None,
    acknowledge: Sequence[str] | None = None,
    seed: int | None = None,
    work: str | Path | None = None,
    fresh: bool = False,
    processes: int = 1,
    progress: Progress = lambda done, total, label: None,
) -> Comparison:
    """Make and measure a release at every point of a grid; nothing is published.

    Parameters
    ----------
    source
        A recipe, its path, or a table. What follows replaces what the recipe says.
    algorithms
        Configured, by name, or as a recipe writes them.
    grid
        Parameter to its values, see :class:`shoal.comparing.grid.Grid`.
    models
        What every point begins with.
    utility, protection, risk
        The axes, by name of a measure, a risk of the classes, an attack or an evaluation.
    evaluate
        Evaluations to put beside them, by name or as a recipe writes them.
    hold_out
        Share of the rows to keep back as a control of the attacks.
    work
        A private file in which outcomes are kept, so that a sweep that was stopped goes on; ``fresh`` begins anew.
    processes
        More than one starts processes, which a script must expect (``if __name__ == "__main__":``).

    Examples
    --------
    >>> import shoal
    >>> people = shoal.example_census(200).select("age", "sex", "diagnosis")
    >>> table = shoal.read(people, quasi=["age", "sex"], sensitive=["diagnosis"])
    >>> found = shoal.compare(table, algorithms=["mondrian", "top-down"], grid={"k": [2, 5]}, seed=1,
    ...                       acknowledge=["W-UNMODELLED:diagnosis"])
    >>> found.frame.height, found.frame["status"].unique().to_list()
    (4, ['done'])
    """
    whole("a comparison", "processes", processes, least=1)
    recipe = source if isinstance(source, Recipe | Table) else load_recipe(Path(source))
    asked = Compare() if isinstance(recipe, Table) else recipe.compare
    named = None if algorithms is None else [_spec(one) for one in algorithms]
    swept = Grid(
        algorithms=_algorithms(recipe, asked.algorithms if named is None else named),
        models=_models(recipe, models),
        values=asked.grid if grid is None else grid,
    )
    points = swept.points()
    part = real("a comparison", "hold_out", asked.hold_out if hold_out is None else hold_out, low=0.0, high=0.9)
    given = {"utility": utility or asked.utility, "protection": protection or asked.protection}
    given |= {"risk": risk or asked.risk}
    wanted = [_spec(one) for one in (asked.evaluate if evaluate is None else evaluate)]
    if seed is None and isinstance(recipe, Recipe):
        seed = recipe.seed

    done = 0

    def step(text: str) -> None:
        progress(done, len(points), text)

    def counted(now: int, total: int, label: str) -> None:
        nonlocal done
        done = now
        progress(now, total, label)

    with open_source(recipe, step) as rows:
        roles = _roles(given, rows.domain, swept.algorithms)
        wanted += [{"name": name} for name in _lacking(roles, wanted)]
        for spec in wanted:
            make("evaluation", spec)
        evaluated = list(dict.fromkeys(str(spec["name"]) for spec in wanted))
        axes = _axes(roles, rows.domain, evaluated)
        task = _task(recipe, wanted, limits, acknowledge)
        for point in points:  # what is contradictory is found before anything runs
            all_models(rows.domain, [make("model", spec) for spec in point.models], make("algorithm", point.algorithm))
        attacks = [attack for axis in axes for attack in axis.attacks]
        task = dataclasses.replace(task, attacks=sorted({*attacks, *attacks_of(task.limits)}))
        kept = open_work(None if work is None else Path(work), rows.stamp, seed=seed, fresh=fresh)
        scene, held_out = rows.scene(task, kept.keys, part)
        entries, reused = _run(scene, points, kept, part, processes, counted)
        notes = [*_unasked(swept), *rows.notes(points, scene.task), *([kept.note] if kept.note else [])]
        n = rows.domain.n - held_out
    return Comparison(
        entries=entries, axes=[_turned(axis, entries) for axis in axes], varied=list(swept.values), rows=n,
        evaluated={name: _better(name, entries) for name in evaluated if name not in {axis.name for axis in axes}},
        held_out=held_out, reused=reused, notes=notes,
    )  # fmt: skip


def _run(
    scene: Scene, points: Sequence[Point], work: Work, part: float, processes: int, progress: Progress
) -> tuple[list[Entry], int]:
    """Every point's outcome, those left by an earlier sweep included, and how many these were."""
    digests = [work.digest(point, scene.task, part) for point in points]
    missing = [point for point in points if digests[point.number] not in work.done]
    reused = len(points) - len(missing)
    progress(reused, len(points), "")
    # Closed even when an interrupt comes between two points, which ends the processes.
    with closing(sweep(scene, missing, processes)) as results:
        for done, (point, outcome) in enumerate(results, reused + 1):
            work.add(digests[point.number], outcome)
            progress(done, len(points), point.label)
    return [Entry(point=one, outcome=work.done[digests[one.number]]) for one in points], reused


def _roles(
    given: Mapping[str, str | None], domain: Domain, algorithms: Sequence[Mapping[str, Any]]
) -> dict[str, str]:
    """What each axis shows; a comparison of several kinds of release has other axes, unless it is told its own."""
    kinds = any(not load("algorithm", str(spec["name"])).kind.generalises for spec in algorithms)
    usual = default_axes(list(domain.schema.sensitive), kinds and given["protection"] is None)
    return {role: given.get(role) or name for role, name in usual.items()}


def _unasked(swept: Grid) -> list[str]:
    """That models are not asked of everybody, where there are any."""
    noisy = list(dict.fromkeys(str(spec["name"]) for spec in swept.algorithms if not has_classes(str(spec["name"]))))
    asked = swept.models or any(key.partition(".")[0] in names("model") for key in swept.values)
    return [f"No model is asked of {', '.join(noisy)}, whose records only happen to agree."] if noisy and asked else []


def _lacking(roles: Mapping[str, str], wanted: Sequence[Mapping[str, Any]]) -> list[str]:
    """Evaluations that are on an axis and were not asked for."""
    known = {spec["name"] for spec in wanted}
    return [name for name in roles.values() if name in names("evaluation") and name not in known]


def _axes(roles: Mapping[str, str], domain: Domain, evaluations: Sequence[str]) -> list[Axis]:
    sensitive = list(domain.schema.sensitive)
    axes = [find_axis(role, name, sensitive, evaluations) for role, name in roles.items()]
    twice = [axis for axis in axes if sum(axis.name == other.name for other in axes) > 1]
    if twice:
        raise ParameterError(f"The figure '{twice[0].name}' is on two axes of the comparison: choose another for one.")
    return axes


def _turned(axis: Axis, entries: Sequence[Entry]) -> Axis:
    """An axis the way round that findings say is better."""
    return axis if axis.source != "evaluation" else dataclasses.replace(axis, better=_better(axis.name, entries))


def _better(name: str, entries: Sequence[Entry]) -> str:
    """Which way an evaluation is better, by the first of its findings."""
    return next((entry.outcome.better[name] for entry in entries if name in entry.outcome.better), "down")


def _spec(one: Algorithm | Mapping[str, Any] | str) -> dict[str, Any]:
    """An algorithm as a recipe writes it, shorthand such as ``k`` included."""
    if isinstance(one, str):
        return {"name": one}
    if isinstance(one, Mapping):
        return dict(one)
    given = {field.name: getattr(one, field.name) for field in dataclasses.fields(one)}
    return {"name": one.name} | {key: value for key, value in given.items() if value is not None}


def _algorithms(source: Recipe | Table, named: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Algorithms to compare, by default the recipe's.

    What the recipe sets for its own algorithm holds for it here too, and its suppression limit for all.
    """
    if isinstance(source, Table):
        return [dict(spec) for spec in named] or [{"name": "mondrian"}]
    own = source.algorithm
    shared = {key: value for key, value in own.items() if key in ("suppression_limit", "max_suppressed")}
    return [{**(own if spec["name"] == own["name"] else shared), **spec} for spec in named or [own]]


def _models(source: Recipe | Table, given: Any) -> list[dict[str, Any]]:
    if given is not None:
        return [one.parameters() for one in as_list("model", given)]
    return [] if isinstance(source, Table) else [dict(spec) for spec in source.models]


def _task(
    source: Recipe | Table,
    evaluate: Sequence[Mapping[str, Any]],
    limits: Mapping[str, Any] | None,
    acknowledge: Sequence[str] | None,
) -> Task:
    settings: dict[str, Any] = {"acknowledge": list(acknowledge or ())}
    if isinstance(source, Recipe):
        output = source.output
        settings = {
            "acknowledge": list(source.acknowledge if acknowledge is None else acknowledge),
            "suppressed": output.suppressed,
            "order": output.order,
            "neutral_limit": output.neutral_limit,
            "engine": source.engine.name,
        }
        limits = source.limits if limits is None else limits
    known_limits(limits or {}, RISKS)
    return Task(evaluate=list(evaluate), limits=dict(limits or {}), settings=settings)
