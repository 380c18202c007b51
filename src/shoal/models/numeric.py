"""Models of numeric attributes: spread, variance and crowding within a class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from shoal.data.column import closeness
from shoal.data.domain import Domain
from shoal.data.stats import Attribute
from shoal.kernels import rules as kernel
from shoal.models.base import Model, Reference, Rule, numeric_column
from shoal.params import real, whole


@dataclass(frozen=True, kw_only=True)
class KE(Model):
    """At least k distinct numbers that span at least e in every class (Zhang et al.)."""

    name: ClassVar[str] = "k-e"
    main: ClassVar[str] = "e"
    words: ClassVar[str] = "({k},{e:g})-anonymous"
    across: ClassVar[bool] = True
    group_words: ClassVar[str | None] = "groups of at least {k} numbers that span at least {e:g}"
    inherited: ClassVar[bool] = True
    numeric: ClassVar[bool] = True
    k: int
    e: float = field(kw_only=False)
    on: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "k", whole("KE", "k", self.k, least=2))
        real("KE", "e", self.e, low=0.0)

    def distinct_needed(self) -> int:
        """Its own k."""
        return self.k

    def rules(self, one: Attribute, reference: Reference) -> list[Rule]:
        """Span, then distinct values."""
        places = numeric_column(self, one).positions
        spread = Rule(op=kernel.SPREAD, sense=kernel.AT_LEAST, limit=float(self.e), attribute=one, ref=places)
        return [spread, Rule(op=kernel.DISTINCT, sense=kernel.AT_LEAST, limit=float(self.k), attribute=one)]


def _by_rows(found: Sequence[Attribute]) -> list[Attribute]:
    """Attributes counted by rows, those that are counted by people after them."""
    return [replace(one, people=False) for one in found] + [one for one in found if one.people]


def _with_people(model: Model, reference: Reference, *, asks: bool) -> list[list[Rule]]:
    """Conditions on rows, and where people are counted that they differ: no value of a class is everybody's."""
    every = model.attributes(reference.domain)
    differ = {
        one.names: [Rule(op=kernel.DISTINCT, sense=kernel.AT_LEAST, limit=2.0, attribute=one)]
        for one in every
        if one.people and asks
    }
    return [model.rules(one, reference) + differ.get(one.names, []) for one in every if not one.people]


@dataclass(frozen=True, kw_only=True)
class Variance(Model):
    """The population variance of a numeric attribute is at least v in every class; counted by rows.

    Where rows belong to subjects, no number may be everybody's besides. Merging two classes leaves at least the smaller
    of their variances (law of total variance).
    """

    name: ClassVar[str] = "variance"
    main: ClassVar[str] = "v"
    words: ClassVar[str] = "of variance at least {v:g}"
    numeric: ClassVar[bool] = True
    v: float = field(kw_only=False)
    on: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        real("Variance", "v", self.v, low=0.0)

    def attributes(self, domain: Domain) -> list[Attribute]:
        """Row counts, and those of people where there are subjects."""
        return _by_rows(super().attributes(domain))

    def all_rules(self, reference: Reference) -> list[list[Rule]]:
        """Population variance; none at all is asked of a class for v = 0."""
        return _with_people(self, reference, asks=self.v > 0)

    def rules(self, one: Attribute, reference: Reference) -> list[Rule]:
        """Population variance."""
        places = numeric_column(self, one).positions
        return [
            Rule(op=kernel.VARIANCE, sense=kernel.AT_LEAST, limit=float(self.v), attribute=one, ref=places)
        ]


@dataclass(frozen=True, kw_only=True)
class EpsM(Model):
    """At most 1/m of a class lies within eps of any of its records (Li, Tao & Xiao); counted by rows.

    Where rows belong to subjects, no number may be everybody's besides. Not preserved by merging, so it never prunes a
    search.
    """

    name: ClassVar[str] = "eps-m"
    main: ClassVar[str] = "m"
    words: ClassVar[str] = "({eps:g},{m})-anonymous"
    group_words: ClassVar[str | None] = "groups in which at most 1 in {m} lies within {eps:g} of any record"
    monotone: ClassVar[str] = "none"
    numeric: ClassVar[bool] = True
    eps: float
    m: int = field(kw_only=False)
    relative: bool = False
    on: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        real("EpsM", "eps", self.eps, low=0.0)
        object.__setattr__(self, "m", whole("EpsM", "m", self.m, least=2))

    def attributes(self, domain: Domain) -> list[Attribute]:
        """Row counts, and those of people where there are subjects."""
        return _by_rows(super().attributes(domain))

    def all_rules(self, reference: Reference) -> list[list[Rule]]:
        """Largest share near one record."""
        return _with_people(self, reference, asks=True)

    def distinct_needed(self) -> int:
        """A value is near itself, so m of them are needed."""
        return self.m

    def rules(self, one: Attribute, reference: Reference) -> list[Rule]:
        """Largest share near one record."""
        column = numeric_column(self, one)
        # Relative distances need the numbers themselves, not offsets from the lowest.
        places = column.positions
        if self.relative and column.numbers is not None and column.numbers.size:
            places = places + float(column.numbers[0])
        return [
            Rule(
                op=kernel.WINDOW,
                sense=kernel.AT_MOST,
                limit=1.0 / self.m,
                attribute=one,
                ref=places,
                p0=float(self.eps),
                p1=float(self.relative),
            )
        ]


@dataclass(frozen=True, kw_only=True)
class MaxRange(Model):
    """The mean S-diversity of every class is at most the limit (Loukides, Defs 3.1.3 and 3.1.4).

    ``on`` lists the attributes averaged, all sensitive ones by default. S-diversity is one minus spread over
    domain, so 0 is widest apart and 1 says nothing was hidden; it sees only the two extremes of a class.
    """

    name: ClassVar[str] = "max-range"
    main: ClassVar[str] = "limit"
    words: ClassVar[str] = "of mean S-diversity at most {limit:g}"
    leaves_open: ClassVar[str | None] = (
        "What lies between the extremes of '{}': one value may be all but certain in a class that spans it."
    )
    together: ClassVar[bool] = True
    limit: float = field(kw_only=False)
    on: str | Sequence[str] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        real("MaxRange", "limit", self.limit, low=0.0, high=1.0)

    def protects_each(self, columns: int) -> bool:
        """Whether the mean cannot reach the limit with one column at 1, the S-diversity of a single value."""
        return columns == 1 or columns * self.limit < 1

    def targets(self, domain: Domain) -> list[tuple[str, ...]]:
        """Each attribute by itself."""
        found = super().targets(domain)
        return [(name,) for names in found for name in names]

    def all_rules(self, reference: Reference) -> list[list[Rule]]:
        """One averaged condition over all of them."""
        attributes = self.attributes(reference.domain)
        return [
            [
                _closeness_rule(one, self.limit, len(attributes) if place == 0 else 0)
                for place, one in enumerate(attributes)
            ]
        ]


def _closeness_rule(one: Attribute, limit: float, combine: int) -> Rule:
    assert one.column is not None  # targets are single columns
    geometry = closeness(one.column, one.unknown)
    return Rule(
        op=kernel.CLOSENESS,
        sense=kernel.AT_MOST,
        limit=float(limit),
        attribute=one,
        p0=geometry.scale,
        p1=float(geometry.kind),
        ref=geometry.ref,
        tree=geometry.tree,
        combine=combine,
    )
