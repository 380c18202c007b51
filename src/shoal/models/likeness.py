"""Models that bound how much a class tells about each value, beside what the table tells already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from shoal.data.stats import Attribute
from shoal.kernels import rules as kernel
from shoal.models.base import Model
from shoal.models.closeness import INPUT, RELEASED
from shoal.models.rules import DISCLOSURE, Reference, Rule
from shoal.params import choice, real

BASIC, ENHANCED = "basic", "enhanced"
# The share of a value that the table lacks, which is over any cap.
_NOTHING = 1e-300


@dataclass(frozen=True, kw_only=True)
class _Gain(Model):
    compares: ClassVar[bool] = True
    reference: str = INPUT
    on: str | Sequence[str] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        choice(type(self).__name__, "reference", self.reference, (INPUT, RELEASED))

    @property
    def relative(self) -> bool:
        """Whether what is suppressed changes what classes are compared with."""
        return self.reference == RELEASED

    def worth_left(self, one: Attribute) -> np.ndarray | None:
        """Half of enough: being near the table is no certainty as long as two values are possible."""
        return np.full(one.card, 0.5)


@dataclass(frozen=True, kw_only=True)
class BetaLikeness(_Gain):
    """No value's share of a class exceeds its share of the table by more than beta times that (Cao & Karras).

    Parameters
    ----------
    beta
        Largest relative gain, above 0.
    variant
        ``basic``, or ``enhanced``: a value of the share p may gain min(beta, -ln p) at most, so that common values stay
        below certainty.
    reference
        Whose shares the table's are: those of the ``input`` or of the ``released`` rows.
    """

    name: ClassVar[str] = "beta-likeness"
    main: ClassVar[str] = "beta"
    words: ClassVar[str] = "{variant} {beta:g}-like"
    beta: float = field(kw_only=False)
    variant: str = BASIC

    def __post_init__(self) -> None:
        super().__post_init__()
        real("BetaLikeness", "beta", self.beta, low=0.0, open_low=True)
        choice("BetaLikeness", "variant", self.variant, (BASIC, ENHANCED))

    def rules(self, one: Attribute, reference: Reference) -> list[Rule]:
        """Largest share over its cap."""
        shares = known_shares(one, reference)
        gain = np.full(shares.size, float(self.beta))
        if self.variant == ENHANCED:
            gain = np.minimum(gain, -np.log(np.maximum(shares, _NOTHING)))
        caps = np.maximum(shares * (1.0 + gain), _NOTHING)
        return [Rule(op=kernel.SHARE, sense=kernel.AT_MOST, limit=1.0, attribute=one, ref=caps)]


@dataclass(frozen=True, kw_only=True)
class DeltaDisclosure(_Gain):
    """The share of every value of the table differs in every class by a factor below 2 to the delta (Brickell &
    Shmatikov).

    |log2(q/p)| < delta for each known value of the table, q its share of the class and p that of the table. A value
    that a class lacks has no such logarithm, so a class needs every value of the table.
    """

    name: ClassVar[str] = "delta-disclosure"
    main: ClassVar[str] = "delta"
    words: ClassVar[str] = "{delta:g}-disclosure private"
    delta: float = field(kw_only=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        real("DeltaDisclosure", "delta", self.delta, low=0.0, open_low=True)

    def rules(self, one: Attribute, reference: Reference) -> list[Rule]:
        """Largest logarithm of a ratio; what rounding alone keeps below delta is not."""
        limit = float(self.delta) * (1.0 - kernel.TOLERANCE)
        return [
            Rule(op=DISCLOSURE, sense=kernel.BELOW, limit=limit, attribute=one, ref=known_shares(one, reference))
        ]

    def guides(self, reference: Reference) -> list[list[Rule]]:
        """Every value is there, and none is too common: what kernels can count of it."""
        found = []
        for one in self.attributes(reference.domain):
            shares = known_shares(one, reference)
            caps = np.maximum(shares * 2.0**self.delta, _NOTHING)
            every = float(np.count_nonzero(shares))
            found.append([
                Rule(op=kernel.SHARE, sense=kernel.AT_MOST, limit=1.0, attribute=one, ref=caps),
                Rule(op=kernel.DISTINCT, sense=kernel.AT_LEAST, limit=every, attribute=one),
            ])  # fmt: skip
        return found


def known_shares(one: Attribute, reference: Reference) -> np.ndarray:
    """Share of every known value among the people (or rows) of the reference that have an answer."""
    counts = np.where(one.unknown == 0, reference.counts(one), 0)
    return counts / max(int(reference.stats.histograms[one.key].known[0]), 1)
