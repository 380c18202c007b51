"""The best full-domain generalisation for a measure, proven."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.algorithms.base import Problem
from shoal.algorithms.grouping import Polishable
from shoal.algorithms.lattice.best_node import SWEEP_LIMIT, Found, best_node
from shoal.algorithms.lattice.checker import Checker
from shoal.algorithms.lattice.objective import Objective
from shoal.algorithms.lattice.verdicts import infeasible
from shoal.algorithms.polish import outcome
from shoal.algorithms.research.base import Researched
from shoal.algorithms.research.search import Search, refuse_unkept
from shoal.data.classes import Cells
from shoal.errors import ParameterError
from shoal.models.base import Model
from shoal.models.judge import Judge
from shoal.params import choice, real, whole
from shoal.recoding.lattice import Lattice, top_level
from shoal.recoding.recodings import FullDomain, Grouping
from shoal.registry import load

# ----------------------------------------
# Local recoding by repetition: full-domain on the records that are left, again and again.


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


MEASURES = ("lm", "ncp", "ilm", "dm", "c-avg", "height", "genc", "precision", "entropy", "rv", "arx-loss")

# Measures of one level a column, which only a full-domain recoding has.
LEVELS_ALONE = ("height", "rv")
_RESEARCH = ("rules", "weights", "normalise", "rv")


@dataclass(frozen=True, kw_only=True)
class Optimal(Polishable, Researched):
    """Search all level vectors for the one with the best measure; ties go to fewer suppressed, then lower loss.

    Parameters
    ----------
    measure
        What to optimise, with the recipe's attribute weights.
    node
        Levels chosen by hand, one a quasi-identifier in their order, instead of a search.
    seconds
        Stop after so long with the best node so far and the gap that remains; None searches to the end, except that
        lattices too large to list stop after a minute.
    repeat
        Local recoding: release what the cheapest node allows that releases enough, then search again for the rows it
        leaves, until none are left.
    rules, weights, normalise, rv
        How levels are valued where ``measure`` is ``rv``; a rule that must be kept is.
    k
        Shorthand that adds the model ``k``.

    Examples
    --------
    >>> Optimal(measure="ncp", suppression_limit=0.02).parameters()["measure"]
    'ncp'
    """

    name: ClassVar[str] = "optimal"
    shorthand: ClassVar[tuple[str, ...]] = ("k",)
    measure: str = "lm"
    node: Sequence[int] | None = None
    seconds: float | None = None
    repeat: bool = False
    k: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        choice("Optimal", "measure", self.measure, MEASURES)
        if self.seconds is not None:
            real("Optimal", "seconds", self.seconds, low=0.0, open_low=True)
        if isinstance(self.node, Mapping):
            told = "The 'node' of Optimal must be a list of levels, one a quasi-identifier in their order."
            raise ParameterError(told)
        if self.node is not None:
            object.__setattr__(self, "node", tuple(whole("Optimal", "node", level, least=0) for level in self.node))
            if self.repeat:
                raise ParameterError("Optimal takes a 'node' or 'repeat', not both: leave one out.")
        if self.polish is not None and not self.repeat:
            raise ParameterError("Optimal gives one level a column, which polish would not keep: set 'repeat' too.")
        if self.research and self.measure != "rv":
            raise ParameterError(
                f"Optimal takes research values for the measure 'rv' only, and is asked for '{self.measure}': set "
                "measure to it, or leave them out."
            )
        if self.repeat and self.measure in LEVELS_ALONE:
            raise ParameterError(
                f"Optimal with 'repeat' gives no one level a column for '{self.measure}' to measure: choose another."
            )

    def models(self) -> list[Model]:
        """The model that ``k`` stands for."""
        return [] if self.k is None else [load("model", "k")(k=self.k)]

    def parameters(self) -> dict[str, Any]:
        """The algorithm as a recipe writes it."""
        given = super().parameters()
        if self.measure != "rv":
            given = {key: value for key, value in given.items() if key not in _RESEARCH}
        return given

    @property
    def judges_sets(self) -> bool:
        """Classes are judged set by set."""
        return not self.repeat

    @property
    def from_cells(self) -> bool:
        """The frequency table is all that it looks at, unless it repeats itself on what is left."""
        return not self.repeat

    def run(self, problem: Problem) -> FullDomain | Grouping:
        """The best node, or the groups of repeated searches."""
        checker = Checker(problem)
        if self.node is not None:
            return _chosen(checker, self.node)
        allowed = self.rows_allowed(problem.domain.n)
        if self.repeat:
            return self.polished(problem, repeated(problem, self.measure, allowed, self.seconds))
        measure, domain = self.valued(problem.rows) if self.measure == "rv" else (None, problem.domain)
        objective = Objective(self.measure, domain, problem.judge.k)
        found = best_node(checker, objective, allowed, seconds=self.seconds, progress=problem.progress)
        if found.best is None:
            raise infeasible(problem, allowed)
        if measure is not None:
            values = measure.level_values(domain.quasi, domain.quasi_weights, domain.joint)
            refuse_unkept(Search(checker, values, allowed), measure, found.best.levels, proven=found.proven)
        return full_domain(checker, found.best.levels, notes(found))


def full_domain(checker: Checker, levels: Sequence[int], notes: dict[str, Any]) -> FullDomain:
    """A recoding from a level vector."""
    named = {column.name: int(level) for column, level in zip(checker.columns, levels, strict=True)}
    return FullDomain(levels=named, notes=notes)


def notes(found: Found) -> dict[str, Any]:
    """What the evidence says about a search."""
    return {
        "proven": found.proven, "gap": found.gap, "nodes": found.nodes, "checked": found.checked,
        "pruned": dict(found.pruned), "levels": None if found.best is None else list(found.best.levels),
    }  # fmt: skip


def _chosen(checker: Checker, node: Sequence[int]) -> FullDomain:
    heights = checker.lattice.heights
    if len(node) != len(heights):
        raise ParameterError(f"The 'node' of Optimal must have {len(heights)} levels, one a quasi-identifier.")
    for column, level, height in zip(checker.columns, node, heights, strict=True):
        if level > height:
            raise ParameterError(f"The 'node' of Optimal gives '{column.name}' level {level}; it has 0 to {height}.")
    check = checker.check(np.array(node))
    return full_domain(checker, node, {"chosen": True, "suppressed": check.suppressed, "levels": list(node)})
