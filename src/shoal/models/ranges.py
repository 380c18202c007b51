"""Models of sensitive ranges, and the limit on what a class may lose (Loukides, Chapter 5)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

from shoal.data.column import FLAT, Column, closeness
from shoal.data.domain import Domain
from shoal.data.policies import policy_of
from shoal.data.stats import Attribute
from shoal.errors import ParameterError
from shoal.kernels import rules as kernel
from shoal.models.base import Model, Reference, Rule
from shoal.params import real


def _single_column(model: Model, one: Attribute) -> Column:
    if one.column is None:
        names = "', '".join(one.names)
        raise ParameterError(
            f"Model '{model.name}' needs a single sensitive attribute, and '{names}' are several: set 'on' to one."
        )
    return one.column


@dataclass(frozen=True, kw_only=True)
class RangeDiversity(Model):
    """The mean over ordered pairs of a class of how close the second is to the first, 0 outside its range, is at
    most p (Defs 5.1.2 to 5.1.4).

    Pairs of a record with itself count, so a class needs at least 1/p different values. With ranges that are a
    partition the figure is a convex function of the distribution, which merging cannot raise; other policies have no
    such guarantee. Over the known values; people are counted by distinct subjects, once for each of their values.
    """

    name: ClassVar[str] = "range-diversity"
    main: ClassVar[str] = "p"
    words: ClassVar[str] = "of range diversity at most {p:g}"
    leaves_open: ClassVar[str | None] = (
        "A likely guess at the range of '{}': range diversity is a mean over pairs, so one sensitive range may hold "
        "most of a class."
    )
    closed_by: ClassVar[tuple[str, ...]] = ("range-confidence",)
    ranged: ClassVar[bool] = True
    p: float = field(kw_only=False)
    on: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        real("RangeDiversity", "p", self.p, low=0.0, high=1.0, open_low=True)

    def attributes(self, domain: Domain) -> list[Attribute]:
        """Single attributes only."""
        found = super().attributes(domain)
        for one in found:
            _single_column(self, one)
        return found

    def distinct_needed(self) -> int:
        """The sum of squared shares of d values is at least 1/d."""
        return math.ceil(1.0 / self.p - 1e-9)

    def rules(self, one: Attribute, reference: Reference) -> list[Rule]:
        """Mean over pairs."""
        column = _single_column(self, one)
        policy, geometry = policy_of(column), closeness(column, one.unknown)
        return [
            Rule(
                op=kernel.RANGE_PAIRS,
                sense=kernel.AT_MOST,
                limit=float(self.p),
                attribute=one,
                p0=geometry.scale,
                p1=float(geometry.kind),
                ref=policy.pairs_reference(geometry),
                tree=geometry.tree,
                keeps=policy.partition,
            )
        ]


@dataclass(frozen=True, kw_only=True)
class RangeConfidence(Model):
    """No sensitive range holds more than the share p of a class.

    Over the known values. Where people are counted, somebody with several values in one range counts once for each,
    which can only overstate the share.
    """

    name: ClassVar[str] = "range-confidence"
    main: ClassVar[str] = "p"
    words: ClassVar[str] = "of range confidence at most {p:g}"
    ranged: ClassVar[bool] = True
    p: float = field(kw_only=False)
    on: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        real("RangeConfidence", "p", self.p, low=0.0, high=1.0, open_low=True)

    def attributes(self, domain: Domain) -> list[Attribute]:
        """Single attributes only."""
        found = super().attributes(domain)
        for one in found:
            _single_column(self, one)
        return found

    def rules(self, one: Attribute, reference: Reference) -> list[Rule]:
        """Largest share in one range."""
        column = _single_column(self, one)
        return [
            Rule(
                op=kernel.RANGE_SHARE,
                sense=kernel.AT_MOST,
                limit=float(self.p),
                attribute=one,
                p1=float(column.kind == FLAT),
                ref=policy_of(column).share_reference(),
            )
        ]


@dataclass(frozen=True, kw_only=True)
class WorstGroupUtility(Model):
    """The mean Q-diversity of every class's cells, each quasi-identifier counting the same, is at most u (Def. 5.2.2).

    A promise to whoever uses the data. Splitting a class keeps it, merging need not.
    """

    name: ClassVar[str] = "worst-group-utility"
    main: ClassVar[str] = "u"
    words: ClassVar[str] = "of mean Q-diversity at most {u:g} in every class"
    valued: ClassVar[bool] = False
    of_cells: ClassVar[bool] = True
    monotone: ClassVar[str] = "down"
    u: float = field(kw_only=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        real("WorstGroupUtility", "u", self.u, low=0.0, high=1.0)

    def all_rules(self, reference: Reference) -> list[list[Rule]]:
        """One rule, on no attribute."""
        return [[Rule(op=kernel.EXTENT, sense=kernel.AT_MOST, limit=float(self.u))]]
