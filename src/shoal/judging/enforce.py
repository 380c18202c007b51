"""After recoding: judge the classes, suppress those that fail, within the limit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shoal.errors import InfeasibleError
from shoal.judging.settle import set_classes, settled, settled_sets
from shoal.models.judge import Judge
from shoal.models.rules import BREACH
from shoal.recoding.applied import Released
from shoal.recoding.matching import with_anybody, with_population
from shoal.recoding.released_values import from_released_values
from shoal.table.classmap import RowIds
from shoal.table.stats import GroupStats


def enforce(released: Released, judge: Judge, limit: float, words: str | None = None) -> Released:
    """Suppress failing classes until all hold, each model against the reference that it names.

    Once some are suppressed, cells are made anew of what is left, and judged again where that changes anything.

    Parameters
    ----------
    limit, words
        Largest share of rows to suppress, and what says so; by default the suppression_limit does.
    """
    rows, words = released.rows, words or f"the suppression_limit is {limit:.2%}"
    anew = False  # whether cells are made of the rows that are left
    while True:
        classes = released.classmap
        stats = rows.stats(classes, judge.attributes)
        if judge.needs_spreads:
            stats = replace(stats, spreads=released.spreads)
        if judge.needs_population and rows.domain.population is not None:
            cells = list(released.cells.values())
            stats = with_population(stats, cells, rows.domain.population, presence=judge.needs_presence)
        if judge.needs_anybody:
            stats = with_anybody(stats, list(released.cells.values()))
        stats = replace(stats, shared=released.shared)
        stats = rows.of_people(stats, classes, _guarded(judge), released.recoding.lifted)
        good = _good(released, judge, stats)
        if good.all():
            if anew or not released.n_suppressed:
                return replace(released, k=judge.k)
            count, released, anew = released.n_classes, from_released_values(released), True
            if released.n_classes == count and not judge.needs_cells and not rows.domain.schema.quasi_sets:
                return replace(released, k=judge.k)
            continue
        failing = {one.model.name for one in judge.judge(stats) if not one.ok.all()}
        failing |= {model.name for model in judge.models if model.relative}
        released, anew = released.suppress(~good), False
        share = released.n_suppressed / rows.domain.n
        if released.n_classes == 0 or share > limit + 1e-12:
            raise InfeasibleError(
                _too_much(released, rows.domain.n, share, words, sorted(failing))
            )


def _good(released: Released, judge: Judge, stats: GroupStats) -> np.ndarray:
    """Classes that hold when all others are suppressed: as they are, or by each set of quasi-identifiers."""
    rows, sets = released.rows, released.domain.schema.quasi_sets
    if not sets:
        return settled(judge, stats, released.classmap, rows)
    maps = [set_classes([released.cells[name].keys for name in one]) for one in sets]

    def counted(group: np.ndarray, groups: int) -> GroupStats:
        return rows.stats(RowIds(np.append(group, -1).astype(np.int32)[released.classes], groups), judge.attributes)

    return settled_sets(judge, maps, counted)[0]


def _guarded(judge: Judge) -> list[tuple[str, int]]:
    """Sensitive columns and guard levels whose breaches the models judge."""
    return [(rules[0].names[0], int(rules[0].p0)) for _, rules in judge.sets if rules[0].op == BREACH]


def _too_much(released: Released, n: int, share: float, words: str, names: list[str]) -> str:
    which = f" (failing: {', '.join(names)})" if names else ""
    if released.n_classes == 0:
        return f"No class satisfies the models{which}, so nothing could be released: relax them or generalise more."
    return (
        f"{released.n_suppressed} of {n} rows ({share:.2%}) would have to be suppressed{which}, and "
        f"{words}: raise it, relax the models, or generalise more."
    )
