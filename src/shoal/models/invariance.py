"""m-invariance: releasing again after people came and went, without narrowing anybody's candidate values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from shoal.data.domain import Domain
from shoal.data.stats import Attribute
from shoal.errors import ParameterError
from shoal.kernels import rules as kernel
from shoal.models.base import Model
from shoal.models.rules import BALANCED, Reference, Rule
from shoal.params import whole


@dataclass(frozen=True, kw_only=True)
class MInvariance(Model):
    """Every class has at least m values, all equally often, and the same ones as its people had around them before.

    Xiao & Tao (2007) ask that no two records of a group have the same value; groups of the same values that
    generalise to the same cells are one class here, so each value may occur several times, as often as any other.
    "Before" is every earlier release in the table's history; without one, only the class itself is judged.

    Parameters
    ----------
    m
        Fewest values of a class.
    on
        The sensitive column, needed where there are several.
    """

    name: ClassVar[str] = "m-invariance"
    main: ClassVar[str] = "m"
    words: ClassVar[str] = "{m}-invariant"
    across: ClassVar[bool] = True
    identity: ClassVar[bool] = True
    remembers: ClassVar[bool] = True
    monotone: ClassVar[str] = "none"
    m: int = field(kw_only=False)
    on: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "m", whole("MInvariance", "m", self.m, least=2))
        if self.on is not None and not isinstance(self.on, str):
            raise ParameterError("The 'on' of MInvariance must be a single sensitive column.")

    def targets(self, domain: Domain) -> list[tuple[str, ...]]:
        """One column, since a class keeps one set of values."""
        found = super().targets(domain)
        if len(found) != 1:
            raise ParameterError(
                f"Model 'm-invariance' is about one sensitive column, and the table has {len(found)}: set its 'on'."
            )
        return found

    def resolved(self, domain: Domain) -> list[Model]:
        """With its column written out."""
        ((on,),) = self.targets(domain)
        if domain.by_people and domain.n_subjects < domain.n:
            raise ParameterError(
                f"Model 'm-invariance' takes a row for a person, and the table's {domain.n} rows are about "
                f"{domain.n_subjects} people: keep one row a person."
            )
        if domain.history not in (None, on):
            raise ParameterError(f"The history given is not that of column '{on}' of this table: make it anew.")
        return [MInvariance(m=self.m, on=on)]

    def size_limit(self) -> int:
        """m values need m records."""
        return self.m

    def distinct_needed(self) -> int:
        """m itself."""
        return self.m

    def rules(self, one: Attribute, reference: Reference) -> list[Rule]:
        """Values of a balanced class that keeps its people's signature, 0 for any other."""
        return [Rule(op=BALANCED, sense=kernel.AT_LEAST, limit=float(self.m), attribute=one)]
