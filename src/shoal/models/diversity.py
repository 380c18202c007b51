"""The l-diversities and p-sensitivity: a class must not give its sensitive value away."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from shoal.data.stats import Attribute
from shoal.kernels import rules as kernel
from shoal.models.base import Model
from shoal.models.rules import Reference, Rule, size_rule
from shoal.params import real, whole


@dataclass(frozen=True, kw_only=True)
class DistinctL(Model):
    """At least l distinct known values in every class (Machanavajjhala et al.)."""

    name: ClassVar[str] = "distinct-l"
    main: ClassVar[str] = "l"
    words: ClassVar[str] = "distinct {l}-diverse"
    across: ClassVar[bool] = True
    inherited: ClassVar[bool] = True
    l: int = field(kw_only=False)  # noqa: E741
    on: str | Sequence[str] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "l", whole("DistinctL", "l", self.l, least=2))

    def distinct_needed(self) -> int:
        """l itself."""
        return self.l

    def rules(self, one: Attribute, reference: Reference) -> list[Rule]:
        """Distinct values."""
        return [Rule(op=kernel.DISTINCT, sense=kernel.AT_LEAST, limit=float(self.l), attribute=one)]


@dataclass(frozen=True, kw_only=True)
class EntropyL(Model):
    """The entropy of every class is at least ln l; l may be any number from 1."""

    name: ClassVar[str] = "entropy-l"
    main: ClassVar[str] = "l"
    words: ClassVar[str] = "entropy {l:g}-diverse"
    across: ClassVar[bool] = True
    l: float = field(kw_only=False)  # noqa: E741
    on: str | Sequence[str] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        real("EntropyL", "l", self.l, low=1.0, open_low=True)

    def distinct_needed(self) -> int:
        """Entropy ln l needs l values."""
        return math.ceil(self.l - 1e-9)

    def rules(self, one: Attribute, reference: Reference) -> list[Rule]:
        """Entropy in nats, shown as the number of equally likely values."""
        limit = math.log(self.l)
        return [Rule(op=kernel.ENTROPY, sense=kernel.AT_LEAST, limit=limit, attribute=one, exponential=True)]


@dataclass(frozen=True, kw_only=True)
class RecursiveCL(Model):
    """The commonest value is rarer than c times all from the l-th commonest on, strictly."""

    name: ClassVar[str] = "recursive-cl"
    main: ClassVar[str] = "l"
    words: ClassVar[str] = "recursive ({c:g},{l})-diverse"
    across: ClassVar[bool] = True
    c: float
    l: int = field(kw_only=False)  # noqa: E741
    on: str | Sequence[str] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        real("RecursiveCL", "c", self.c, low=0.0, open_low=True)
        object.__setattr__(self, "l", whole("RecursiveCL", "l", self.l, least=2))

    def distinct_needed(self) -> int:
        """Fewer than l values leave no tail."""
        return self.l

    def rules(self, one: Attribute, reference: Reference) -> list[Rule]:
        """Largest count over the tail's sum."""
        return [
            Rule(op=kernel.TAIL, sense=kernel.BELOW, limit=float(self.c), attribute=one, p0=float(self.l))
        ]


@dataclass(frozen=True, kw_only=True)
class PSensitive(Model):
    """At least p distinct known values in every class of at least k."""

    name: ClassVar[str] = "p-sensitive"
    main: ClassVar[str] = "p"
    words: ClassVar[str] = "{p}-sensitive {k}-anonymous"
    across: ClassVar[bool] = True
    group_words: ClassVar[str | None] = "at least {p} values in groups of at least {k} records"
    identity: ClassVar[bool] = True
    inherited: ClassVar[bool] = True
    p: int = field(kw_only=False)
    k: int
    on: str | Sequence[str] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "p", whole("PSensitive", "p", self.p, least=2))
        object.__setattr__(self, "k", whole("PSensitive", "k", self.k, least=2))

    def size_limit(self) -> int:
        """Its own k."""
        return self.k

    def distinct_needed(self) -> int:
        """p itself."""
        return self.p

    def rules(self, one: Attribute, reference: Reference) -> list[Rule]:
        """Distinct values, then size."""
        distinct = Rule(op=kernel.DISTINCT, sense=kernel.AT_LEAST, limit=float(self.p), attribute=one)
        return [distinct, size_rule(self.k)]
