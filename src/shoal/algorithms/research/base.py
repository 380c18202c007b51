"""What the research-value methods have in common: their parameters, and the frame of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from shoal.algorithms.base import Algorithm, Problem
from shoal.algorithms.lattice.checker import Checker
from shoal.algorithms.lattice.verdicts import infeasible
from shoal.algorithms.research.search import Search, contradiction, keep_rules, named_rules, prune_levels
from shoal.data.domain import Domain
from shoal.data.rows import Rows, with_tuples
from shoal.data.workload import kept_by_tolls
from shoal.errors import InfeasibleError
from shoal.models.base import Model
from shoal.params import real, whole
from shoal.recoding.recodings import FullDomain
from shoal.registry import load

# ----------------------------------------
# Parameters of the research value, for methods that search by it.


@dataclass(frozen=True, kw_only=True)
class Researched(Algorithm):
    """A method that can be told what levels are worth.

    Parameters
    ----------
    rules, weights, normalise, rv
        How levels are valued, as for the measure ``rv``; left out, as the table was read with (``[research]``).
    """

    rules: Sequence[Any] = ()
    weights: str = "given"
    normalise: bool = True
    rv: Mapping[str, Sequence[float]] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        checked = self._own()
        object.__setattr__(self, "rules", checked.rules)
        object.__setattr__(self, "rv", checked.rv)

    def _own(self) -> Any:
        return load("measure", "rv")(rules=self.rules, weights=self.weights, normalise=self.normalise, rv=self.rv)

    @property
    def research(self) -> dict[str, Any]:
        """What it says that levels are worth, where it says anything."""
        own, plain = self._own(), load("measure", "rv")()
        return {} if own == plain else own.parameters()

    def valued(self, rows: Rows) -> tuple[Any, Domain]:
        """The research value, and what is known of the table with all that it needs."""
        domain = with_tuples(rows, self._own().tuples(rows.domain))
        research = self.research or domain.research
        return load("measure", "rv")(**research), replace(domain, research=research)

    def parameters(self) -> dict[str, Any]:
        """The algorithm as a recipe writes it."""
        own = self._own().parameters()
        return super().parameters() | {key: own[key] for key in ("rules", "rv")}


@dataclass(frozen=True, kw_only=True)
class ResearchSearch(Researched):
    """Search generalisation strings, one level a column, for a large research value.

    Parameters
    ----------
    top
        How many of the best strings to list for an expert to choose from.
    max_roots
        Columns that may be published at their root, of which nothing is left; None: any.
    seconds
        Stop after so long with the best string so far and the gap that remains; None searches to the end.
    k
        Shorthand that adds the model ``k``.
    """

    shorthand: ClassVar[tuple[str, ...]] = ("k",)
    top: int = 10
    max_roots: int | None = None
    seconds: float | None = None
    k: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "top", whole(self.name, "top", self.top, least=1))
        if self.max_roots is not None:
            object.__setattr__(self, "max_roots", whole(self.name, "max_roots", self.max_roots, least=0))
        if self.seconds is not None:
            real(self.name, "seconds", self.seconds, low=0.0, open_low=True)

    def models(self) -> list[Model]:
        """The model that ``k`` stands for."""
        return [] if self.k is None else [load("model", "k")(k=self.k)]

    @property
    def from_cells(self) -> bool:
        """The frequency table is all that it looks at."""
        return True

    def run(self, problem: Problem) -> FullDomain:
        """The best string found, with the other successful ones in the notes."""
        checker = Checker(problem)
        measure, domain = self.valued(problem.rows)
        levels = measure.level_values(domain.quasi, domain.quasi_weights, domain.joint)
        values = [mine * kept_by_tolls(one, domain.cuts) for mine, one in zip(levels, domain.quasi, strict=True)]
        allowed = self.rows_allowed(domain.n)
        search = Search(checker, values, allowed, top=self.top, max_roots=self.max_roots, seconds=self.seconds)
        prune_levels(search)
        keep_rules(search, measure)
        problem.progress(f"searching {search.size} strings")
        self.search(search)
        if not search.successes:
            raise self._nothing(problem, search, [rule.text for rule in measure.rules if rule.keep])
        best = search.successes[0]
        named = {column.name: level for column, level in zip(domain.quasi, best.levels, strict=True)}
        return FullDomain(levels=named, notes=search.notes())

    def _nothing(self, problem: Problem, search: Search, rules: list[str]) -> InfeasibleError:
        """The error for what stands in the way: too few columns at their root, rules, or the models alone."""
        if self.max_roots is not None:
            keeping = f" and keeps the {named_rules(rules)}" if rules else ""
            return InfeasibleError(
                f"No generalisation with at most {self.max_roots} columns at their root satisfies the models with at "
                f"most {search.allowed} rows suppressed{keeping}: raise max_roots or the suppression_limit, or relax "
                "the models."
            )
        if rules and search.test(search.heights).passes:
            return contradiction(rules, search.allowed)
        return infeasible(problem, search.allowed)

    def search(self, search: Search) -> None:
        """Test strings over the levels kept; those that pass stay in ``search.successes``."""
        raise NotImplementedError
