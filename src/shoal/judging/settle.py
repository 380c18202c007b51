"""Which classes are left once those that fail are suppressed, where that changes what classes are compared with."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from shoal.data.classes import ClassMap, Grouped, Together
from shoal.data.rows import Rows
from shoal.data.stats import GroupStats, Histogram
from shoal.judging.feasible import whole_reference
from shoal.kernels.grouping import group_rows
from shoal.models.base import Model
from shoal.models.judge import Judge
from shoal.models.rules import Reference

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
