"""The points of a comparison: algorithms times the parameters of a grid, checked before anything runs."""

from __future__ import annotations

import dataclasses
import itertools
import os
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from shoal.data.coding import canonical_text
from shoal.data.hierarchy import ROOT
from shoal.data.keys import Keys
from shoal.engines.base import Capability, OpenRows
from shoal.errors import GateError, InfeasibleError, MissingExtraError, ParameterError, ShoalError, UserError
from shoal.params import nearest
from shoal.recoding.cover import not_suppressed
from shoal.recoding.kinds import Kind, Trait
from shoal.recoding.publish import Output, Publishing
from shoal.registry import load, make, names, working
from shoal.release.attack_case import NOBODY_HELD_OUT, attack_case
from shoal.release.compare.figures import attack_figures
from shoal.release.prepare import MEMORY, Plan, Progress, silent
from shoal.release.publish import publish
from shoal.release.sinks import Elsewhere, Frames
from shoal.results import Release
from shoal.risk.attacks.base import AttackResult
from shoal.risk.attacks.limits import check_limits, class_risks
from shoal.risk.attacks.run import run_attacks


@dataclass(frozen=True, kw_only=True)
class Grid:
    """What is varied.

    Attributes
    ----------
    algorithms
        One table an algorithm, as a recipe writes it.
    models
        Models that every point begins with, but those of algorithms whose releases have no classes to promise
        anything of (noise).
    values
        Parameter to its values. A parameter is the name of a model (its main parameter), ``MODEL.PARAMETER``,
        ``ALGORITHM.PARAMETER`` (of that algorithm only), or a parameter that every algorithm has.

    Examples
    --------
    >>> grid = Grid(algorithms=[{"name": "mondrian"}, {"name": "upc"}], values={"k": [2, 5], "upc.size": [50, 90]})
    >>> [point.label for point in grid.points()][:3]
    ['mondrian, k=2', 'mondrian, k=5', 'upc, k=2, size=50']
    """

    algorithms: Sequence[Mapping[str, Any]]
    models: Sequence[Mapping[str, Any]] = ()
    values: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    def points(self) -> list[Point]:
        """Every point, an algorithm after another; an unknown parameter or a value out of range is an error."""
        targets = {key: self._target(key) for key in self.values}
        series = _series(self.algorithms)
        found: list[Point] = []
        for name, spec in zip(series, self.algorithms, strict=True):
            load("algorithm", spec["name"])  # an unknown name proposes the nearest one
            mine = [key for key, target in targets.items() if target.concerns(str(spec["name"]))]
            for chosen in itertools.product(*(self.values[key] for key in mine)):
                settings = dict(zip(mine, chosen, strict=True))
                found.append(self._point(len(found), name, spec, settings, targets))
        return found

    def _point(
        self, number: int, series: str, spec: Mapping[str, Any], settings: Mapping[str, Any], targets: Mapping[str, Any]
    ) -> Point:
        algorithm = dict(spec)
        models = [dict(model) for model in self.models] if has_classes(str(spec["name"])) else []
        for key, value in settings.items():
            targets[key].set(algorithm, models, value)
        make("algorithm", algorithm)
        for model in models:
            make("model", model)
        return Point(number=number, series=series, algorithm=algorithm, models=models, settings=settings)

    def _target(self, key: str) -> _Target:
        owner, dotted, parameter = key.partition(".")
        if not dotted and key in names("model"):
            return _Target(kind="model", owner=key, parameter=str(load("model", key).main))
        mine = list(dict.fromkeys(str(spec["name"]) for spec in self.algorithms))
        if not dotted and all(key in _parameters("algorithm", name) for name in mine):
            return _Target(kind="algorithm", owner=None, parameter=key)
        if dotted and owner in names("model") and parameter in _parameters("model", owner):
            return _Target(kind="model", owner=owner, parameter=parameter)
        if dotted and owner in mine and parameter in _parameters("algorithm", owner):
            return _Target(kind="algorithm", owner=owner, parameter=parameter)
        raise ParameterError(f"The grid has no parameter '{key}' to vary. {_hint(key, mine)}")


@dataclass(frozen=True, kw_only=True)
class Point:
    """One release to be made.

    Attributes
    ----------
    number
        Its place in the comparison.
    series
        The algorithm, with its parameters where the comparison has it several times.
    algorithm, models
        As a recipe writes them.
    settings
        The grid's parameters at this point.
    """

    number: int
    series: str
    algorithm: Mapping[str, Any]
    models: Sequence[Mapping[str, Any]]
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """Algorithm and settings for people, such as ``mondrian, k=5``."""
        # A parameter of the series' own algorithm needs no owner before it.
        own = f"{self.algorithm['name']}."
        return ", ".join([self.series, *(f"{key.removeprefix(own)}={plain(v)}" for key, v in self.settings.items())])


def has_classes(algorithm: str) -> bool:
    """Whether records of its releases are alike because people are, so that models can be asked of them."""
    kind: Kind = load("algorithm", algorithm).kind
    return kind.has(Trait.ALIKE)


