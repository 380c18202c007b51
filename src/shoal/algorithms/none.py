"""No search at all: the user's own level a column, gated like any other release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from shoal.algorithms.base import Algorithm, Problem
from shoal.errors import ParameterError
from shoal.params import nearest
from shoal.recoding.recodings import FullDomain


@dataclass(frozen=True, kw_only=True)
class NoAlgorithm(Algorithm):
    """Publish each quasi-identifier at the level given (0 where none is), if the models allow it.

    Parameters
    ----------
    levels
        Column to level, 0 = as it is; columns without a hierarchy have 0 and 1 (``*``).

    Examples
    --------
    >>> NoAlgorithm(levels={"age": 2}).parameters()
    {'name': 'none', 'suppression_limit': 0.0, 'levels': {'age': 2}}
    """

    name: ClassVar[str] = "none"
    levels: Mapping[str, int] = field(default_factory=dict)

    def __hash__(self) -> int:
        return hash((self.name, self.suppression_limit, tuple(sorted(self.levels.items()))))

    def parameters(self) -> dict[str, Any]:
        """The algorithm as a recipe writes it."""
        return super().parameters() | {"levels": dict(self.levels)}

    @property
    def judges_sets(self) -> bool:
        """Classes are judged set by set."""
        return True

    @property
    def from_cells(self) -> bool:
        """The frequency table is all that it looks at."""
        return True

    def run(self, problem: Problem) -> FullDomain:
        """The levels, after checking that each names a quasi-identifier."""
        quasi = problem.domain.schema.quasi
        for name in self.levels:
            if name not in quasi:
                near = nearest(name, quasi)
                hint = f" Did you mean '{near}'?" if near else ""
                raise ParameterError(f"There is a level for '{name}', which is not a quasi-identifier.{hint}")
        return FullDomain(levels=dict(self.levels))
