"""Personalised anonymity: everybody names what must not be inferred about them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from shoal.data.domain import Domain
from shoal.data.stats import Attribute
from shoal.errors import ParameterError
from shoal.kernels import rules as kernel
from shoal.models.base import BALANCED, BREACH, Model, Reference, Rule
from shoal.params import real, whole


@dataclass(frozen=True, kw_only=True)
class Personalised(Model):
    """Nobody is found under the node they guard with a probability above p (Xiao & Tao 2006).

    Whoever knows the class of a person, and nothing else, takes every way to hand its released sensitive cells to its
    records as equally likely, and so every leaf under a released node. A breach is that at least one of the person's
    records in the class lies under the node guarded; with one record a person its probability is the mean, over the
    class, of 1 for nodes at or below the guard, leaves(guard) / leaves(node) for nodes above it, and 0 for others.
    Records of unknown value are left out. Merging classes keeps nothing, so it never prunes a search.

    Parameters
    ----------
    p
        Largest probability of a breach.
    guard_level
        Everybody guards the node at this level above their own value; None reads the column of the role ``guard``.
    on
        The sensitive column, needed where there are several. It needs a hierarchy.
    """

    name: ClassVar[str] = "personalised"
    main: ClassVar[str] = "p"
    words: ClassVar[str] = "of a breach probability of at most {p:g}"
    leaves_open: ClassVar[str | None] = (
        "People who guard no value of '{}', and hints at guards: where values were lifted, somebody asked for it."
    )
    of_nodes: ClassVar[bool] = True
    monotone: ClassVar[str] = "none"
    p: float = field(kw_only=False)
    guard_level: int | None = None
    on: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        real("Personalised", "p", self.p, low=0.0, high=1.0, open_low=True)
        if self.guard_level is not None:
            object.__setattr__(self, "guard_level", whole("Personalised", "guard_level", self.guard_level, least=0))
        if self.on is not None and not isinstance(self.on, str):
            raise ParameterError("The 'on' of Personalised must be a single sensitive column.")

    def targets(self, domain: Domain) -> list[tuple[str, ...]]:
        """One column, since guards are nodes of one hierarchy."""
        found = super().targets(domain)
        if len(found) != 1:
            raise ParameterError(
                f"Model 'personalised' is about one sensitive column, and the table has {len(found)}: set its 'on'."
            )
        return found

    def resolved(self, domain: Domain) -> list[Model]:
        """With its column written out."""
        ((on,),) = self.targets(domain)
        return [Personalised(p=self.p, guard_level=self.guard_level, on=on)]

    def attributes(self, domain: Domain) -> list[Attribute]:
        """None: breaches need released nodes and guards, which histograms of values do not hold."""
        return []

    def all_rules(self, reference: Reference) -> list[list[Rule]]:
        """One rule on the classes' breaches."""
        level = -1 if self.guard_level is None else self.guard_level
        (names,) = self.targets(reference.domain)
        return [[Rule(op=BREACH, sense=kernel.AT_MOST, limit=float(self.p), p0=float(level), names=names)]]


# ----------------------------------------
# m-invariance: releasing again after people came and went, without narrowing anybody's candidate values.


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