def plain(value: Any) -> str:
    """A value of the grid for people."""
    return f"{value:g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True, kw_only=True)
class _Target:
    """What a parameter of the grid sets: of a model, of one algorithm, or (owner None) of all algorithms."""

    kind: str
    owner: str | None
    parameter: str

    def concerns(self, algorithm: str) -> bool:
        return has_classes(algorithm) if self.kind == "model" else self.owner in (None, algorithm)

    def set(self, algorithm: dict[str, Any], models: list[dict[str, Any]], value: Any) -> None:
        if self.kind == "algorithm":
            algorithm[self.parameter] = value
            return
        same = [model for model in models if model["name"] == self.owner]
        if not same:
            same = [{"name": self.owner}]
            models.extend(same)
        for model in same:
            model[self.parameter] = value


def _series(algorithms: Sequence[Mapping[str, Any]]) -> list[str]:
    """A name for each algorithm, with its parameters where the name alone is not enough."""
    if not algorithms:
        raise ParameterError("A comparison needs an algorithm: name some under [compare].")
    known = [str(spec["name"]) for spec in algorithms]
    found = []
    for name, spec in zip(known, algorithms, strict=True):
        given = " ".join(f"{key}={plain(value)}" for key, value in spec.items() if key != "name")
        found.append(f"{name} ({given})" if known.count(name) > 1 and given else name)
    twice = [name for name in found if found.count(name) > 1]
    if twice:
        raise ParameterError(f"The comparison has the algorithm '{twice[0]}' twice: keep one.")
    return found


def _parameters(kind: str, name: str) -> list[str]:
    return [one.name for one in dataclasses.fields(load(kind, name))]


def _hint(key: str, algorithms: Sequence[str]) -> str:
    options = list(_options(algorithms))
    alike = [option for option in options if ("." in option) == ("." in key)]
    near = nearest(key, alike) or nearest(key, options)
    shown = "a model such as k, MODEL.PARAMETER, ALGORITHM.PARAMETER of an algorithm that is compared"
    return f"Did you mean '{near}'?" if near else f"It can be {shown}, or a parameter that all of those have."


def _options(algorithms: Sequence[str]) -> Iterator[str]:
    """Everything that a grid of these algorithms can vary."""
    models = working("model")
    yield from models
    for kind, owners in (("model", models), ("algorithm", algorithms)):
        for owner in owners:
            yield from (f"{owner}.{parameter}" for parameter in _parameters(kind, owner))
    shared = [set(_parameters("algorithm", name)) for name in algorithms]
    yield from sorted(set.intersection(*shared)) if shared else ()


# ----------------------------------------
# One point of a comparison: make the release, price it, attack it, and say what came of it.


DONE, EMPTY, INFEASIBLE, REFUSED, GATE, FAILED = "done", "empty", "infeasible", "refused", "gate", "failed"


