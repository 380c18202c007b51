"""After recoding: judge the classes, suppress those that fail, within the limit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shoal.errors import InfeasibleError
from shoal.hierarchy.hierarchy import ROOT
from shoal.judging.settle import set_classes, settled, settled_sets
from shoal.models.judge import Judge
from shoal.models.rules import BREACH
from shoal.recoding.applied import Released
from shoal.recoding.matching import with_anybody, with_population
from shoal.table.classmap import RowIds
from shoal.table.stats import GroupStats


def enforce(
    released: Released, judge: Judge, limit: float, words: str | None = None, suppressed: str = "drop"
) -> Released:
    """Suppress failing classes until all hold, each model against the reference that it names.

    Parameters
    ----------
    limit, words
        Largest share of rows to suppress, and what says so; by default the suppression_limit does.
    suppressed
        How suppressed records are written, ``drop`` or ``star``.
    """
    rows, words = released.rows, words or f"the suppression_limit is {limit:.2%}"
    while True:
        classes = released.classmap
        stats = rows.stats(classes, judge.attributes)
        if judge.needs_spreads:
            stats = replace(stats, spreads=released.spreads)
        if judge.needs_population and rows.domain.population is not None:
            cells = list(released.cells.values())
            stats = with_population(stats, cells, rows.domain.population, presence=judge.needs_presence)
        hidden = _look_suppressed(released, suppressed)
        if judge.needs_anybody:
            stats = with_anybody(stats, list(released.cells.values()), hidden)
        stats = replace(stats, shared=released.shared)
        stats = rows.of_people(stats, classes, _guarded(judge), released.recoding.lifted)
        good = _good(released, judge, stats)
        if good.all() and hidden.all() and suppressed == "star":
            raise InfeasibleError(
                "Every cell of the release would be '*', as those of suppressed records are, so nothing could be "
                'released: relax the models, or set suppressed = "drop".'
            )
        if good.all():
            return replace(released, k=judge.k)
        failing = {one.model.name for one in judge.judge(stats) if not one.ok.all()}
        failing |= {model.name for model in judge.models if model.relative}
        released = released.suppress(~good)
        share = released.n_suppressed / rows.domain.n
        if released.n_classes == 0 or share > limit + 1e-12:
            raise InfeasibleError(_too_much(released, rows.domain.n, share, words, sorted(failing)))


def _look_suppressed(released: Released, suppressed: str) -> np.ndarray:
    """Flag classes that nobody can tell from suppressed records: these are written as stars, and so are all cells."""
    schema = released.domain.schema
    possible = released.made.generalises and suppressed == "star" and not set(schema.released) > set(schema.quasi)
    found = np.full(released.n_classes, possible)
    for cells in released.cells.values() if possible else ():
        found &= (cells.texts() == ROOT).to_numpy()
    return found


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
