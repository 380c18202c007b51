"""What the research-value methods have in common: their parameters, and the frame of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from shoal.algorithms.base import Algorithm, Problem
from shoal.algorithms.lattice.checker import Checker
from shoal.algorithms.lattice.pruning import infeasible
from shoal.algorithms.lattice.research.search import Search, prune_levels
from shoal.catalogue import load
from shoal.models.base import Model
from shoal.recoding.recodings import FullDomain
from shoal.table.rows import with_tuples
from shoal.table.workload import kept_by_tolls


@dataclass(frozen=True, kw_only=True)
class ResearchSearch(Algorithm):
    """Search generalisation strings, one level a column, for a large research value.

    Parameters
    ----------
    rules, weights, normalise, rv
        How levels are valued, as for the measure ``rv``.
    k
        Shorthand that adds the model ``k``.
    """

    shorthand: ClassVar[tuple[str, ...]] = ("k",)
    rules: Sequence[Any] = ()
    weights: str = "given"
    normalise: bool = True
    rv: Mapping[str, Sequence[float]] = field(default_factory=dict, hash=False)
    k: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        checked = self._measure()
        object.__setattr__(self, "rules", checked.rules)
        object.__setattr__(self, "rv", checked.rv)

    def _measure(self) -> Any:
        made = load("measure", "rv")
        return made(rules=self.rules, weights=self.weights, normalise=self.normalise, rv=self.rv)

    def parameters(self) -> dict[str, Any]:
        """The algorithm as a recipe writes it."""
        plain = {
            "rules": [rule.parameters() for rule in self.rules],
            "rv": {name: list(values) for name, values in self.rv.items()},
        }
        return super().parameters() | plain

    def models(self) -> list[Model]:
        """The model that ``k`` stands for."""
        return [] if self.k is None else [load("model", "k")(k=self.k)]

    def run(self, problem: Problem) -> FullDomain:
        """The best string found, with the other successful ones in the notes."""
        checker, measure = Checker(problem), self._measure()
        domain = with_tuples(problem.rows, measure.tuples(problem.domain))
        levels = measure.level_values(domain.quasi, domain.quasi_weights, domain.joint)
        values = [mine * kept_by_tolls(one, domain.cuts) for mine, one in zip(levels, domain.quasi, strict=True)]
        search = Search(checker, values, self.rows_allowed(domain.n))
        prune_levels(search)
        problem.progress(f"searching {search.size} strings")
        self.search(search)
        if not search.successes:
            raise infeasible(problem, search.allowed)
        best = search.ranked()[0]
        named = {column.name: level for column, level in zip(domain.quasi, best.levels, strict=True)}
        return FullDomain(levels=named, notes=search.notes())

    def search(self, search: Search) -> None:
        """Test strings over the levels kept; those that pass stay in ``search.successes``."""
        raise NotImplementedError
