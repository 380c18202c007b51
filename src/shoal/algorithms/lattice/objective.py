"""What a search minimises, with its ties: the measure, then suppressed rows, then the loss metric, then the levels."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass

import numpy as np

from shoal.algorithms.base import Problem
from shoal.algorithms.lattice.checker import Checker, NodeCheck, PriceTable
from shoal.data.domain import Domain
from shoal.data.rows import with_tuples
from shoal.errors import ParameterError
from shoal.registry import load
from shoal.utility.base import search_prices

# Costs this near are equal: sums of some ten thousand prices in another order differ by less.
TIE = 1e-9
CLASS_MEASURES = ("dm", "c-avg")


@dataclass(frozen=True, order=True)
class Rank:
    """How good a node is: compare ranks, smaller first."""

    cost: float
    suppressed: int
    loss: float
    levels: tuple[int, ...]

    def beats(self, other: Rank | None) -> bool:
        """Whether it is better, costs within rounding being equal."""
        if other is None:
            return True
        if abs(self.cost - other.cost) > TIE * max(1.0, abs(other.cost)):
            return self.cost < other.cost
        if self.suppressed != other.suppressed:
            return self.suppressed < other.suppressed
        if abs(self.loss - other.loss) > TIE:
            return self.loss < other.loss
        return self.levels < other.levels


def known_for(measure: str, problem: Problem) -> Domain:
    """What is known of a table, with the tuples of columns that a measure looks at."""
    return with_tuples(problem.rows, load("measure", measure)().tuples(problem.domain))


class Objective:
    """One measure on one table.

    Parameters
    ----------
    measure
        Its name; ``dm`` and ``c-avg`` are priced by classes, the others by records.
    """

    def __init__(self, measure: str, domain: Domain, k: int) -> None:
        self.name = measure
        self.n = domain.n
        self.k = k
        self.by_class = measure in CLASS_MEASURES
        loss = search_prices(load("measure", "lm")(), domain)
        assert loss is not None
        self._loss = PriceTable(loss, domain.quasi)
        self.priced: PriceTable | None = None
        if not self.by_class:
            prices = search_prices(load("measure", measure)(), domain)
            if prices is None:
                raise ParameterError(f"The measure '{measure}' cannot guide a full-domain search: choose another.")
            self.priced = PriceTable(prices, domain.quasi)

    def unsuppressed(self) -> Objective:
        """The same, but suppressed rows cost what they would if they were kept; measures of classes do not change."""
        if self.priced is None:
            return self
        other = copy.copy(self)
        other.priced = self.priced.unsuppressed()
        return other

    def figure(self, cost: float) -> float:
        """What the measure itself says of a cost, on its own scale and in its own direction."""
        if self.name == "precision":
            return 1.0 - cost
        if self.name == "rv":
            return -cost
        return math.exp(cost) - 1.0 if self.priced is not None and self.priced.log else cost

    def better(self, levels: np.ndarray, check: NodeCheck, checker: Checker, best: Rank | None) -> Rank | None:
        """Rank of the node that was just checked, or None when it does not beat the best so far."""
        cost = self.cost(levels, check, checker)
        if best is not None and cost > best.cost + TIE * max(1.0, abs(best.cost)):
            return None
        loss = _cost(self._loss, levels, checker, check.suppressed)
        rank = Rank(cost, check.suppressed, loss, tuple(int(level) for level in levels))
        return rank if rank.beats(best) else None

    def cost(self, levels: np.ndarray, check: NodeCheck, checker: Checker) -> float:
        """What the node that was just checked costs."""
        if self.priced is not None:
            return _cost(self.priced, levels, checker, check.suppressed)
        if self.name == "dm":
            return check.squares + float(self.n) * check.suppressed
        return self.n / (max(check.classes, 1) * self.k)

    def plain(self, levels: np.ndarray) -> np.ndarray:
        """Cost of nodes, shape (nodes, attributes) to (nodes), if nothing were suppressed; 0 for class measures."""
        if self.priced is None:
            return np.zeros(len(levels))
        return self.priced.terms[np.arange(levels.shape[1]), levels].sum(axis=1)

    def least(self) -> np.ndarray:
        """What each attribute adds to the cost of any node at a level, (attributes, levels), if nothing is lost."""
        if self.priced is not None:
            return self.priced.terms
        return self._whole(float(self.n) * self.k if self.name == "dm" else 1.0)

    def inherited(self, check: NodeCheck, checker: Checker) -> np.ndarray:
        """The same for every node finer than the last check's, with the rows lost that it proves lost."""
        if self.priced is not None:
            return self.priced.price(self.priced.rows - checker.inherited(self.priced))
        gone, kept = check.inherited, self.n - check.inherited
        if self.name == "dm":
            return self._whole(float(self.n) * gone + self.k * kept)
        return self._whole(self.n / max(kept, 1))

    def _whole(self, cost: float) -> np.ndarray:
        """A cost that does not depend on the levels, all of it with the first attribute."""
        terms = np.zeros(self._loss.rows.shape)
        terms[0] = cost
        return terms


def _cost(prices: PriceTable, levels: np.ndarray, checker: Checker, suppressed: int) -> float:
    at = np.arange(levels.size)
    if not suppressed:
        return float(prices.terms[at, levels].sum())
    return float(prices.price(prices.rows[at, levels] - checker.suppressed(prices)).sum())
