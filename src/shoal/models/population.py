"""Models of the population that a table was drawn from: k-map and delta-presence."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

from shoal.data.domain import Domain
from shoal.errors import InfeasibleError, ParameterError
from shoal.kernels import rules as kernel
from shoal.models.base import Model
from shoal.models.rules import MATCHES, PRESENCE, Reference, Rule, size_rule
from shoal.params import real, whole


@dataclass(frozen=True, kw_only=True)
class KMap(Model):
    """At least k people of the population match the cells of every class (Sweeney).

    Counted in the table's ``population``; or, with the sampling ``fraction``, estimated from the size of a class. Of F
    people who match, s are drawn, each with the probability of the fraction; all F are taken to be equally likely
    beforehand. A class is large enough when F < k has at most the probability of the ``significance`` given s, which is
    that of more than s successes in k draws.

    Examples
    --------
    >>> KMap(k=5, fraction=0.1).size_limit()
    2
    """

    name: ClassVar[str] = "k-map"
    main: ClassVar[str] = "k"
    words: ClassVar[str] = "{k}-map anonymous"
    leaves_open: ClassVar[str | None] = (
        "People known to be in the data: k-map counts people of the population, by a table or an estimate, and a class "
        "may hold a single record."
    )
    identity: ClassVar[bool] = True
    valued: ClassVar[bool] = False
    of_cells: ClassVar[bool] = True
    k: int = field(kw_only=False)
    fraction: float | None = None
    significance: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "k", whole("KMap", "k", self.k, least=2))
        if self.fraction is None:
            if self.significance is not None:
                raise ParameterError("The 'significance' of KMap is that of an estimate: give the 'fraction' too.")
            return
        real("KMap", "fraction", self.fraction, low=0.0, high=1.0, open_low=True)
        if self.significance is None:
            object.__setattr__(self, "significance", 0.05)
        real("KMap", "significance", self.significance, low=0.0, high=0.5, open_low=True)

    def resolved(self, domain: Domain) -> list[Model]:
        """The same, after refusing what says nothing about the population, or says that there are too few."""
        if self.fraction is None:
            refuse_unknown(self, domain)
            people = 0 if domain.population is None else domain.population.people
            if people < self.k:
                raise InfeasibleError(f"k = {self.k} cannot be met: the population has only {people} people; lower k.")
        return [self]

    def size_limit(self) -> int:
        """The smallest class that the estimate allows."""
        if self.fraction is None or self.significance is None:
            return 1
        return size_needed(self.k, self.fraction, self.significance)

    def all_rules(self, reference: Reference) -> list[list[Rule]]:
        """People who match, or the size of class that speaks for so many."""
        if self.fraction is not None:
            return [[size_rule(self.size_limit())]]
        return [[Rule(op=MATCHES, sense=kernel.AT_LEAST, limit=float(self.k))]]

    def guides(self, reference: Reference) -> list[list[Rule]]:
        """Classes of the size that a sample of k people would have on average."""
        population = reference.domain.population
        if self.fraction is not None or population is None:
            return []
        return [[size_rule(math.ceil(self.k * min(1.0, reference.domain.n / population.people)))]]


@dataclass(frozen=True, kw_only=True)
class DeltaPresence(Model):
    """Of the people of the population who match a class, between delta_min and delta_max are in it (Nergiz et al.).

    Somebody who knows a person of the population, and which class they would be in, believes that they are in the data
    with that probability.
    """

    name: ClassVar[str] = "delta-presence"
    main: ClassVar[str] = "delta_max"
    words: ClassVar[str] = "({delta_min:g},{delta_max:g})-present"
    leaves_open: ClassVar[str | None] = (
        "Membership beyond the odds of delta-presence: they are those of somebody who knows the population table "
        "alone, and of people whom some class covers."
    )
    valued: ClassVar[bool] = False
    of_cells: ClassVar[bool] = True
    membership: ClassVar[bool] = True
    monotone: ClassVar[str] = "none"
    delta_max: float = field(kw_only=False)
    delta_min: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        real("DeltaPresence", "delta_min", self.delta_min, low=0.0, high=1.0)
        real("DeltaPresence", "delta_max", self.delta_max, low=0.0, high=1.0, open_low=True)
        if self.delta_min > self.delta_max:
            raise ParameterError("The 'delta_min' of DeltaPresence is above its 'delta_max': swap them.")
        if self.delta_min == 0 and self.delta_max == 1:
            raise ParameterError("No class can fail DeltaPresence from 0 to 1: lower 'delta_max' or raise 'delta_min'.")

    def resolved(self, domain: Domain) -> list[Model]:
        """The same, after refusing a table whose population is not known."""
        refuse_unknown(self, domain)
        return [self]

    def all_rules(self, reference: Reference) -> list[list[Rule]]:
        """The share of those who match that is in the class, from above and from below."""
        return [
            [
                Rule(op=PRESENCE, sense=kernel.AT_MOST, limit=float(self.delta_max)),
                Rule(op=PRESENCE, sense=kernel.AT_LEAST, limit=float(self.delta_min)),
            ]
        ]


def refuse_unknown(model: Model, domain: Domain) -> None:
    """Say so where nobody knows the population, or cells do not say whom they cover."""
    single = [column.name for column in domain.quasi if column.cells == "representative"]
    if single:
        raise ParameterError(
            f"Model '{model.name}' counts whom cells cover, and those of '{single[0]}' are representatives: choose "
            "another style."
        )
    if domain.population is None:
        raise ParameterError(
            f"Model '{model.name}' needs the population that the table was drawn from: name its file under [source] "
            "as 'population'."
        )


def size_needed(k: int, fraction: float, significance: float) -> int:
    """The smallest s for which more than s successes in k draws are as unlikely as that."""
    if fraction == 1.0:
        return k
    beyond, size = 0.0, k
    while size > 1:
        more = math.lgamma(k + 1) - math.lgamma(size + 1) - math.lgamma(k - size + 1)
        beyond += math.exp(more + size * math.log(fraction) + (k - size) * math.log1p(-fraction))
        if beyond > significance + kernel.TOLERANCE:
            break
        size -= 1
    return size
