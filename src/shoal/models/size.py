"""k-anonymity: nobody is in a class of fewer than k, or of fewer once ``*`` counts as any value."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

from shoal.data.domain import Domain
from shoal.data.stats import Attribute
from shoal.errors import ParameterError
from shoal.models.base import Model
from shoal.models.rules import Reference, Rule, size_rule
from shoal.params import whole


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
