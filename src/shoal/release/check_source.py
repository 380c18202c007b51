"""The rows of a recipe as far as a check looks at them: in memory, or in the hands of an engine that keeps them."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import polars as pl

from shoal.algorithms.base import Algorithm, Problem
from shoal.data.domain import Domain
from shoal.data.keys import Keys
from shoal.data.rows import Rows
from shoal.data.table import crowded, with_crowd
from shoal.data.texts import all_told, told
from shoal.engines.external_rows import KeptRows
from shoal.engines.memory import MemoryRows
from shoal.models.base import Model, smallest_class
from shoal.models.judge import Judge
from shoal.recipe.recipe import Recipe
from shoal.recipe.source import read_table
from shoal.recoding.secrets import Secret
from shoal.registry import load
from shoal.release.forecast import Foreseen, foresee, foreseen_stream
from shoal.release.gating import hidden_of, naming
from shoal.release.publish import person_frames
from shoal.release.run import Secrecy, keeps_rows, memory_of, opened, stream_of
from shoal.utility.research_table import researched
from shoal.utility.workload import with_preferences

Step = Callable[[str], None]


class _Begun(Exception):
    """The algorithm has begun its work, so that it found nothing to refuse."""


def _stop(step: str) -> None:
    raise _Begun


@dataclass(frozen=True, eq=False, kw_only=True)
class Batch:
    """Some rows: who they are about, and what is published of them as it was read."""

    hidden: Sequence[pl.Series]
    subject: pl.Series | None
    published: pl.DataFrame


class Source(Protocol):
    """Rows that were read."""

    @property
    def rows(self) -> Rows:
        """To be counted."""
        ...

    @property
    def dropped(self) -> int:
        """How many were left out for missing cells."""
        ...

    def valued(self, method: Algorithm) -> Source:
        """The same with what levels are worth to researchers; what does not fit is refused."""
        ...

    def crowded(self, models: Sequence[Model]) -> Source:
        """The same with how many people must have a value for it to be published as the end of an interval."""
        ...

    def begin(self, method: Algorithm, judge: Judge) -> None:
        """Let an algorithm look at the rows as in a run, up to its first step of work."""
        ...

    def batches(self) -> Iterator[Batch]:
        """All rows that take part."""
        ...

    def person_frames(self) -> Iterator[pl.DataFrame]:
        """All rows that take part with every column that may tell people apart."""
        ...

    def left_out(self) -> dict[str, pl.Series]:
        """Who the rows are about that take no part, by column."""
        ...

    def columns(self) -> list[dict[str, Any]]:
        """Counts of every column, never a value."""
        ...

    def foresee(self, method: Algorithm, models: Sequence[Model], accepted: Collection[str], step: Step) -> Foreseen:
        """What a run takes, and what one of all rows or some of them is refused for, beside what was accepted."""
        ...


@contextmanager
def read_source(recipe: Recipe, codes: Sequence[Secret], step: Step) -> Iterator[Source]:
    """The rows that a recipe names.

    Parameters
    ----------
    codes
        Mappings and gradings that are given.
    """
    step("reading")
    started = time.perf_counter()
    if not keeps_rows(recipe):
        table = read_table(recipe)
        rows = load("engine", recipe.engine.name)().open(table)
        yield InMemory(recipe=recipe, rows=rows, seconds=time.perf_counter() - started)
        return
    keys = Keys.from_seed(recipe.seed)
    with opened(recipe, keys, step) as kept:
        seconds = time.perf_counter() - started
        yield Elsewhere(recipe=recipe, rows=kept, keys=keys, codes=codes, seconds=seconds)


@dataclass(frozen=True, eq=False, kw_only=True)
class InMemory:
    """A table."""

    recipe: Recipe
    rows: MemoryRows
    seconds: float

    @property
    def dropped(self) -> int:
        """How many rows were left out for missing cells."""
        return self.rows.table.n_dropped

    def valued(self, method: Algorithm) -> InMemory:
        """The same with what levels are worth to researchers."""
        return replace(self, rows=self.rows.knowing(_valued(self.rows, method)))

    def crowded(self, models: Sequence[Model]) -> InMemory:
        """The same with how many people must have the end of an interval."""
        return replace(self, rows=MemoryRows(with_crowd(self.rows.table, smallest_class(models))))

    def begin(self, method: Algorithm, judge: Judge) -> None:
        """Let an algorithm look at the rows, up to its first step of work."""
        rows = MemoryRows(with_preferences(self.rows.table))
        try:
            method.run(Problem(rows=rows, judge=judge, keys=Keys.from_seed(self.recipe.seed), progress=_stop))
        except _Begun:
            return

    def batches(self) -> Iterator[Batch]:
        """All rows in one."""
        frame, roles = self.rows.table.frame, self.rows.domain.schema
        yield Batch(
            hidden=[frame[name] for name in naming(roles)],
            subject=None if roles.subject is None else frame[roles.subject],
            published=frame.select(*roles.sensitive, *roles.neutral),
        )

    def person_frames(self) -> Iterator[pl.DataFrame]:
        """All rows in one."""
        yield self.rows.table.kept

    def left_out(self) -> dict[str, pl.Series]:
        """Who the rows are about that take no part."""
        dropped, roles = self.rows.table.dropped, self.rows.domain.schema
        return {} if dropped is None else hidden_of(roles, all_told(dropped).to_dict())

    def columns(self) -> list[dict[str, Any]]:
        """Counts of every column."""
        table, found = self.rows.table, []
        for name in table.kept.columns:
            cells = table.series(name)
            found.append(_entry(table.domain, name, cells.drop_nulls().n_unique(), cells.null_count()))
        return found

    def foresee(self, method: Algorithm, models: Sequence[Model], accepted: Collection[str], step: Step) -> Foreseen:
        """By runs on samples, or on the whole of a small table."""
        return foresee(self.recipe, self.rows.table, self.seconds, accepted, step)


@dataclass(frozen=True, eq=False, kw_only=True)
class Elsewhere:
    """Rows that an engine keeps."""

    recipe: Recipe
    rows: KeptRows
    keys: Keys
    seconds: float
    codes: Sequence[Secret] = field(repr=False)

    @property
    def dropped(self) -> int:
        """How many rows were left out for missing cells."""
        return self.rows.known.n_read - self.rows.domain.n

    def valued(self, method: Algorithm) -> Elsewhere:
        """The same with what levels are worth to researchers."""
        return replace(self, rows=self.rows.knowing(_valued(self.rows, method)))

    def crowded(self, models: Sequence[Model]) -> Elsewhere:
        """The same with how many people must have the end of an interval."""
        domain = crowded(self.rows.domain, smallest_class(models), self.rows.people_with)
        return replace(self, rows=self.rows.knowing(domain))

    def begin(self, method: Algorithm, judge: Judge) -> None:
        """Let an algorithm look at the rows, up to its first step of work."""
        try:
            stream_of(self.recipe, self.rows, method, (), self.keys, _stop).searched(self.rows, judge)
        except _Begun:
            return

    def batches(self) -> Iterator[Batch]:
        """All rows, some at a time."""
        roles = self.rows.domain.schema
        for batch in self.rows.batches("kept"):
            yield Batch(
                hidden=all_told(pl.DataFrame([batch.as_read(name) for name in naming(roles)])).get_columns(),
                subject=None if roles.subject is None else batch.as_read(roles.subject),
                published=pl.DataFrame([batch.as_read(name) for name in (*roles.sensitive, *roles.neutral)]),
            )

    def person_frames(self) -> Iterator[pl.DataFrame]:
        """All rows, some at a time."""
        return person_frames(self.rows)

    def left_out(self) -> dict[str, pl.Series]:
        """Who the rows are about that take no part, each different cell once."""
        found = self.rows.left_out(naming(self.rows.domain.schema))
        return {name: told(cells) for name, cells in found.items()}

    def columns(self) -> list[dict[str, Any]]:
        """Counts of every coded column."""
        domain, found = self.rows.domain, []
        for name in domain.types:
            column = domain.columns.get(name)
            distinct, missing = None, None
            if column is not None:
                missing = int(column.frequencies[column.missing]) if column.missing >= 0 else 0
                distinct = int((column.frequencies > 0).sum()) - (missing > 0)
            found.append(_entry(domain, name, distinct, missing))
        return found

    def foresee(self, method: Algorithm, models: Sequence[Model], accepted: Collection[str], step: Step) -> Foreseen:
        """By the time that reading took; few rows are tried whole."""
        output, n = self.recipe.output, self.rows.domain.n

        def attempt(recipe: Recipe) -> None:
            secrecy = Secrecy(codes=self.codes)
            judged = stream_of(recipe, self.rows, method, models, self.keys, step, secrecy).judged()
            judged.fill(self.rows.private("tried"), format=output.format, formulas=output.formulas)

        return foreseen_stream(self.recipe, n, self.seconds, memory_of(self.recipe), accepted, attempt)


def _valued(rows: MemoryRows | KeptRows, method: Algorithm) -> Domain:
    return researched(rows.domain, rows.joined, method.research, method.kind)


def _entry(domain: Domain, name: str, distinct: int | None, missing: int | None) -> dict[str, Any]:
    column = domain.columns.get(name)
    tree = None if column is None else column.hierarchy
    return {
        "name": name, "role": domain.schema.role(name),
        "type": None if column is None else column.type, "kind": None if column is None else column.kind,
        "distinct": distinct, "missing": missing,
        "hierarchy": None if tree is None else {"height": tree.height, "leaves": tree.n_leaves},
    }  # fmt: skip
