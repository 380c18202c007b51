"""What a run on an engine that keeps the rows would refuse, before it searches: for ``shoal check``."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from shoal.algorithms.base import Algorithm
from shoal.engines.kept import KeptRows
from shoal.errors import InfeasibleError, RefusalError, ShoalError
from shoal.evaluation.research import told_research
from shoal.io.recipes import Recipe
from shoal.judging.beforehand import Vacuous, refuse_beforehand
from shoal.judging.feasible import vacuous
from shoal.judging.refusals import refuse_unknown_codes
from shoal.models.base import Model
from shoal.models.judge import Judge
from shoal.pipeline import Progress
from shoal.streaming.recipes import opened, refuse_unserved, stream_of
from shoal.streaming.release import Stream
from shoal.table.domain import Domain
from shoal.table.keys import Keys
from shoal.table.rows import Rows


class _Begun(Exception):
    """The algorithm has begun its work, so that it found nothing to refuse."""


def examine_stream(
    recipe: Recipe, method: Algorithm, models: Sequence[Model], problems: list[ShoalError], step: Progress
) -> dict[str, Any]:
    """What is known of the source and the models, with every problem added; empty where it cannot be read."""
    keys = Keys.from_seed(recipe.seed)
    try:
        refuse_unserved(recipe, method)
        refuse_unknown_codes(recipe.acknowledge)
        with opened(recipe, keys, step) as rows:
            stream = stream_of(recipe, rows, method, models, keys, step)
            known, judge = stream.prepared()
            empty = vacuous(judge, method.share_allowed(known.domain.n))
            problems += _refusals(known, judge, empty, stream)
            if not any(isinstance(one, InfeasibleError) for one in problems):
                _begin(dataclasses.replace(stream, progress=_stop), known, judge)
            read = rows.known.n_read
    except ShoalError as error:
        problems.append(error)
        return {}
    return {
        "rows": known.domain.n,
        "rows_dropped": read - known.domain.n,
        "people": known.domain.n_subjects if known.domain.by_people else None,
        "columns": _columns(known.domain),
        **told_research(method, known.domain),
        "models": [model.parameters() for model in judge.models],
        "vacuous": [{"model": model.parameters(), "on": on} for model, on in empty],
    }


def _refusals(rows: Rows, judge: Judge, empty: Vacuous, stream: Stream) -> list[ShoalError]:
    """Every refusal, as if those before it had been acknowledged, then infeasibility."""
    found: list[ShoalError] = []
    accepted = set(stream.output.acknowledged)
    while True:
        try:
            output = dataclasses.replace(stream.output, acknowledged=accepted)
            refuse_beforehand(rows, judge, empty, output, stream.method)
        except RefusalError as error:
            found.append(error)
            accepted |= set(error.codes)
        except ShoalError as error:
            return [*found, error]
        else:
            return found


def _stop(step: str) -> None:
    raise _Begun


def _begin(stopping: Stream, rows: KeptRows, judge: Judge) -> None:
    """Let the algorithm look at the rows as in a run, up to its first step of work."""
    try:
        stopping.searched(rows, judge)
    except _Begun:
        return


def _columns(domain: Domain) -> list[dict[str, Any]]:
    """Counts of every coded column, never a value."""
    found = []
    for name in domain.types:
        entry: dict[str, Any] = {"name": name, "role": domain.schema.role(name), "type": None, "kind": None}
        entry |= {"distinct": None, "missing": None, "hierarchy": None}
        column = domain.columns.get(name)
        if column is not None:
            missing = int(column.frequencies[column.missing]) if column.missing >= 0 else 0
            distinct = int((column.frequencies > 0).sum()) - (missing > 0)
            entry |= {"type": column.type, "kind": column.kind, "distinct": distinct, "missing": missing}
            if column.hierarchy is not None:
                entry["hierarchy"] = {"height": column.hierarchy.height, "leaves": column.hierarchy.n_leaves}
        found.append(entry)
    return found
