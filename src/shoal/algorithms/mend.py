"""Merging groups that fail a model with their nearest neighbours, until all hold or nothing is left to merge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import numpy as np

from shoal.algorithms.base import Problem
from shoal.algorithms.prices import prices_of
from shoal.kernels.cluster.bottom_up import nearest_groups, pair_off
from shoal.kernels.rules import EXTENT, SIZE
from shoal.recoding.population_match import with_population
from shoal.recoding.recoded import extent_cells, member_codes
from shoal.recoding.recodings import CellGrouping, Grouping

Groups = TypeVar("Groups", bound=Grouping | CellGrouping)

# Up to this many groups each is compared with all; beyond, with so many on either side in the method's own order.
_WINDOW = 4096


def mend(problem: Problem, grouping: Groups, limit: float) -> Groups:
    """The same grouping where it satisfies the models within the suppression limit, else one with groups merged.

    Merging helps the models that judge sensitive values and sizes; a limit on how wide a class may be is left to
    suppression. The notes say how many groups were merged.
    """
    n, before = problem.domain.n, grouping.groups
    members = member_codes(problem.rows, grouping)
    # Rows count once, cells as often as they have rows.
    weights = None if isinstance(grouping, Grouping) else problem.rows.frequency([]).rows
    kept = np.flatnonzero(grouping.ids >= 0)
    mine = None if weights is None else weights[kept]
    while grouping.groups > 1:
        sizes = np.bincount(grouping.ids[kept], mine, minlength=grouping.groups).astype(np.int64)
        failing = _failing(problem, grouping, members, sizes)
        if int(sizes[failing].sum()) + n - int(sizes.sum()) <= limit * n + 1e-9:
            break
        problem.domain.check_sets(grouping.groups)
        problem.progress(f"merging {failing.size} groups that fail a model")
        codes = np.stack([members(name)[kept] for name in problem.domain.schema.quasi])
        prices = prices_of(problem.domain)
        nearest = nearest_groups(prices, codes, grouping.ids[kept], grouping.groups, failing, _WINDOW, mine)
        number = pair_off(failing, nearest, grouping.groups)
        ids = np.where(grouping.ids >= 0, number[grouping.ids], -1).astype(np.int32)
        grouping = replace(grouping, ids=ids, groups=int(number.max()) + 1)
    merged = before - grouping.groups
    return replace(grouping, notes={**grouping.notes, "merged": merged}) if merged else grouping


def _failing(
    problem: Problem, grouping: Groups, members: Callable[[str], np.ndarray], sizes: np.ndarray
) -> np.ndarray:
    """Groups that fail a model, smallest first, ties by number."""
    judge, domain = problem.judge, problem.domain
    counted = not domain.by_people and np.isin(judge.rules.op, (SIZE, EXTENT)).all()
    if counted and not judge.beyond_kernels:
        bad = np.flatnonzero(sizes < judge.k)
    else:
        stats = problem.rows.stats(grouping.classmap, judge.attributes)
        if judge.needs_population and domain.population is not None:
            cells = [extent_cells(column, members(column.name), grouping) for column in domain.quasi]
            stats = with_population(stats, cells, domain.population, presence=judge.needs_presence)
        bad = np.flatnonzero(~judge.ok(stats))
    return bad[np.argsort(sizes[bad], kind="stable")]
