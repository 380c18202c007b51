"""Parameters of the research value, for methods that search by it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from shoal.algorithms.base import Algorithm
from shoal.catalogue import load
from shoal.data.domain import Domain
from shoal.data.rows import Rows, with_tuples


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
