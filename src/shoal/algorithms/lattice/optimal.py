"""The best full-domain generalisation for a measure, proven."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.algorithms.base import Problem
from shoal.algorithms.grouping import Polishable
from shoal.algorithms.lattice.checker import Checker
from shoal.algorithms.lattice.objective import Objective
from shoal.algorithms.lattice.pruning import infeasible
from shoal.algorithms.lattice.repeat import repeated
from shoal.algorithms.lattice.research.keeping import refuse_unkept
from shoal.algorithms.lattice.research.search import Search
from shoal.algorithms.lattice.research.wanted import Researched
from shoal.algorithms.lattice.sweep import Found, best_node
from shoal.catalogue import load
from shoal.errors import ParameterError
from shoal.models.base import Model
from shoal.params import choice, real, whole
from shoal.recoding.recodings import FullDomain, Grouping

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
