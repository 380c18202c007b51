"""k-anonymity: nobody is in a class of fewer than k."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from shoal.models.base import Model
from shoal.models.rules import Reference, Rule, size_rule
from shoal.params import whole
from shoal.table.stats import Attribute


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
