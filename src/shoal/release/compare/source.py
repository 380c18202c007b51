"""The rows that a comparison is about, and where each of its points is made: of all rows, or of a sample in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from shoal.data.keys import Keys
from shoal.data.rows import in_memory
from shoal.data.table import Table
from shoal.engines.base import Capability, OpenRows
from shoal.engines.memory import MemoryRows
from shoal.errors import ParameterError, RecipeError
from shoal.recipe.recipe import Recipe
from shoal.registry import make
from shoal.release.attack_case import SAMPLE, Sampling
from shoal.release.capabilities import require
from shoal.release.compare.points import Outcome, Point, Task, run_point
from shoal.release.entry import opened
from shoal.release.prepare import Progress, silent
from shoal.risk.attacks.run import hold_out


@contextmanager
def open_source(source: Recipe | Table, step: Progress) -> Iterator[OpenRows]:
    """Open the rows of a table, or of a recipe in the hands of its engine."""
    if isinstance(source, Table):
        yield MemoryRows(source)
        return
    with opened(source, Keys.from_seed(source.seed), step) as rows:
        if source.workload is not None and Capability.WORKLOAD not in rows.capabilities:
            name = source.engine.name
            raise RecipeError(f"The engine '{name}' does not serve a workload: use 'memory', or leave it out.")
        yield rows


@dataclass(frozen=True, eq=False, kw_only=True)
class Scene:
    """What points work on.

    Attributes
    ----------
    table
        All rows, or a sample of those that an engine keeps elsewhere.
    control
        People who were held out of the table.
    rows, recipe
        Rows that an engine keeps elsewhere, of which it makes the points that it serves, and their recipe; else None.
    """

    table: Table
    control: pl.DataFrame | None
    task: Task
    keys: Keys
    rows: OpenRows | None = None
    recipe: Recipe | None = None
    step: Progress = silent

    def serves(self, point: Point) -> bool:
        """Tell whether an engine makes a point of rows that it keeps; evaluations look at rows one by one."""
        if self.rows is None or self.recipe is None:
            return False
        method = make("algorithm", point.algorithm)
        if self.task.evaluate or not method.kind.generalises:
            return False
        try:
            asked = {"algorithm": dict(point.algorithm), "models": [dict(spec) for spec in point.models], "limits": {}}
            require(self.recipe.model_copy(update=asked), method)
        except RecipeError:
            return False
        loads = Capability.LOAD in self.rows.capabilities
        fits = not loads or self.rows.domain.n <= self.rows.most(self.task.memory)
        return bool(method.from_cells or method.in_parts or fits)

    def run(self, point: Point) -> Outcome:
        """Make and measure one release."""
        if self.rows is not None and self.serves(point):
            return run_point(self.rows, None, point, self.task, self.keys, self.step)
        return run_point(MemoryRows(self.table), self.control, point, self.task, self.keys)

    def notes(self, points: Sequence[Point]) -> list[str]:
        """Say which points are made or attacked by a sample."""
        if self.rows is None or self.rows.domain.n <= SAMPLE:
            return []
        n, apart = self.rows.domain.n, [point for point in points if not self.serves(point)]
        found = []
        if apart:
            names = ", ".join(dict.fromkeys(point.series for point in apart))
            found.append(
                f"Made from about {SAMPLE:,} of the {n:,} rows, drawn by key, because they look at rows one by one: "
                f"{names}. Figures of so few rows are worse than those of all."
            )
        if len(apart) < len(points) and self.task.attacks:
            found.append(f"Attacked are about {SAMPLE:,} of the {n:,} rows, in classes counted over all of them.")
        return found


def make_scene(
    source: Recipe | Table, rows: OpenRows, task: Task, keys: Keys, part: float, step: Progress
) -> Scene:
    """Prepare what points work on; ``part`` is the share of the people to hold out."""
    if Capability.ARRAYS in rows.capabilities:
        # Nobody asks for the releases, so they need not be frames of the library that the input came in.
        table, control = hold_out(replace(in_memory(rows).table, backend=None), keys, part)
        return Scene(table=table, control=control, task=task, keys=keys)
    assert isinstance(source, Recipe)  # a table is in memory
    if part:
        raise ParameterError(f"Nobody is held out of what the engine '{source.engine.name}' keeps: set hold_out to 0.")
    table = _sampled(rows, keys)
    return Scene(table=table, control=None, task=task, keys=keys, rows=rows, recipe=source, step=step)


def _sampled(rows: OpenRows, keys: Keys) -> Table:
    """About so many of the rows, drawn by key, as a table in memory with the dictionaries of all."""
    # Columns that are dropped are there as far as the engine has something of them.
    domain = replace(rows.domain, schema=replace(rows.domain.schema, drop=rows.followed))
    lost = {*rows.domain.schema.drop} - {*rows.followed}
    subject, names = domain.schema.subject, [name for name in domain.types if name not in lost]
    sampling = Sampling(keys, subject, SAMPLE)
    for batch in rows.batches("kept"):
        plain = pl.DataFrame([batch.as_read(name) for name in names])
        codes = {f" {name}": batch.codes[name].astype(np.int32) for name in domain.columns}
        beside = pl.DataFrame({" key": batch.keys, **codes})
        sampling.see(batch, np.zeros(batch.rows.size, dtype=np.int32), plain.hstack(beside))
    frame, _ = sampling.found()
    codes = {name: frame[f" {name}"].to_numpy() for name in domain.columns}
    columns = {
        name: replace(column, frequencies=np.bincount(codes[name], minlength=column.card))
        for name, column in domain.columns.items()
    }
    subjects = None if subject is None else frame[subject].rank("dense").to_numpy().astype(np.int32) - 1
    people = 0 if subjects is None else int(subjects.max()) + 1
    return Table(
        kept=frame.select(names), domain=replace(domain, n=frame.height, columns=columns, n_subjects=people),
        codes=codes, row_keys=frame[" key"].to_numpy(), subjects=subjects, n_read=frame.height, n_dropped=0,
    )  # fmt: skip
