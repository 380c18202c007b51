"""Incognito: every full-domain generalisation that satisfies the models, by growing sets of attributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from shoal.algorithms.base import Algorithm, Problem
from shoal.algorithms.lattice.checker import Checker
from shoal.algorithms.lattice.objective import TIE, Objective, Rank, known_for
from shoal.algorithms.lattice.optimal import MEASURES, full_domain
from shoal.algorithms.lattice.verdicts import infeasible, refuse_large, refuse_unsound
from shoal.models.base import Model
from shoal.params import choice
from shoal.recoding.lattice import Lattice
from shoal.recoding.recodings import FullDomain
from shoal.registry import load


@dataclass(frozen=True, kw_only=True)
class Incognito(Algorithm):
    """Find all nodes that satisfy the models, then take the best (LeFevre, DeWitt & Ramakrishnan 2005).

    If the table generalised on some of its attributes alone fails, it fails on more of them; if a node satisfies
    the models, so does every node above. Both need models that merging preserves, and with suppression ones whose
    failing every part of a class inherits; others are refused.

    Parameters
    ----------
    measure
        What decides among the nodes found; ties go to fewer suppressed, then lower loss, then lower levels.
    k
        Shorthand that adds the model ``k``.

    Examples
    --------
    >>> Incognito(k=5).models()
    [KAnonymity(k=5)]
    """

    name: ClassVar[str] = "incognito"
    shorthand: ClassVar[tuple[str, ...]] = ("k",)
    measure: str = "height"
    k: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        choice("Incognito", "measure", self.measure, MEASURES)

    def models(self) -> list[Model]:
        """The model that ``k`` stands for."""
        return [] if self.k is None else [load("model", "k")(k=self.k)]

    @property
    def from_cells(self) -> bool:
        """The frequency table is all that it looks at."""
        return True

    def run(self, problem: Problem) -> FullDomain:
        """The best of all nodes that satisfy the models."""
        checker = Checker(problem)
        allowed = self.rows_allowed(problem.domain.n)
        refuse_unsound("Incognito", problem.judge, allowed)
        found = satisfying(checker, allowed)
        if not found.nodes.size:
            raise infeasible(problem, allowed)
        best = _best(
            checker, found, Objective(self.measure, known_for(self.measure, problem), problem.judge.k), allowed
        )
        notes = {
            "levels": list(best.levels), "suppressed": best.suppressed, "satisfying": int(found.nodes.size),
            "minimal": found.minimal_with_suppression(checker), "nodes": checker.lattice.size,
            "checked": dict(found.checked),
        }  # fmt: skip
        return full_domain(checker, best.levels, notes)


@dataclass
class Satisfying:
    """All nodes that satisfy the models.

    Attributes
    ----------
    nodes
        Their ids in the lattice, ascending; whatever is above one of them is one of them.
    checked
        Nodes counted, by the number of attributes generalised below their root.
    """

    lattice: Lattice
    nodes: np.ndarray
    checked: dict[int, int] = field(default_factory=dict)

    @property
    def minimal(self) -> np.ndarray:
        """Ids of those that have none of the others below them."""
        inside = np.zeros(self.lattice.size, dtype=bool)
        inside[self.nodes] = True
        source, below = self.lattice.predecessors(self.nodes)
        covered = np.bincount(source, weights=inside[below], minlength=self.nodes.size)
        return self.nodes[covered == 0]

    def minimal_with_suppression(self, checker: Checker) -> list[dict[str, Any]]:
        """The minimal nodes for the evidence, each with the rows it suppresses."""
        return [
            {"levels": levels.tolist(), "suppressed": checker.check(levels).suppressed}
            for levels in self.lattice.decode(self.minimal)
        ]


def satisfying(checker: Checker, allowed: int) -> Satisfying:
    """All nodes that suppress at most ``allowed`` rows, and not all of them.

    The models must have passed ``refuse_unsound``. An attribute outside the set at hand stays at its root, which
    groups as if it were not there. Cost: memory of a flag a node, and one check for every node of a set that fails
    although all its parts satisfy the models, or is minimal.
    """
    refuse_large("Incognito", checker.lattice)
    allowed = min(allowed, checker.problem.domain.n - 1)
    heights = checker.lattice.heights
    places = range(len(heights))
    survivors: dict[tuple[int, ...], np.ndarray] = {}
    checked = dict.fromkeys(range(1, len(heights) + 1), 0)
    for size in checked:
        previous, survivors = survivors, {}
        for attributes in combinations(places, size):
            found = _candidates(attributes, heights, previous)
            checked[size] += _test(checker, attributes, found, allowed)
            survivors[attributes] = found
        checker.problem.progress(f"sets of {size} of {len(heights)} attributes searched")
    return Satisfying(checker.lattice, np.flatnonzero(survivors[tuple(places)]), checked)


def _candidates(
    attributes: tuple[int, ...], heights: Sequence[int], previous: dict[tuple[int, ...], np.ndarray]
) -> np.ndarray:
    """Flags of a set's nodes, one axis an attribute: those whose every part with one attribute less survived."""
    found = np.ones([heights[a] + 1 for a in attributes], dtype=bool)
    for place in range(len(attributes) if previous else 0):
        part = previous[attributes[:place] + attributes[place + 1 :]]
        found &= np.expand_dims(part, place)
    return found


def _test(checker: Checker, attributes: tuple[int, ...], found: np.ndarray, allowed: int) -> int:
    """Check a set's candidates by height, unless one below was good, and unflag those that fail; returns how many."""
    levels = np.argwhere(found)
    levels = levels[np.argsort(levels.sum(axis=1), kind="stable")]
    marked = np.zeros_like(found)
    node = np.array(checker.lattice.heights, dtype=np.int64)
    checks = 0
    for one in levels:
        if marked[tuple(one)]:
            continue
        node[list(attributes)] = one
        checks += 1
        if checker.check(node).suppressed <= allowed:
            marked[tuple(slice(level, None) for level in one)] = True
        else:
            found[tuple(one)] = False
    return checks


def _best(checker: Checker, found: Satisfying, objective: Objective, allowed: int) -> Rank:
    """The best of the nodes found; without suppression no node is better than all the minimal ones below it."""
    levels = checker.lattice.decode(found.nodes if allowed else found.minimal)
    least = objective.plain(levels)
    best: Rank | None = None
    for i in np.argsort(least, kind="stable"):
        if best is not None and least[i] > best.cost + TIE * max(1.0, abs(best.cost)):
            break
        check = checker.check(levels[i])
        best = objective.better(levels[i], check, checker, best) or best
    assert best is not None
    return best
