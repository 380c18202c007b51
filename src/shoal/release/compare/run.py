"""Comparing algorithms and parameters on one table."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from shoal.algorithms.base import Algorithm
from shoal.data.domain import Domain
from shoal.data.keys import Keys
from shoal.data.table import Table
from shoal.errors import ParameterError
from shoal.grammar import as_list
from shoal.models.base import Model
from shoal.models.feasibility import all_models
from shoal.params import real, whole
from shoal.recipe.recipe import Compare, Recipe, load_recipe
from shoal.recoding.publish import Output
from shoal.registry import load, make, names
from shoal.release.compare.figures import Axis, default_axes, find_axis
from shoal.release.compare.points import Grid, Outcome, Task, has_classes
from shoal.release.compare.result import Comparison, Entry
from shoal.release.compare.source import make_scene, open_source
from shoal.release.compare.sweep import Progress, sweep
from shoal.release.entry import Given, memory_of
from shoal.release.prepare import MEMORY
from shoal.risk.attacks.limits import RISKS, attacks_of, known_limits


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
    processes: int = 1,
    progress: Progress = lambda done, total, label: None,
) -> Comparison:
    """Make and measure a release at every point of a grid; nothing is published.

    Parameters
    ----------
    source
        A recipe, its path, or a table. What follows replaces what the recipe says.
    algorithms, grid, models
        Algorithms configured, by name or as a recipe writes them; parameters to their values (see
        :class:`shoal.release.compare.points.Grid`); and what every point begins with.
    utility, protection, risk
        The axes, by name of a measure, a risk of the classes, an attack or an evaluation.
    evaluate, hold_out
        Evaluations to put beside them, and the share of the rows to keep back as a control of the attacks.
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
    told = {
        "algorithms": None if algorithms is None else [_spec(one) for one in algorithms], "grid": grid,
        "utility": utility, "protection": protection, "risk": risk, "hold_out": hold_out,
        "evaluate": None if evaluate is None else [_spec(one) for one in evaluate],
    }  # fmt: skip
    asked = _asked(recipe, told, models, seed, limits=limits, acknowledge=acknowledge)
    return _compared(asked, processes, progress)


@dataclass(frozen=True, eq=False, kw_only=True)
class _Asked:
    """What is to be compared: as arguments say, and else the recipe.

    Attributes
    ----------
    axes
        Names of the figures by role, None where nothing was said.
    hold_out
        Share of the rows to keep back.
    """

    source: Recipe | Table
    grid: Grid
    axes: Mapping[str, str | None]
    evaluate: list[dict[str, Any]]
    hold_out: float
    limits: Mapping[str, Any] | None
    acknowledge: Sequence[str] | None
    seed: int | None


def _asked(recipe: Recipe | Table, told: Mapping[str, Any], models: Any, seed: int | None, **more: Any) -> _Asked:
    """What arguments say, and where they are None the recipe."""
    known = Compare() if isinstance(recipe, Table) else recipe.compare
    said = known.model_copy(update={key: value for key, value in told.items() if value is not None})
    return _Asked(
        source=recipe,
        grid=Grid(algorithms=_algorithms(recipe, said.algorithms), models=_models(recipe, models), values=said.grid),
        axes={"utility": said.utility, "protection": said.protection, "risk": said.risk},
        evaluate=[_spec(one) for one in said.evaluate],
        hold_out=real("a comparison", "hold_out", said.hold_out, low=0.0, high=0.9),
        seed=recipe.seed if seed is None and isinstance(recipe, Recipe) else seed,
        **more,
    )


def _compared(asked: _Asked, processes: int, progress: Progress) -> Comparison:
    """Open the source, see that everything asked of it can be, and sweep."""
    points, counter = asked.grid.points(), _Counter(progress)
    say = partial(counter.say, len(points))
    with open_source(asked.source, say) as rows:
        roles = _roles(asked.axes, rows.domain, asked.grid.algorithms)
        wanted = [*asked.evaluate, *({"name": name} for name in _lacking(roles, asked.evaluate))]
        for spec in wanted:
            make("evaluation", spec)
        evaluated = list(dict.fromkeys(str(spec["name"]) for spec in wanted))
        axes = _axes(roles, rows.domain, evaluated)
        task = _task(asked.source, wanted, asked.limits, asked.acknowledge)
        for point in points:  # what is contradictory is found before anything runs
            all_models(rows.domain, [make("model", spec) for spec in point.models], make("algorithm", point.algorithm))
        attacks = [attack for axis in axes for attack in axis.attacks]
        task = dataclasses.replace(task, attacks=sorted({*attacks, *attacks_of(task.limits)}))
        scene = make_scene(asked.source, rows, task, Keys.from_seed(asked.seed), asked.hold_out, say)
        held_out = 0 if scene.control is None else scene.control.height
        outcomes: dict[int, Outcome] = {}
        counter(0, len(points), "")
        # Closed even when an interrupt comes between two points, which ends the processes.
        with closing(sweep(scene, points, processes)) as results:
            for point, outcome in results:
                outcomes[point.number] = outcome
                counter(len(outcomes), len(points), point.label)
        entries = [Entry(point=point, outcome=outcomes[point.number]) for point in points]
        notes = [*_unasked(asked.grid), *scene.notes(points)]
        n = rows.domain.n - held_out
    return Comparison(
        entries=entries, axes=[_turned(axis, entries) for axis in axes], varied=list(asked.grid.values), rows=n,
        evaluated={name: _better(name, entries) for name in evaluated if name not in {axis.name for axis in axes}},
        held_out=held_out, notes=notes,
    )  # fmt: skip


class _Counter:
    """Progress that knows how many points are done when a step beside them is told."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._done = progress, 0

    def __call__(self, done: int, total: int, label: str) -> None:
        self._done = done
        self._progress(done, total, label)

    def say(self, total: int, text: str) -> None:
        """A step that is no point."""
        self._progress(self._done, total, text)


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
    output, memory = Output(acknowledged=list(acknowledge or ())), MEMORY
    if isinstance(source, Recipe):
        limits, memory = source.limits if limits is None else limits, memory_of(source)
        output = Output(
            acknowledged=list(source.acknowledge if acknowledge is None else acknowledge),
            suppressed=source.output.suppressed, order=source.output.order, neutral_limit=source.output.neutral_limit,
        )  # fmt: skip
    known_limits(limits or {}, RISKS)
    return Task(evaluate=list(evaluate), limits=dict(limits or {}), output=output, memory=memory)
