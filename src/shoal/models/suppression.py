"""After recoding: judge the classes, suppress those that fail, within the limit."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from shoal.data.classes import EVERYBODY, Cells, ClassMap, Grouped, Nodes, RowIds, Split, Together, in_runs
from shoal.data.domain import classes_of
from shoal.data.hierarchy import ROOT
from shoal.data.rows import Rows
from shoal.data.stats import Attribute, GroupStats, Histogram, Possible
from shoal.errors import InfeasibleError
from shoal.kernels.grouping import group_rows
from shoal.models.base import BREACH, Model, Reference
from shoal.models.feasibility import whole_reference
from shoal.models.judge import Judge
from shoal.recoding.kinds import Trait
from shoal.recoding.population_match import with_anybody, with_population
from shoal.recoding.recoded import Released
from shoal.recoding.released_values import from_released_values

# ----------------------------------------
# People with rows in several classes: judge the values that all of these classes leave possible.


Parted = tuple[Grouped, Callable[[], GroupStats]]


def judge_people(
    released: Released, judge: Judge, parted: Sequence[Parted]
) -> tuple[np.ndarray, list[tuple[str, ...]], list[str]]:
    """Find the rows of people for whom too few values remain, the attributes judged so, and the models that fail.

    Judged is everybody without different known values of the attribute in released rows, by each model that asks for
    values. Whom this leaves out follows from the released rows alone.

    Parameters
    ----------
    parted
        Classes by which models are judged, and who counts them: one, or one a set of quasi-identifiers.
    """
    rows, schema = released.rows, released.domain.schema
    gone, across, failing = np.empty(0, dtype=np.int64), [], set()
    if not rows.domain.by_people or not schema.across_classes or not released.made.has(Trait.CLASSES):
        return gone, [], []
    for name, one, shares in _asked(judge):
        across.append(one.names)
        for classes, counted in parted:
            found = rows.narrowed(classes, one, Possible.of(counted().histograms[one.key], one, shares))
            failing |= {name} if found.size else set()
            gone = np.union1d(gone, found)
    return gone, list(dict.fromkeys(across)), sorted(failing)


def _asked(judge: Judge) -> Iterator[tuple[str, Attribute, np.ndarray]]:
    """Models that ask for values that remain possible, with the attribute and what each value is worth."""
    for model in judge.models:
        for one in model.attributes(judge.reference.domain):
            shares = model.worth_left(one)
            if shares is not None:
                yield model.name, one, shares


# ----------------------------------------
# Which classes are left once those that fail are suppressed, where that changes what classes are compared with.


Counted = Callable[[np.ndarray, int], GroupStats]


def settled(judge: Judge, stats: GroupStats, classes: Grouped, rows: Rows) -> np.ndarray:
    """Flags of the classes that hold when all others are suppressed.

    Models that compare with the input are judged once. Those that compare with the released rows are judged against
    what the classes that hold so far have between them, again and again until none fails. A class that failed stays
    suppressed, so the outcome does not depend on how much may be.

    Parameters
    ----------
    classes
        What the statistics are of, where people have to be counted again.
    """
    judgements = judge.judge(stats)
    relative = [model for model in judge.models if model.relative and judge.reference.whole]
    good = np.ones(stats.sizes.size, dtype=bool)
    for judgement in judgements:
        if judgement.model not in relative:
            good &= judgement.ok
    while relative and good.any():
        among = Judge(relative, _released(judge, relative, stats, good, Together(classes.keep(good)), rows))
        left = good & among.ok(stats)
        if left.sum() == good.sum():
            break
        good = left
    return good


def _released(
    judge: Judge,
    models: Sequence[Model],
    stats: GroupStats,
    good: np.ndarray,
    among: ClassMap,
    rows: Rows,
) -> Reference:
    """What the rows of good classes have between them; only rows add up over classes, people do not."""
    domain = judge.reference.domain
    if domain.by_people:
        return whole_reference(rows, models, among)
    found = {}
    for model in models:
        for one in model.attributes(domain):
            counts, at = np.zeros(one.card, dtype=np.int64), 0
            for run in stats.histograms[one.key].runs():
                kept = np.repeat(good[at : at + run.known.size], np.diff(run.indptr))
                weights = run.counts[kept]
                counts += np.bincount(run.codes[kept], weights=weights, minlength=one.card).astype(np.int64)
                at += run.known.size
            codes = np.flatnonzero(counts).astype(np.int32)
            known = np.array([counts[one.unknown == 0].sum()])
            found[one.key] = Histogram(np.array([0, codes.size]), codes, counts[codes], known)
    count = np.array([stats.rows[good].sum()])
    return Reference(domain=domain, stats=GroupStats(sizes=count, rows=count, histograms=found))


def set_classes(keys: Sequence[np.ndarray]) -> np.ndarray:
    """The class of a set that every class is in, by the cells of the set's columns."""
    stacked = np.stack(keys).astype(np.int32)
    return group_rows(stacked, stacked.max(axis=1, initial=0) + 1)[0]