@dataclass(frozen=True, kw_only=True)
class Task:
    """What is the same at every point.

    Attributes
    ----------
    attacks, evaluate
        Names of the attacks to make, and evaluations as a recipe writes them.
    limits
        As in a recipe.
    output
        How releases are published, and what is accepted.
    memory
        Bytes that making and attacking one may take.
    """

    attacks: Sequence[str] = ()
    evaluate: Sequence[Mapping[str, Any]] = ()
    limits: Mapping[str, Any] = field(default_factory=dict)
    output: Output = field(default_factory=Output)
    memory: int = MEMORY


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of one point; plain data that goes through JSON unchanged.

    Attributes
    ----------
    status
        ``"done"``, ``"infeasible"`` (no release satisfies the models), ``"refused"`` (this algorithm cannot work on
        this table so), ``"gate"`` (it failed the gate) or ``"failed"`` (our own fault).
    reason
        Why there is no release, or an empty one, in one sentence.
    figures
        Every measure, risk, attack and evaluation by name; None where it has no value here.
    reasons
        Why a figure has no value.
    beside
        Of attacks: interval, baseline and control of each figure.
    better
        Of evaluations: whether a figure is better ``"up"`` or ``"down"``.
    over
        One sentence a limit that is exceeded.
    suppressed, classes, smallest
        Share of rows suppressed, classes, rows of the smallest.
    seconds
        Time to make the release, gate and measures included, attacks and evaluations left out.
    statement, not_protected
        As in the release's manifest.
    """

    status: str
    reason: str = ""
    figures: Mapping[str, float | None] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    beside: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    better: Mapping[str, str] = field(default_factory=dict)
    over: Sequence[str] = ()
    suppressed: float = 0.0
    classes: int = 0
    smallest: int = 0
    seconds: float = 0.0
    statement: str = ""
    not_protected: Sequence[str] = ()


def run_point(
    rows: OpenRows, control: pl.DataFrame | None, point: Point, task: Task, keys: Keys, step: Progress = silent
) -> Outcome:
    """Make one release and measure it; whatever stops it is part of the comparison. Nothing is written.

    Parameters
    ----------
    control
        People who were held out of the rows.
    """
    started = time.perf_counter()
    try:
        plan = Plan(
            rows=rows, method=make("algorithm", point.algorithm), models=[make("model", spec) for spec in point.models],
            output=task.output, keys=keys, seed=None, progress=step, memory=task.memory,
        )  # fmt: skip
        in_arrays = Capability.ARRAYS in rows.capabilities
        release = publish(plan.judged(), Frames() if in_arrays else Elsewhere("The rows of a point are not kept."))
        return _measured(release, control, task, keys, time.perf_counter() - started, step)
    except MissingExtraError as error:
        # It would stop every point; the plain error goes from one process to another.
        raise UserError(str(error)) from None
    except ShoalError as error:
        status = INFEASIBLE if isinstance(error, InfeasibleError) else GATE if isinstance(error, GateError) else REFUSED
        return Outcome(status=status, reason=str(error), seconds=time.perf_counter() - started)
    except Exception as error:
        # Its message is not kept, because it may hold somebody's values.
        if os.environ.get("SHOAL_DEBUG") == "1":
            traceback.print_exception(error)
        reason = f"internal: {type(error).__name__}; rerun with SHOAL_DEBUG=1 for the traceback"
        return Outcome(status=FAILED, reason=reason, seconds=time.perf_counter() - started)


def _measured(
    release: Release, control: pl.DataFrame | None, task: Task, keys: Keys, seconds: float, step: Progress
) -> Outcome:
    scores, counts, manifest = release.evidence["measures"], release.evidence["counts"], release.manifest
    sizes, attacked = release.released.sizes, list[AttackResult]()
    if task.attacks and sizes.size:
        case = attack_case(
            release, keys, memory=task.memory, control=control, held_out=True, no_control=NOBODY_HELD_OUT, progress=step
        )[0]
        attacked = run_attacks(case, task.attacks)
    risks = class_risks(release)
    success, beside = attack_figures(attacked)
    evaluated, better, lacking = evaluations(release, task.evaluate, keys)
    empty = _empty(release, manifest)
    return Outcome(
        status=EMPTY if empty else DONE,
        reason=empty,
        # What an empty release scores places nothing: all stars protect perfectly.
        figures={} if empty else {name: one.value for name, one in scores.items()} | risks | success | evaluated,
        reasons={name: one.reason for name, one in scores.items() if one.reason is not None}
        | {one.name: one.note for one in attacked if not one.figures}
        | lacking,
        beside=beside,
        better=better,
        over=check_limits(task.limits, attacked, risks),
        suppressed=counts["suppressed"] / release.rows.domain.n,
        classes=counts["classes"],
        smallest=int(sizes.min()) if sizes.size else 0,
        seconds=seconds,
        statement=manifest["statement"],
        not_protected=list(manifest["not_protected"]),
    )


def _empty(release: Release, manifest: Mapping[str, Any]) -> str:
    """Say in one sentence why a release says nothing about anybody; empty where it does say something."""
    released, domain = release.released, release.rows.domain
    if released.made.generalises:  # one row a class tells
        nothing = pl.Series([None] * released.n_classes, dtype=pl.String)
        frame = Publishing(released, "drop").frame(np.arange(released.n_classes), lambda name: nothing)
    else:
        frame = release.gated.tables["release"]
        kept = not_suppressed(frame, manifest)
        frame = frame if kept is None else frame.filter(kept)
    if not frame.height:
        return "Every row is suppressed, so the release holds nobody."
    quasi = [
        name
        for entry in manifest["columns"]
        if entry["role"] == "quasi"
        for name in entry.get("columns", [entry["name"]])
    ]
    if all((canonical_text(frame[name]).fill_null(ROOT) == ROOT).all() for name in quasi):
        return "Every quasi-identifier is '*' in every row, so the release describes nobody."
    # A range or a set that covers everybody is a '*' by another name.
    if all(frame[name].n_unique() == 1 for name in quasi) and any(one.card > 1 for one in domain.quasi):
        return "Every row has the same quasi-identifiers, so the release tells nobody from anybody."
    return ""


def evaluations(
    release: Release, wanted: Sequence[Mapping[str, Any]], keys: Keys
) -> tuple[dict[str, float | None], dict[str, str], dict[str, str]]:
    """What evaluations find, by name, which way is better, and why one finds nothing.

    An evaluation's own name stands for its most important figure.
    """
    figures: dict[str, float | None] = {}
    better: dict[str, str] = {}
    reasons: dict[str, str] = {}
    if not wanted:
        return figures, better, reasons
    from shoal.utility.evaluate import evaluate
    from shoal.utility.reading import read_release

    reading = read_release(release, keys=keys)
    for spec in wanted:
        found = evaluate(reading, [make("evaluation", spec)])
        for one, name in [*((one, one.name) for one in found), (found[0], str(spec["name"]))]:
            figures[name] = one.value
            if one.value is None:
                reasons[name] = one.sentence
            else:
                better[name] = one.better
    return figures, better, reasons
