"""What a comparison is about: a table, or rows that an engine keeps, on which points are made where they are served."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from shoal.catalogue import make
from shoal.comparing.figures import attack_figures
from shoal.comparing.grid import Point
from shoal.comparing.points import DONE, EMPTY, Outcome, Task, attempt, says_nothing
from shoal.comparing.sweep import Scene
from shoal.comparing.work import source_hash
from shoal.data.domain import Domain
from shoal.data.keys import Keys
from shoal.data.table import Table
from shoal.engines.external_rows import KeptRows
from shoal.engines.store import StoredRows
from shoal.errors import ParameterError, RecipeError
from shoal.io.evidence import row_bytes
from shoal.pipeline import Progress
from shoal.recipe.recipe import Recipe
from shoal.recoding.publish import Publishing
from shoal.risk.attacks.case import AttackCase
from shoal.risk.attacks.limits import RISKS, check_limits
from shoal.risk.attacks.run import hold_out as split
from shoal.risk.attacks.run import run_attacks
from shoal.running import keeps_rows, read_recipe_source
from shoal.streaming.attackable import SAMPLE, Sampling, attackable
from shoal.streaming.recipes import memory_of, opened, stream_of
from shoal.streaming.release import Judged
from shoal.streaming.unserved import refuse_unserved


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
    table = recipe if isinstance(recipe, Table) else read_recipe_source(recipe)

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
