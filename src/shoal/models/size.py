"""k-anonymity: nobody is in a class of fewer than k, or of fewer once ``*`` counts as any value."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import ClassVar

from shoal.data.domain import Domain
from shoal.data.stats import Attribute
from shoal.errors import InfeasibleError, ParameterError
from shoal.kernels import rules as kernel
from shoal.models.base import MATCHES, PRESENCE, SHARED, Model, Reference, Rule, size_rule
from shoal.params import real, whole


@dataclass(frozen=True, kw_only=True)
class KAnonymity(Model):
    """Every class has at least k records, or people when there is a subject column (Samarati & Sweeney).

    Examples
    --------
    >>> KAnonymity(k=5).parameters()
    {'name': 'k', 'k': 5}
    """

    name: ClassVar[str] = "k"
    main: ClassVar[str] = "k"
    words: ClassVar[str] = "{k}-anonymous"
    group_words: ClassVar[str | None] = "groups of at least {k} records"
    identity: ClassVar[bool] = True
    valued: ClassVar[bool] = False
    inherited: ClassVar[bool] = True
    k: int = field(kw_only=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "k", whole("KAnonymity", "k", self.k, least=2))

    def size_limit(self) -> int:
        """k itself."""
        return self.k

    def rules(self, one: Attribute, reference: Reference) -> list[Rule]:
        """At least k."""
        return [size_rule(self.k)]

    def all_rules(self, reference: Reference) -> list[list[Rule]]:
        """One rule, on no attribute."""
        return [[size_rule(self.k)]]


@dataclass(frozen=True, kw_only=True)
class KWildcard(Model):
    """Every record could be at least k of the release, where ``*`` counts as any value: k as sdcMicro counts it.

    Two records could be each other where every cell of them is equal, or ``*`` in one of the two. That is less than
    `KAnonymity`, for which ``*`` is a cell like any other: k records of stars alone would do for everybody.
    """

    name: ClassVar[str] = "k-wildcard"
    main: ClassVar[str] = "k"
    words: ClassVar[str] = "{k}-anonymous where * counts as any value"
    leaves_open: ClassVar[str | None] = (
        "Records that share their cells with fewer: k-wildcard lets '*' count as any value, so that a record may be "
        "the only one that looks as it does, and a few records full of '*' stand in for the k of everybody."
    )
    monotone: ClassVar[str] = "none"
    identity: ClassVar[bool] = True
    valued: ClassVar[bool] = False
    of_cells: ClassVar[bool] = True
    k: int = field(kw_only=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "k", whole("KWildcard", "k", self.k, least=2))

    def resolved(self, domain: Domain) -> list[Model]:
        """The same, after refusing people with several rows and cells that are never ``*``."""
        if domain.by_people:
            raise ParameterError("Model 'k-wildcard' counts rows, and a subject may have several: use model 'k'.")
        single = [column.name for column in domain.quasi if column.cells == "representative"]
        if single:
            raise ParameterError(
                f"Model 'k-wildcard' looks for '*' in cells, and those of '{single[0]}' are representatives: choose "
                "another style."
            )
        return [self]

    def size_limit(self) -> int:
        """k, which classes have wherever a method does not know how to make use of stars."""
        return self.k

    def all_rules(self, reference: Reference) -> list[list[Rule]]:
        """Rows that each class could be: at least those that it has."""
        return [[replace(size_rule(self.k), anybody=True)]]


# ----------------------------------------
# Models of the population that a table was drawn from: k-map and delta-presence.


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


# ----------------------------------------
# k^m-anonymity: up to m items that somebody is known to have are shared by k records, or by none.


MOST = 4


@dataclass(frozen=True, kw_only=True)
class KMAnonymity(Model):
    """Whoever knows the class of a person and up to m of their items finds k records at least, or none.

    For a column whose cells hold several items (Terrovitis, Mamoulis & Kalnis, VLDB 2008); within every class of equal
    quasi-identifiers, which beside ``k`` is the (k, k^m)-anonymity of Poulis et al. Where no item is known that any
    record shows, none is found. Merging classes keeps it.

    Parameters
    ----------
    k
        Fewest records that share up to m items.
    m
        How many items of a person may be known, 1 to 4.
    on
        The column of items; all of them by default.

    Examples
    --------
    >>> KMAnonymity(5, m=2).parameters()
    {'name': 'k-m', 'k': 5, 'm': 2}
    """

    name: ClassVar[str] = "k-m"
    main: ClassVar[str] = "k"
    words: ClassVar[str] = "{k}^{m}-anonymous"
    leaves_open: ClassVar[str | None] = (
        "Items of '{}' beyond those known: k-m counts records that share a few known items, so that whoever knows more "
        "of them, or which ones a person does not have, may find fewer, and what all records of a class have is known "
        "of each."
    )
    monotone: ClassVar[str] = "none"
    of_cells: ClassVar[bool] = True
    k: int = field(kw_only=False)
    m: int = 2
    on: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "k", whole("KMAnonymity", "k", self.k, least=2))
        object.__setattr__(self, "m", whole("KMAnonymity", "m", self.m, least=1))
        if self.m > MOST:
            raise ParameterError(f"The 'm' of KMAnonymity must be at most {MOST}. Got {self.m}.")
        if self.on is not None and not isinstance(self.on, str):
            raise ParameterError("The 'on' of KMAnonymity must be a single column of items.")

    def targets(self, domain: Domain) -> list[tuple[str, ...]]:
        """Columns of items."""
        named = [name for name in domain.schema.sensitive if domain.schema.spec(name).items is not None]
        if not named or (self.on is not None and self.on not in named):
            what = "there is no such column" if self.on is None else f"'{self.on}' holds none"
            raise ParameterError(
                f"Model 'k-m' is about sensitive columns of items, and {what}: name what stands between items, such as "
                f"items = \"|\" under [columns.{self.on or 'NAME'}]."
            )
        return [(name,) for name in named if self.on in (None, name)]

    def resolved(self, domain: Domain) -> list[Model]:
        """One a column, after refusing people with several rows, whose items nobody takes together."""
        columns = self.targets(domain)
        if domain.by_people:
            raise ParameterError(
                "Model 'k-m' counts rows, and a subject may have several: put the items of a person into one row."
            )
        return [replace(self, on=name) for (name,) in columns]

    def attributes(self, domain: Domain) -> list[Attribute]:
        """None: it is judged on the items that are published, which histograms of what was read do not hold."""
        return []

    def all_rules(self, reference: Reference) -> list[list[Rule]]:
        """One rule a column, on the records that share items."""
        return [
            [Rule(op=SHARED, sense=kernel.AT_LEAST, limit=float(self.k), p0=float(self.m), names=names)]
            for names in self.targets(reference.domain)
        ]
