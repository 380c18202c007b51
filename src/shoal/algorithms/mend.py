"""Merging groups that fail a model with their nearest neighbours, until all hold or nothing is left to merge."""

from __future__ import annotations

import numpy as np

from shoal.algorithms.base import Problem
from shoal.algorithms.prices import prices_of
from shoal.kernels.cluster.mending import nearest_groups, pair_off
from shoal.kernels.judge.rules import EXTENT, SIZE
from shoal.recoding.applied import extent_cells
from shoal.recoding.matching import with_population
from shoal.recoding.recodings import Grouping
from shoal.table.classmap import RowIds

# Up to this many groups each is compared with all; beyond, with so many on either side in the method's own order.
_WINDOW = 4096


def mend(problem: Problem, grouping: Grouping, limit: float) -> Grouping:
    """The same grouping where it satisfies the models within the suppression limit, else one with groups merged.

    Merging helps the models that judge sensitive values and sizes; a limit on how wide a class may be is left to
    suppression. The notes say how many groups were merged.
    """
    table = problem.table
    ids, groups = grouping.ids, grouping.groups
    rows = np.flatnonzero(ids >= 0)
    merged = 0
    while groups > 1:
        failing = _failing(problem, ids, groups)
        lost = int(np.bincount(ids[rows], minlength=groups)[failing].sum()) + table.n - rows.size
        if lost <= limit * table.n + 1e-9:
            break
        problem.progress(f"merging {failing.size} groups that fail a model")
        codes = np.ascontiguousarray(table.quasi_codes[:, rows])
        nearest = nearest_groups(prices_of(table.domain), codes, ids[rows], groups, failing, _WINDOW)
        number = pair_off(failing, nearest, groups)
        ids = np.where(ids >= 0, number[ids], -1).astype(np.int32)
        merged += groups - int(number.max()) - 1
        groups = int(number.max()) + 1
    if not merged:
        return grouping
    return Grouping(ids=ids, groups=groups, notes={**grouping.notes, "merged": merged})


def _failing(problem: Problem, ids: np.ndarray, groups: int) -> np.ndarray:
    """Groups that fail a model, smallest first, ties by number."""
    judge, table = problem.judge, problem.table
    sizes = np.bincount(ids[ids >= 0], minlength=groups)
    counted = table.subjects is None and np.isin(judge.rules.op, (SIZE, EXTENT)).all()
    if counted and not judge.beyond_kernels:
        bad = np.flatnonzero(sizes < judge.k)
    else:
        stats = problem.rows.stats(RowIds(ids, groups), judge.attributes)
        if judge.needs_population and table.domain.population is not None:
            grouping = Grouping(ids=ids, groups=groups)
            cells = [extent_cells(column, table.codes[column.name], grouping) for column in table.quasi]
            stats = with_population(stats, cells, table.domain.population, presence=judge.needs_presence)
        bad = np.flatnonzero(~judge.ok(stats))
    return bad[np.argsort(sizes[bad], kind="stable")]
