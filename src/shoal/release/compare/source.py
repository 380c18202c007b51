"""What a comparison is about: a table, or rows that an engine keeps, on which points are made where they are served."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from shoal.data.domain import Domain
from shoal.data.keys import Keys
from shoal.data.table import Table
from shoal.engines.external_rows import KeptRows
from shoal.engines.store import StoredRows
from shoal.errors import ParameterError, RecipeError
from shoal.io.evidence import row_bytes
from shoal.recipe.recipe import Recipe
from shoal.recipe.source import read_table
from shoal.recoding.publish import Publishing
from shoal.registry import load, make
from shoal.release.attack_case import SAMPLE, Sampling, attackable, refuse_unattackable
from shoal.release.capabilities import refuse_unserved
from shoal.release.compare.figures import attack_figures
from shoal.release.compare.points import DONE, EMPTY, Outcome, Point, Task, attempt, says_nothing
from shoal.release.compare.sweep import Scene, source_hash
from shoal.release.run import (
    Judged,
    Progress,
    anonymize_table,
    judged_release,
    keeps_rows,
    memory_of,
    opened,
    stream_of,
)
from shoal.risk.attacks.base import AttackResult
from shoal.risk.attacks.case import AttackCase
from shoal.risk.attacks.limits import RISKS, check_limits
from shoal.risk.attacks.run import hold_out as split
from shoal.risk.attacks.run import make_case, refuse_overlap, run_attacks
from shoal.risk.attacks.views import people_frame, release_view


@dataclass(frozen=True, eq=False, kw_only=True)
class Source:
    """Rows to compare releases of.

    Attributes
    ----------
    domain
        What is known of all of them.
    stamp
        A keyed hash of the rows and of how their columns are coded.
    scene
        What points work on, and how many rows were held out.
    notes
        What to say of points, by those that there are.
    """

    domain: Domain
    stamp: Callable[[Keys], str]
    scene: Callable[[Task, Keys, float], tuple[Scene, int]]
    notes: Callable[[list[Point], Task], list[str]] = lambda points, task: []


@contextmanager
def open_source(recipe: Recipe | Table, step: Progress) -> Iterator[Source]:
    """The rows of a table, or of a recipe, in the hands of its engine."""
    if isinstance(recipe, Recipe) and keeps_rows(recipe):
        if recipe.workload is not None:
            name = recipe.engine.name
            raise RecipeError(f"The engine '{name}' does not serve a workload: use 'memory', or leave it out.")
        with opened(recipe, Keys.from_seed(recipe.seed), step) as rows:
            kept = Kept(recipe=recipe, rows=rows, step=step)
            yield Source(domain=rows.domain, stamp=kept.stamp, scene=kept.scene, notes=kept.notes)
        return
    table = recipe if isinstance(recipe, Table) else read_table(recipe)

    def scene(task: Task, keys: Keys, part: float) -> tuple[Scene, int]:
        # Nobody asks for the releases, so they need not be frames of the library that the input came in.
        inside, control = split(replace(table, backend=None), keys, part)
        return Scene(table=inside, kept=control, task=task, keys=keys), 0 if control is None else control.height

    yield Source(domain=table.domain, stamp=lambda keys: source_hash(table, keys), scene=scene)


@dataclass(frozen=True, eq=False, kw_only=True)
class Kept:
    """Rows that an engine keeps: what it serves is made of all of them, all else of a sample in memory."""

    recipe: Recipe
    rows: KeptRows
    step: Progress

    def serves(self, point: Point, task: Task) -> bool:
        """Whether the engine makes and measures a point; evaluations look at rows one by one."""
        method, rows = make("algorithm", point.algorithm), self.rows
        if task.evaluate or not method.kind.generalises:
            return False
        try:
            asked = {"algorithm": dict(point.algorithm), "models": [dict(spec) for spec in point.models], "limits": {}}
            refuse_unserved(self.recipe.model_copy(update=asked), method)
        except RecipeError:
            return False
        fits = not isinstance(rows, StoredRows) or rows.domain.n <= rows.most(memory_of(self.recipe))
        return bool(method.from_cells or method.in_parts or fits)

    def stamp(self, keys: Keys) -> str:
        """A keyed hash of the rows and of how their columns are coded."""
        digest, domain = hmac.new(keys.secret, digestmod=hashlib.sha256), self.rows.domain
        for batch in self.rows.batches("kept"):
            digest.update(row_bytes(batch.plain))
            self.step(f"looking whether the rows have changed: {int(batch.rows[-1]) + 1:,} of {domain.n:,}")
        known: list[Any] = [domain.schema, domain.weights, self.recipe.model_dump_json(exclude={"compare", "output"})]
        digest.update(json.dumps(known, sort_keys=True, default=str).encode())
        return digest.hexdigest()

    def scene(self, task: Task, keys: Keys, part: float) -> tuple[Scene, int]:
        """What points work on."""
        if part:
            raise ParameterError(
                f"Nobody is held out of what the engine '{self.recipe.engine.name}' keeps: set hold_out to 0."
            )
        settings = {**task.settings, "engine": "memory"}
        table = _sampled(self.rows, keys)
        return Scene(table=table, kept=None, task=replace(task, settings=settings), keys=keys, there=self), 0

    def notes(self, points: list[Point], task: Task) -> list[str]:
        """Which points are of a sample."""
        n, apart = self.rows.domain.n, [point for point in points if not self.serves(point, task)]
        if n <= SAMPLE:
            return []
        found = []
        if apart:
            names = ", ".join(dict.fromkeys(point.series for point in apart))
            found.append(
                f"Made from about {SAMPLE:,} of the {n:,} rows, drawn by key, because they look at rows one by one: "
                f"{names}. Figures of so few rows are worse than those of all."
            )
        if len(apart) < len(points) and task.attacks:
            found.append(f"Attacked are about {SAMPLE:,} of the {n:,} rows, in classes counted over all of them.")
        return found

    def run(self, point: Point, task: Task, keys: Keys) -> Outcome:
        """Make one release of all rows, and measure it; nothing is written."""
        return attempt(lambda started: self._made(point, task, keys, started))

    def _made(self, point: Point, task: Task, keys: Keys, started: float) -> Outcome:
        method, models = make("algorithm", point.algorithm), [make("model", spec) for spec in point.models]
        # What a comparison acknowledges goes before what its recipe does, as for points in memory.
        recipe = self.recipe.model_copy(update={"acknowledge": list(task.settings["acknowledge"])})
        stream = stream_of(recipe, self.rows, method, models, keys, self.step)
        judged = stream.judged()
        manifest, _ = judged.gated(lambda frame: None)
        seconds = time.perf_counter() - started
        released, evidence = judged.released, judged.evidence
        sizes = self.rows.stats(released.classmap, []).sizes
        risks: dict[str, float | None] = dict.fromkeys(RISKS, 0.0)
        if sizes.size:
            risks = {"prosecutor_max": float(1.0 / sizes.min()), "prosecutor_mean": float(sizes.size / sizes.sum())}
        case = self._attackable(judged, manifest, keys) if task.attacks and sizes.size else None
        attacked = [] if case is None else run_attacks(case, task.attacks)
        success, beside = attack_figures(attacked)
        scores = evidence["measures"]
        count = released.n_classes
        nothing = pl.Series([None] * count, dtype=pl.String)
        frame = Publishing(released, "drop").frame(np.arange(count), lambda name: nothing)
        empty = says_nothing(frame, manifest, self.rows.domain)
        return Outcome(
            status=EMPTY if empty else DONE,
            reason=empty,
            figures={} if empty else {name: one.value for name, one in scores.items()} | risks | success,
            reasons={name: one.reason for name, one in scores.items() if one.reason is not None}
            | {one.name: one.note for one in attacked if not one.figures},
            beside=beside,
            over=check_limits(task.limits, attacked, risks),
            suppressed=evidence["counts"]["suppressed"] / self.rows.domain.n,
            classes=evidence["counts"]["classes"],
            smallest=int(released.sizes.min()) if count else 0,
            seconds=seconds,
            statement=manifest["statement"],
            not_protected=list(manifest["not_protected"]),
        )


    def _attackable(self, judged: Judged, manifest: Mapping[str, Any], keys: Keys) -> AttackCase:
        memory = memory_of(self.recipe)
        return attackable(judged, manifest, keys, memory=memory, most=SAMPLE, progress=self.step).case


def _sampled(rows: KeptRows, keys: Keys) -> Table:
    """About so many of the rows, drawn by key, as a table in memory with the dictionaries of all."""
    domain = rows.domain
    sampling = Sampling(keys, domain.schema.subject, SAMPLE)
    for batch in rows.batches("kept"):
        codes = {f" {name}": mine.astype(np.int32) for name, mine in batch.codes.items()}
        beside = pl.DataFrame({" key": batch.keys, **codes})
        sampling.see(batch, np.zeros(batch.rows.size, dtype=np.int32), batch.plain.hstack(beside))
    frame, _ = sampling.found()
    codes = {name: frame[f" {name}"].to_numpy() for name in rows.places}
    columns = {
        name: replace(column, frequencies=np.bincount(codes[name], minlength=column.card))
        for name, column in domain.columns.items()
    }
    subjects = None
    if domain.schema.subject is not None:
        subjects = frame[domain.schema.subject].rank("dense").to_numpy().astype(np.int32) - 1
    names = [name for name in domain.types if name in frame.columns]
    return Table(
        kept=frame.select(names), domain=replace(domain, n=frame.height, columns=columns,
                                                 n_subjects=0 if subjects is None else int(subjects.max()) + 1),
        codes=codes, row_keys=frame[" key"].to_numpy(), subjects=subjects, n_read=frame.height, n_dropped=0,
    )  # fmt: skip


# ----------------------------------------
# A recipe's release made to be attacked: in memory, people kept back as a control, or where an engine keeps rows.


HOLD_OUT = 0.2


@dataclass(frozen=True, kw_only=True, eq=False)
class Beside:
    """What is known beside the release: people in the data, people outside it, and further releases."""

    against: pl.DataFrame | None = None
    control: pl.DataFrame | None = None
    others: Sequence[tuple[pl.DataFrame, Mapping[str, Any]]] = ()


def recipe_case(
    recipe: Recipe,
    *,
    part: float = HOLD_OUT,
    beside: Beside | None = None,
    seed: int | None = None,
    progress: Callable[[str], None] = lambda step: None,
) -> tuple[AttackCase, str]:
    """A release made from a recipe, and what it states; ``part`` is kept back where no control is given."""
    known = beside or Beside()
    progress("reading")
    table = read_table(recipe)
    keys = Keys.from_seed(recipe.seed if seed is None else seed)
    inside, kept = split(table, keys, 0.0 if known.control is not None else part)
    release = anonymize_table(recipe, inside, progress=progress)
    people = people_frame(release) if known.against is None else known.against
    outside = kept if known.control is None else _dated(known.control, table)
    if known.control is not None and outside is not None:
        refuse_overlap(table.frame if known.against is None else people, outside)
    told = "Nobody was held out, so there is no control." if outside is None else None
    case = make_case(
        release_view(release), release.manifest, keys, against=people, control=outside, no_control=told,
        release=release, aligned=known.against is None, held_out=known.control is None, others=known.others,
    )  # fmt: skip
    return case, release.manifest["statement"]


def kept_case(
    recipe: Recipe,
    *,
    sample: int | None = None,
    beside: Beside | None = None,
    seed: int | None = None,
    progress: Callable[[str], None] = lambda step: None,
) -> tuple[AttackCase, str, dict[str, int]]:
    """The same where an engine keeps the rows, its own people attacked: also how large a sample of them that is."""
    known = beside or Beside()
    refuse_unattackable(load("algorithm", recipe.algorithm["name"]).kind, recipe.engine.name)
    keys = Keys.from_seed(recipe.seed if seed is None else seed)
    with judged_release(recipe, progress) as (judged, manifest):
        found = attackable(
            judged, manifest, keys, memory=memory_of(recipe), most=SAMPLE if sample is None else sample,
            control=known.control, others=known.others, progress=progress,
        )  # fmt: skip
    return found.case, f"{manifest['statement']}. {found.told}", {"rows": found.people, "of": found.rows}


def _dated(frame: pl.DataFrame, table: Table) -> pl.DataFrame:
    """A control with dates written as the source writes them."""
    given = {name: spec.format for name, spec in table.schema.specs.items() if spec.format is not None}
    texts = [name for name in given if name in frame.columns and frame[name].dtype == pl.String]
    return frame.with_columns(pl.col(name).str.to_date(given[name]) for name in texts)


def attack_data(result: AttackResult) -> dict[str, Any]:
    """A result as plain data."""
    return {
        "name": result.name,
        "story": result.story,
        "note": result.note,
        "excess": result.excess,
        "figures": [
            {
                "name": one.name,
                "value": one.value,
                "low": one.low,
                "high": one.high,
                "baseline": one.baseline,
                "control": one.control,
                "control_interval": one.control_interval,
                "trials": one.trials,
                "beats": one.beats,
                "excess": one.excess,
                "told": one.told(),
            }
            for one in result.figures
        ],
        "also": result.also,
    }
