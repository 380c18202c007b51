"""The l-diversities and p-sensitivity: a class must not give its sensitive value away."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from shoal.data.stats import Attribute, value_text
from shoal.errors import ParameterError
from shoal.kernels import rules as kernel
from shoal.models.base import Model, Reference, Rule, size_rule
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


# ----------------------------------------
# The (alpha, k) family: a value's share of a class is capped.


@dataclass(frozen=True, kw_only=True)
class _AlphaK(Model):
    main: ClassVar[str] = "alpha"
    identity: ClassVar[bool] = True
    alpha: Any = field(kw_only=False)
    k: int
    on: str | Sequence[str] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "k", whole(type(self).__name__, "k", self.k, least=2))
        self._check_alpha()

    def _check_alpha(self) -> None:
        real(type(self).__name__, "alpha", self.alpha, low=0.0, high=1.0, open_low=True)

    def size_limit(self) -> int:
        """Its own k."""
        return self.k

    def rules(self, one: Attribute, reference: Reference) -> list[Rule]:
        """Largest share over its cap, then size."""
        caps, scale = self._caps(one)
        share = Rule(op=kernel.SHARE, sense=kernel.AT_MOST, limit=1.0, attribute=one, ref=caps, scale=scale)
        return [share, size_rule(self.k)]

    def worth_left(self, one: Attribute) -> np.ndarray | None:
        """Their caps: values whose caps add up to less than 1 cannot make up a class."""
        return np.minimum(self._caps(one)[0], 1.0)

    def _caps(self, one: Attribute) -> tuple[np.ndarray, float]:
        """Cap of every code (infinite: none) and the factor that turns the ratio back into a share."""
        raise NotImplementedError

    def _code(self, one: Attribute, value: Any) -> int:
        """Code of a named value."""
        if one.column is None:
            raise ParameterError(
                f"Model '{self.name}' names a value, which a tuple of attributes has not: set one 'on'."
            )
        codes = (one.column.texts == value_text(one.column, value)).arg_true()
        if codes.len() == 0:
            raise ParameterError(
                f"Model '{self.name}' names a value that column '{one.names[0]}' never has: check it."
            )
        return int(codes[0])


@dataclass(frozen=True, kw_only=True)
class AlphaKSimple(_AlphaK):
    """One value's share is at most alpha in every class of at least k (Wong et al.)."""

    name: ClassVar[str] = "alpha-k-simple"
    names_values: ClassVar[bool] = True
    words: ClassVar[str] = "simply ({alpha:g},{k})-anonymous for one value"
    group_words: ClassVar[str | None] = (
        "one value with a share of at most {alpha:g} in groups of at least {k} records"
    )
    value: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.value is None:
            raise ParameterError("AlphaKSimple needs the 'value' that it protects.")

    def _caps(self, one: Attribute) -> tuple[np.ndarray, float]:
        caps = np.full(one.card, np.inf)
        caps[self._code(one, self.value)] = self.alpha
        return caps, float(self.alpha)


@dataclass(frozen=True, kw_only=True)
class AlphaKGeneral(_AlphaK):
    """Every value's share is at most alpha in every class of at least k."""

    name: ClassVar[str] = "alpha-k-general"
    words: ClassVar[str] = "generally ({alpha:g},{k})-anonymous"
    group_words: ClassVar[str | None] = "no value with a share above {alpha:g} in groups of at least {k} records"

    def distinct_needed(self) -> int:
        """Shares of at most alpha need that many values."""
        return math.ceil(1 / self.alpha - 1e-9)

    def _caps(self, one: Attribute) -> tuple[np.ndarray, float]:
        return np.full(one.card, float(self.alpha)), float(self.alpha)


@dataclass(frozen=True, kw_only=True)
class AlphaKComplete(_AlphaK):
    """Each value has its own alpha (``default`` for those not named), in every class of at least k."""

    name: ClassVar[str] = "alpha-k-complete"
    names_values: ClassVar[bool] = True
    words: ClassVar[str] = "completely (alpha,{k})-anonymous"
    group_words: ClassVar[str | None] = "shares of values limited in groups of at least {k} records"
    alpha: Mapping[str, float] = field(default_factory=dict)
    default: float = 1.0

    def _check_alpha(self) -> None:
        if not isinstance(self.alpha, Mapping):
            raise ParameterError("The 'alpha' of AlphaKComplete must be a table of value = share.")
        for share in [*self.alpha.values(), self.default]:
            real("AlphaKComplete", "alpha", share, low=0.0, high=1.0, open_low=True)

    def __hash__(self) -> int:
        return hash((self.name, tuple(sorted(self.alpha.items())), self.default, self.k, str(self.on)))

    def parameters(self) -> dict[str, Any]:
        """The model as a recipe writes it."""
        return super().parameters() | {"alpha": dict(self.alpha)}

    def _caps(self, one: Attribute) -> tuple[np.ndarray, float]:
        caps = np.full(one.card, float(self.default))
        for value, share in self.alpha.items():
            caps[self._code(one, value)] = share
        return caps, 1.0
