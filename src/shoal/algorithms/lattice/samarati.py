"""Samarati's binary search for the lowest full-domain generalisation within a suppression limit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.algorithms.base import Algorithm, Problem
from shoal.algorithms.lattice.checker import Checker, NodeCheck
from shoal.algorithms.lattice.incognito import satisfying
from shoal.algorithms.lattice.objective import Objective, Rank, known_for
from shoal.algorithms.lattice.optimal import MEASURES, full_domain
from shoal.algorithms.lattice.verdicts import infeasible, refuse_large, refuse_unsound
from shoal.models.base import Model
from shoal.params import choice
from shoal.recoding.recodings import FullDomain
from shoal.registry import load

FIRST, FEWEST = "first", "min-suppression"
# So many failed nodes, the highest first, are remembered: more would cost as much as the checks they save.
_REMEMBERED = 1000


@dataclass(frozen=True, kw_only=True)
class Samarati(Algorithm):
    """A k-minimal generalisation: the smallest height at which a node suppresses few enough rows (Samarati 2001).

    Where height h has no such node, no smaller height has one, so the height is found by halving. That needs models
    that merging preserves, and with suppression ones whose failing every part of a class inherits; others are
    refused. A node that would suppress everything never counts.

    Parameters
    ----------
    prefer
        Which of several nodes at that height: the ``first`` in the order of their levels, the one of
        ``min-suppression``, or the best by a measure.
    all_minimal
        Also list every minimal node, at whatever height, with the rows it suppresses, in the evidence.
    k
        Shorthand that adds the model ``k``.

    Examples
    --------
    >>> Samarati(k=5, suppression_limit=0.01).parameters()["prefer"]
    'first'
    """

    name: ClassVar[str] = "samarati"
    shorthand: ClassVar[tuple[str, ...]] = ("k",)
    prefer: str = FIRST
    all_minimal: bool = False
    k: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        choice("Samarati", "prefer", self.prefer, (FIRST, FEWEST, *MEASURES))

    def models(self) -> list[Model]:
        """The model that ``k`` stands for."""
        return [] if self.k is None else [load("model", "k")(k=self.k)]

    @property
    def from_cells(self) -> bool:
        """The frequency table is all that it looks at."""
        return True

    def run(self, problem: Problem) -> FullDomain:
        """A node of the smallest height."""
        checker = Checker(problem)
        allowed = self.rows_allowed(problem.domain.n)
        refuse_unsound("Samarati", problem.judge, allowed)
        refuse_large("Samarati", checker.lattice)
        search = _Search(checker, min(allowed, problem.domain.n - 1))
        height = search.lowest_height()
        if height is None:
            raise infeasible(problem, allowed)
        best = search.choose(height, self.prefer)
        notes: dict[str, Any] = {
            "levels": list(best.levels), "height": height, "suppressed": best.suppressed,
            "nodes": checker.lattice.size, "checked": checker.checked,
        }  # fmt: skip
        if self.all_minimal:
            notes["minimal"] = satisfying(checker, allowed).minimal_with_suppression(checker)
        return full_domain(checker, best.levels, notes)


class _Search:
    """Halves the heights; a node below one that failed is not checked again."""

    def __init__(self, checker: Checker, allowed: int) -> None:
        self.checker, self.allowed = checker, allowed
        self._failed: list[tuple[int, np.ndarray]] = []

    def lowest_height(self) -> int | None:
        """The smallest height with a node that suppresses few enough rows; None when not even the top does."""
        lattice = self.checker.lattice
        if self._check(lattice.decode(lattice.top)) is None:
            return None
        low, high = 0, lattice.max_height
        while low < high:
            middle = (low + high) // 2
            self.checker.problem.progress(f"searching height {middle} of {lattice.max_height}")
            if any(self._check(levels) is not None for levels in self._open(middle)):
                high = middle
            else:
                low = middle + 1
        return low

    def choose(self, height: int, prefer: str) -> Rank:
        """One of the nodes of a height that suppress few enough rows."""
        problem = self.checker.problem
        # Nodes of one height differ in nothing but their suppression, then their loss.
        measure = prefer if prefer in MEASURES else "height"
        objective = Objective(measure, known_for(measure, problem), problem.judge.k)
        best: Rank | None = None
        for levels in self._open(height):
            check = self._check(levels)
            if check is not None:
                best = objective.better(levels, check, self.checker, best) or best
                if prefer == FIRST:
                    break
        assert best is not None
        return best

    def _open(self, height: int) -> np.ndarray:
        """Nodes of a height that no failed node lies above, in lexicographic order."""
        lattice = self.checker.lattice
        levels = lattice.decode(lattice.nodes_at_height(height))
        above = sorted((one for one in self._failed if one[0] >= height), key=lambda one: -one[0])
        ruled_out = np.zeros(len(levels), dtype=bool)
        for _, failed in above[:_REMEMBERED]:
            ruled_out |= (levels <= failed).all(axis=1)
        return levels[~ruled_out]

    def _check(self, levels: np.ndarray) -> NodeCheck | None:
        """The node's figures, or None when it suppresses too much."""
        check = self.checker.check(levels)
        if check.suppressed <= self.allowed:
            return check
        self._failed.append((int(levels.sum()), levels))
        return None
