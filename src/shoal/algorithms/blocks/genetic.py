"""Iyengar's genetic search for blocks (2002): strings of cuts that mate, mutate and replace the worst."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.algorithms.base import Problem
from shoal.algorithms.blocks.board import Board, Cuts, cuts_of
from shoal.algorithms.blocks.k_optimize import ByBlocks, recoded
from shoal.algorithms.lattice.verdicts import infeasible
from shoal.params import real, whole
from shoal.recoding.recodings import Blocks

Fitness = tuple[int, float]
# How much likelier the best is drawn than the one in the middle, as in GENITOR.
_BIAS = 1.5
_TRIES = 20


@dataclass(frozen=True, kw_only=True)
class Genetic(ByBlocks):
    """Blocks by evolution: a string has a bit for every place where a column may be cut (a node of its hierarchy).

    Two strings, drawn by rank, are crossed at two places; bits flip, more of them while the child is alive already; and
    cuts whose parents are lacking are dropped. The child takes the place of the worst string if it is better. Strings
    that suppress too many rows rank behind all that do not, by how many too many.

    Parameters
    ----------
    population
        Strings alive at a time.
    evaluations
        Children made in all.
    mutation
        Probability that a bit flips; one bit a string on average when None.

    Examples
    --------
    >>> Genetic(k=5, evaluations=500).parameters()["evaluations"]
    500
    """

    name: ClassVar[str] = "genetic"
    population: int = 50
    evaluations: int = 5000
    mutation: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("Genetic", "population", self.population, least=2)
        whole("Genetic", "evaluations", self.evaluations, least=0)
        if self.mutation is not None:
            real("Genetic", "mutation", self.mutation, low=0.0, high=1.0)

    def run(self, problem: Problem) -> Blocks:
        """Evolve, and recode by the best string."""
        board, cuts = self.board(problem), cuts_of(problem.domain.quasi)
        random = problem.keys.generator("genetic")
        until = None if self.seconds is None else time.monotonic() + self.seconds
        rate = 1.0 / max(cuts.size, 1) if self.mutation is None else self.mutation
        alive = Alive(board, cuts, random, rate)
        alive.begin(self.population)
        made = 0
        while made < self.evaluations and (until is None or time.monotonic() < until):
            alive.breed()
            made += 1
            if made % 200 == 0:
                problem.progress(f"{made} children, {self.measure} {board.figure(alive.fitness[0][1]):.6g}")
        excess, cost = alive.fitness[0]
        if excess > 0:
            raise infeasible(problem, self.rows_allowed(problem.domain.n))
        notes = {"figure": board.figure(cost), "children": made, "taken": alive.taken, "cuts": cuts.size}
        return recoded(problem, cuts, alive.strings[0], notes)


class Alive:
    """Strings of cuts, the best first, and their fitness: rows suppressed beyond what is allowed, then cost."""

    def __init__(self, board: Board, cuts: Cuts, random: np.random.Generator, rate: float) -> None:
        self.board, self.cuts, self.random, self.rate = board, cuts, random, rate
        self.strings: list[np.ndarray] = []
        self.fitness: list[Fitness] = []
        self.taken = 0

    def begin(self, count: int) -> None:
        """No cuts at all, and random strings from sparse to dense."""
        for number in range(count):
            density = (number / max(count - 1, 1)) ** 2
            self._put(self.cuts.closed(self.random.random(self.cuts.size) < density))

    def breed(self) -> None:
        """One child of two strings, in the place of the worst."""
        mother, father = (self.strings[self._drawn()] for _ in range(2))
        child = mother.copy()
        first, last = np.sort(self.random.integers(0, self.cuts.size + 1, 2))
        child[first:last] = father[first:last]
        child ^= self.random.random(self.cuts.size) < self.rate
        child = self.cuts.closed(child)
        for _ in range(_TRIES):
            if self.cuts.size == 0 or not self._known(child):
                break
            # A string that is alive already teaches nothing.
            child[self.random.integers(self.cuts.size)] ^= True
            child = self.cuts.closed(child)
        size = len(self.strings)
        self.taken += self._put(child)
        del self.strings[size:], self.fitness[size:]

    def _known(self, string: np.ndarray) -> bool:
        return any(np.array_equal(string, one) for one in self.strings)

    def _drawn(self) -> int:
        """A place, the better ones likelier, as Whitley's linear ranking draws it."""
        root = np.sqrt(_BIAS * _BIAS - 4.0 * (_BIAS - 1.0) * self.random.random())
        return int(len(self.strings) * (_BIAS - root) / 2.0 / (_BIAS - 1.0))

    def _put(self, string: np.ndarray) -> bool:
        """Put a new string in its place by fitness; whether it is better than the last one so far."""
        if self._known(string):
            return False
        state = self.board.state(self.cuts.blocks(string))
        mine = max(0, state.suppressed - self.board.allowed), state.cost
        place = next((at for at, other in enumerate(self.fitness) if mine < other), len(self.fitness))
        better = place < len(self.fitness)
        self.strings.insert(place, string)
        self.fitness.insert(place, mine)
        return better
