"""One point of a comparison: make the release, price it, attack it, and say what came of it."""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from shoal.catalogue import make
from shoal.comparing.figures import attack_figures
from shoal.comparing.grid import Point
from shoal.data.coding import canonical_text
from shoal.data.domain import Domain
from shoal.data.hierarchy import ROOT
from shoal.data.keys import Keys
from shoal.data.table import Table
from shoal.errors import GateError, InfeasibleError, MissingExtraError, ShoalError, UserError
from shoal.pipeline import anonymize
from shoal.recoding.cover import not_suppressed
from shoal.results import Release
from shoal.risk.attacks.base import AttackResult
from shoal.risk.attacks.limits import check_limits, class_risks
from shoal.risk.attacks.run import make_case, run_attacks
from shoal.risk.attacks.views import people_frame, release_view

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
    settings
        Further arguments of :func:`shoal.pipeline.anonymize`.
    """

    attacks: Sequence[str] = ()
    evaluate: Sequence[Mapping[str, Any]] = ()
    limits: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)


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


def run_point(table: Table, kept: pl.DataFrame | None, point: Point, task: Task, keys: Keys) -> Outcome:
    """Make one release and measure it; whatever stops it is part of the comparison.

    Parameters
    ----------
    kept
        People who were held out of the table, as a control.
    """

    def made(started: float) -> Outcome:
        algorithm = make("algorithm", point.algorithm)
        models = [make("model", spec) for spec in point.models]
        release = anonymize(table, algorithm=algorithm, models=models, keys=keys, **task.settings)
        return _measured(release, kept, task, keys, time.perf_counter() - started)

    return attempt(made)


def attempt(made: Callable[[float], Outcome]) -> Outcome:
    """The outcome of some work, given when it began, or why there is none."""
    started = time.perf_counter()
    try:
        return made(started)
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


def _measured(release: Release, kept: pl.DataFrame | None, task: Task, keys: Keys, seconds: float) -> Outcome:
    scores = release.evidence["measures"]
    attacked = _attacks(release, kept, task.attacks, keys)
    risks = class_risks(release)
    success, beside = attack_figures(attacked)
    figures: dict[str, float | None] = {name: score.value for name, score in scores.items()} | risks | success
    counts = release.evidence["counts"]
    reasons = {name: score.reason for name, score in scores.items() if score.reason is not None}
    sizes = release.released.sizes
    evaluated, better, lacking = evaluations(release, task.evaluate, keys)
    empty = _empty(release)
    return Outcome(
        status=EMPTY if empty else DONE,
        reason=empty,
        # What an empty release scores places nothing: all stars protect perfectly.
        figures={} if empty else figures | evaluated,
        reasons=reasons | {one.name: one.note for one in attacked if not one.figures} | lacking,
        beside=beside,
        better=better,
        over=check_limits(task.limits, attacked, risks),
        suppressed=counts["suppressed"] / release.table.n,
        classes=counts["classes"],
        smallest=int(sizes.min()) if sizes.size else 0,
        seconds=seconds,
        statement=release.manifest["statement"],
        not_protected=list(release.manifest["not_protected"]),
    )


def _empty(release: Release) -> str:
    """Why a release says nothing about anybody, in one sentence; empty where it does say something."""
    frame = release.frame if isinstance(release.frame, pl.DataFrame) else pl.from_dataframe(release.frame)
    kept = not_suppressed(frame, release.manifest)
    return says_nothing(frame if kept is None else frame.filter(kept), release.manifest, release.table.domain)


def says_nothing(frame: pl.DataFrame, manifest: Mapping[str, Any], domain: Domain) -> str:
    """The same of released rows, or of one row a class."""
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


def _attacks(
    release: Release, kept: pl.DataFrame | None, wanted: Sequence[str], keys: Keys
) -> list[AttackResult]:
    if not wanted:
        return []
    case = make_case(
        release_view(release), release.manifest, keys, against=people_frame(release), control=kept,
        no_control=None if kept is not None else "Nobody was held out, so there is no control.",
        release=release, aligned=True, held_out=True,
    )  # fmt: skip
    return run_attacks(case, wanted)


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
