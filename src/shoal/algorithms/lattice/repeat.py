"""Local recoding by repetition: full-domain on the records that are left, again and again."""

from __future__ import annotations

import dataclasses
import math
import time

import numpy as np

from shoal.algorithms.after_suppression import outcome
from shoal.algorithms.base import Problem
from shoal.algorithms.lattice.checker import Checker
from shoal.algorithms.lattice.objective import Objective
from shoal.algorithms.lattice.pruning import infeasible
from shoal.algorithms.lattice.sweep import SWEEP_LIMIT, best_node
from shoal.data.classes import Cells
from shoal.models.judge import Judge
from shoal.recoding.lattice import Lattice, top_level
from shoal.recoding.recodings import Grouping

# Every round releases at least this share of the rows that are left: less would lower the loss a little further, and
# take many more rounds.
_SHARE = 0.05
_MINUTE = 60.0


def repeated(problem: Problem, measure: str, allowed: int, seconds: float | None) -> Grouping:
    """Release what the cheapest node that releases enough allows, then go on with the rows it leaves.

    What is left in the end is suppressed where that is allowed, and otherwise put back together with the rows of the
    last rounds. Where one node for all rows is better than that, its classes are the result.
    """
    search = _Repeated(problem, measure, allowed, seconds)
    found = [one for one in (search.single(), search.rounds()) if one is not None]
    prices = [outcome(problem, one, measure, allowed) for one in found]
    if not found or math.isinf(min(prices)):
        raise infeasible(problem, allowed)
    # The rounds come last and win a tie.
    return found[len(prices) - 1 - int(np.argmin(prices[::-1]))]


class _Repeated:
    """Searches on parts of one table, within one time budget."""

    def __init__(self, problem: Problem, measure: str, allowed: int, seconds: float | None) -> None:
        self.problem, self.measure, self.allowed = problem, measure, allowed
        if seconds is None and Lattice(tuple(map(top_level, problem.domain.quasi))).size > SWEEP_LIMIT:
            seconds = _MINUTE
        self._deadline = math.inf if seconds is None else time.monotonic() + seconds

    def single(self) -> Grouping | None:
        """The classes of the best node for all rows."""
        ids = self._place(np.arange(self.problem.domain.n), self.allowed, share=0.5)
        return None if ids is None else _grouping(ids, {"rounds": 0, "put_back": 0})

    def rounds(self) -> Grouping | None:
        """The classes of one node after another, each for the rows that those before it left."""
        ids = np.full(self.problem.domain.n, -1, dtype=np.int32)
        rest, done = np.arange(ids.size), []
        while rest.size and time.monotonic() < self._deadline:
            room = rest.size - math.ceil(_SHARE * rest.size)
            placed = self._place(rest, room, kept_only=True)
            if placed is None:
                break
            mine = placed >= 0
            ids[rest[mine]] = placed[mine] + (int(ids.max()) + 1)
            done.append(rest[mine])
            rest = rest[~mine]
            self.problem.progress(f"round {len(done)}: {rest.size} rows left")
        return self._put_back(ids, rest, done)

    def _put_back(self, ids: np.ndarray, rest: np.ndarray, done: list[np.ndarray]) -> Grouping | None:
        """Place what is left with the rows of the last rounds, of twice as many when those do not do."""
        notes = {"rounds": len(done), "put_back": 0}
        back = 1
        while rest.size > self.allowed:
            if not done:
                return None
            rest = np.sort(np.concatenate([rest, *done[-back:]]))
            del done[-back:]
            back *= 2
            placed = self._place(rest, self.allowed)
            if placed is not None:
                ids[rest] = np.where(placed >= 0, placed + (int(ids.max()) + 1), -1)
                notes["put_back"] = int(rest.size)
                break
        return _grouping(ids, notes)

    def _place(
        self, rows: np.ndarray, allowed: int, *, kept_only: bool = False, share: float = 1.0
    ) -> np.ndarray | None:
        """Class of each of some rows at their best node (-1: suppressed), or None when no node is allowed.

        Models compare with the whole table, whatever part of it is searched.
        """
        part = self.problem.memory.part(rows, self.problem.judge.attributes)
        whole = self.problem.judge.reference
        every = whole.whole and part.domain.n == self.problem.domain.n
        judge = Judge(self.problem.judge.models, dataclasses.replace(whole, domain=part.domain, whole=every))
        checker = Checker(dataclasses.replace(self.problem, rows=part, judge=judge))
        objective = Objective(self.measure, part.domain, judge.k)
        if kept_only:
            objective = objective.unsuppressed()
        left = max(share * (self._deadline - time.monotonic()), 1e-3)
        found = best_node(
            checker, objective, allowed, seconds=None if math.isinf(left) else left, progress=lambda step: None
        )
        if found.best is None:
            return None
        checker.check(np.array(found.best.levels))
        classes = checker.classes
        return part.ids(Cells(np.where(checker.failing[classes.of], -1, classes.of), classes.groups))


def _grouping(ids: np.ndarray, notes: dict[str, int]) -> Grouping:
    """Groups numbered without gaps."""
    numbers, renumbered = np.unique(ids[ids >= 0], return_inverse=True)
    ids = ids.astype(np.int32)
    ids[ids >= 0] = renumbered
    return Grouping(ids=ids, groups=numbers.size, notes=notes)