def settled_sets(judge: Judge, maps: Sequence[np.ndarray], counted: Counted) -> tuple[np.ndarray, np.ndarray]:
    """Flags of the classes that hold in every set when all others are suppressed, and of those too small in one.

    Rows are recoded by all quasi-identifiers, and judged by the classes of each set, which are larger: columns that no
    intruder knows together need not be protected together. Taking rows away makes classes of other sets smaller, so
    they are judged again until none fails. What is left is the largest part that holds, for models that merging keeps.

    Parameters
    ----------
    maps
        For each set, which of its classes every class is in.
    counted
        Gives statistics of groups of classes: the group of each class (negative: in none), and how many there are.
    """
    good = np.ones(maps[0].size, dtype=bool)
    small = np.zeros(good.size, dtype=bool)
    first = True
    while True:
        left = good.copy()
        for of in maps:
            present, numbers = np.unique(of[good], return_inverse=True)
            group = np.full(of.size, -1, dtype=np.int32)
            group[good] = numbers
            stats = counted(group, present.size)
            left[good] &= judge.ok(stats)[numbers]
            if first:
                small |= (stats.sizes < judge.k)[numbers]
        first = False
        if left.sum() == good.sum() or not left.any():
            return left, small
        good = left


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


def _merged(released: Released, group: np.ndarray, groups: int) -> Cells | RowIds:
    """Groups of classes (negative: in none), by row or by cell of the frequency table."""
    of, classes = np.append(group, -1).astype(np.int32), released.classmap
    if isinstance(classes, RowIds):
        return RowIds(of[classes.ids], groups)
    if isinstance(classes, Nodes):
        codes = released.rows.frequency([]).codes
        classes = Cells(classes_of(classes, codes, released.domain.schema.quasi), classes.groups)
    return Cells(of[classes.of], groups, classes.gone)


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


# ----------------------------------------
# What reports add to the verdicts: splits by another attribute, and distances to the other reference.


def split_verdicts(released: Released, judge: Judge) -> list[dict[str, Any]]:
    """Worst class of every model after splitting each class by each other sensitive attribute.

    Nothing is required to hold here; reports show it so that a publisher sees what an intruder who knows one
    attribute still faces.
    """
    found = []
    for column in released.domain.sensitive:
        told = [at for at, names in enumerate(judge.about) if names is not None and column.name not in names]
        if not told:
            continue  # nothing would be told of it
        worst, failing = {at: list[float]() for at in told}, dict.fromkeys(told, 0)
        for classes in in_runs(released.classmap, released.sizes):
            stats = released.rows.stats(Split(classes, column.name), judge.attributes)
            judgements = judge.judge(stats)
            for at in told:
                worst[at].append(judgements[at].worst)
                failing[at] += int(stats.rows[~judgements[at].ok].sum())
        found += [
            {
                "model": judgements[at].model.name,
                "on": list(judge.about[at] or ()),
                "known": column.name,
                "worst": _worst(worst[at], judgements[at].better),
                "limit": judgements[at].limit,
                "failing_rows": failing[at],
            }
            for at in told
        ]
    return found


def _worst(figures: Sequence[float], better: str) -> float:
    known = [one for one in figures if not math.isnan(one)]
    return (min if better == "up" else max)(known, default=math.nan)


def other_references(released: Released, judge: Judge) -> list[dict[str, Any]]:
    """Worst class of every model that compares, against the reference that it does not name; nothing need hold here.

    Private: a distance to the input tells about suppressed people.
    """
    rows, found = released.rows, []
    for model in judge.models:
        if not model.compares:
            continue
        among = EVERYBODY if model.relative else Together(released.classmap)
        other = Judge([model], whole_reference(rows, [model], among))
        stats = rows.stats(released.classmap, other.attributes)
        found += [
            {
                "model": model.name,
                "on": list(one.on or ()),
                "against": "input" if model.relative else "released",
                "worst": one.worst,
                "limit": one.limit,
            }
            for one in other.judge(stats)
        ]
    return found
