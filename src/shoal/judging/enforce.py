"""After recoding: judge the classes, suppress those that fail, within the limit."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from shoal.data.classes import RowIds
from shoal.data.hierarchy import ROOT
from shoal.data.stats import GroupStats
from shoal.errors import InfeasibleError
from shoal.judging.across import Parted, judge_people
from shoal.judging.settle import set_classes, settled, settled_sets
from shoal.models.judge import Judge
from shoal.models.rules import BREACH
from shoal.recoding.population_match import with_anybody, with_population
from shoal.recoding.recoded import Released
from shoal.recoding.released_values import from_released_values


def enforce(
    released: Released, judge: Judge, limit: float, words: str | None = None, suppressed: str = "drop"
) -> Released:
    """Suppress failing classes until all hold, each model against the reference that it names.

    Once some rows are suppressed, cells are made anew from the rows that are left, and judged again where classes
    changed. People for whom the classes of their rows leave too few values possible are suppressed with all their rows.

    Parameters
    ----------
    limit, words
        Largest share of rows to suppress, and what says so; by default the suppression_limit does.
    suppressed
        How suppressed records are written, ``drop`` or ``star``.
    """
    rows, words = released.rows, words or f"the suppression_limit is {limit:.2%}"
    narrowed: set[str] = set()
    anew = False  # whether cells are made of the rows that are left
    while True:
        hidden = _look_suppressed(released, suppressed)
        stats = _statistics(released, judge, hidden)
        good = _good(released, judge, stats)
        if good.all() and hidden.all() and suppressed == "star":
            raise InfeasibleError(
                "Every cell of the release would be '*', as those of suppressed records are, so nothing could be "
                'released: relax the models, or set suppressed = "drop".'
            )
        if good.all():
            gone, across, names = judge_people(released, judge, _parted(released, judge, stats))
            if not gone.size:
                if not released.n_suppressed or anew:
                    return replace(released, k=judge.k, across=across)
                count, released, anew = released.n_classes, from_released_values(released), True
                by_cells = judge.needs_cells or suppressed == "star" or rows.domain.schema.quasi_sets
                if released.n_classes == count and not by_cells:
                    return replace(released, k=judge.k, across=across)
                continue
            failing = set()
            narrowed |= {f"{name} over all classes of a person" for name in names}
            released, anew = released.without(gone), False
        else:
            failing = {one.model.name for one in judge.judge(stats) if not one.ok.all()}
            failing |= {model.name for model in judge.models if model.relative}
            released, anew = released.suppress(~good), False
        share = released.n_suppressed / rows.domain.n
        if released.n_classes == 0 or share > limit + 1e-12:
            raise InfeasibleError(
                _too_much(released, rows.domain.n, share, words, sorted(failing | narrowed), bool(narrowed))
            )


def _statistics(released: Released, judge: Judge, hidden: np.ndarray) -> GroupStats:
    """Count what the models look at in every class; ``hidden`` flags classes that look suppressed."""
    rows, classes, cells = released.rows, released.classmap, list(released.cells.values())
    stats = rows.stats(classes, judge.attributes)
    if judge.needs_spreads:
        stats = replace(stats, spreads=released.spreads)
    if judge.needs_population and rows.domain.population is not None:
        stats = with_population(stats, cells, rows.domain.population, presence=judge.needs_presence)
    if judge.needs_anybody:
        stats = with_anybody(stats, cells, hidden)
    stats = replace(stats, shared=released.shared)
    return rows.of_people(stats, classes, _guarded(judge), released.recoding.lifted)


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
    rows = released.rows
    if not released.domain.schema.quasi_sets:
        return settled(judge, stats, released.classmap, rows)

    def counted(group: np.ndarray, groups: int) -> GroupStats:
        return rows.stats(_merged(released, group, groups), judge.attributes)

    return settled_sets(judge, _set_maps(released), counted)[0]


def _parted(released: Released, judge: Judge, stats: GroupStats) -> list[Parted]:
    """Classes by which people are judged, with who counts them: all together, or those of each set."""
    if not released.domain.schema.quasi_sets:
        return [(released.classmap, lambda: stats)]
    merged = [_merged(released, group, int(group.max(initial=-1)) + 1) for group in _set_maps(released)]
    return [(classes, partial(released.rows.stats, classes, judge.attributes)) for classes in merged]


def _set_maps(released: Released) -> list[np.ndarray]:
    """For each set of quasi-identifiers, which of its classes every class is in."""
    sets = released.domain.schema.quasi_sets
    return [set_classes([released.cells[name].keys for name in one]) for one in sets]


def _merged(released: Released, group: np.ndarray, groups: int) -> RowIds:
    """Groups of classes (negative: in none), row by row."""
    return RowIds(np.append(group, -1).astype(np.int32)[released.classes], groups)


def _guarded(judge: Judge) -> list[tuple[str, int]]:
    """Sensitive columns and guard levels whose breaches the models judge."""
    return [(rules[0].names[0], int(rules[0].p0)) for _, rules in judge.sets if rules[0].op == BREACH]


def _too_much(released: Released, n: int, share: float, words: str, names: list[str], people: bool) -> str:
    which = f" (failing: {', '.join(names)})" if names else ""
    if released.n_classes == 0:
        begun = f"No class satisfies the models{which}, so nothing could be released: relax them"
        ways = " or generalise more"
    else:
        gone = f"{released.n_suppressed} of {n} rows ({share:.2%}) would have to be suppressed{which}"
        begun = f"{gone}, and {words}: raise it, relax the models"
        ways = ", or generalise more"
    return f"{begun}{', generalise more, or set across_classes = false under [roles]' if people else ways}."
