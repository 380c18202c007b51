"""Local recoding by repetition: full-domain on the records that are left, again and again."""

from __future__ import annotations

import dataclasses

import numpy as np

from shoal.algorithms.base import Problem
from shoal.algorithms.lattice.checker import Checker
from shoal.algorithms.lattice.objective import Objective
from shoal.algorithms.lattice.sweep import best_node
from shoal.errors import InfeasibleError
from shoal.models.base import Judge, Reference
from shoal.recoding.recodings import Grouping
from shoal.table.table import Table, take_rows


def repeated(problem: Problem, measure: str, limit: float, seconds: float | None) -> Grouping:
    """Release the classes of the best node, then go on with the rows it suppresses.

    What is left when nothing more can be released is suppressed if the limit allows it, and otherwise put back
    together with the rows released last, which are then searched once more without suppression.
    """
    table = problem.table
    ids = np.full(table.n, -1, dtype=np.int32)
    groups = rounds = 0
    rest = np.arange(table.n)
    last = rest[:0]
    while rest.size:
        placed = _round(problem, rest, measure, int(rest.size), seconds)
        if placed is None:
            break
        mine = placed >= 0
        ids[rest[mine]] = placed[mine] + groups
        groups += int(placed.max()) + 1
        last, rest = rest[mine], rest[~mine]
        rounds += 1
    if rest.size > limit * table.n + 1e-9:
        together = np.sort(np.concatenate([last, rest]))
        placed = _round(problem, together, measure, 0, seconds)
        if placed is None:
            raise InfeasibleError(f"{rest.size} rows fit into no class: raise the suppression_limit or relax models.")
        ids[together] = placed + groups
    used, renumbered = np.unique(ids[ids >= 0], return_inverse=True)
    ids[ids >= 0] = renumbered
    return Grouping(ids=ids, groups=used.size, notes={"rounds": rounds})


def _round(problem: Problem, rows: np.ndarray, measure: str, allowed: int, seconds: float | None) -> np.ndarray | None:
    """Class of each of some rows at their best node (-1: suppressed), or None when none can be released."""
    part: Table = take_rows(problem.table, rows)
    judge = Judge(problem.judge.models, _reference(problem, part))
    checker = Checker(dataclasses.replace(problem, table=part, judge=judge))
    objective = Objective(measure, part, judge.k)
    found = best_node(checker, objective, allowed, seconds=seconds, progress=problem.progress)
    if found.best is None or found.best.suppressed == rows.size:
        return None
    checker.check(np.array(found.best.levels))
    return np.where(checker.failing[checker.class_of], -1, checker.class_of)[checker.combination]


def _reference(problem: Problem, part: Table) -> Reference:
    """Models compare with the whole table, whatever part of it is being searched."""
    return dataclasses.replace(problem.judge.reference, table=part)
