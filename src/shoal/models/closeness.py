"""t-closeness: a class's distribution is near the table's, under a distance that is always named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from shoal.data.column import Column
from shoal.data.domain import Domain
from shoal.data.stats import Attribute, sensitive_columns
from shoal.errors import ParameterError
from shoal.kernels import rules as kernel
from shoal.models.base import DISCLOSURE, Model, Reference, Rule
from shoal.params import choice, real

DISTANCES = ("equal", "ordered", "hierarchical", "variational", "kl")
INPUT, RELEASED = "input", "released"


@dataclass(frozen=True, kw_only=True)
class TCloseness(Model):
    """Every class's distribution is within t of the table's (Li, Li & Venkatasubramanian).

    Parameters
    ----------
    distance
        ``equal`` and ``variational`` (half the sum of differences), ``ordered`` (earth mover over ranks),
        ``hierarchical`` (earth mover over the hierarchy), ``kl``. By default ordered for numbers, dates and
        ordinal values, hierarchical where there is a hierarchy, equal otherwise.
    reference
        Whose distribution the table's is: that of the ``input`` (as in the paper, and in ARX) or that of the
        ``released`` rows, which anybody can check again.
    """

    name: ClassVar[str] = "t-closeness"
    main: ClassVar[str] = "t"
    words: ClassVar[str] = "{t:g}-close"
    compares: ClassVar[bool] = True
    t: float = field(kw_only=False)
    distance: str | None = None
    reference: str = INPUT
    on: str | Sequence[str] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        real("TCloseness", "t", self.t, low=0.0)
        if self.distance is not None:
            choice("TCloseness", "distance", self.distance, DISTANCES)
        choice("TCloseness", "reference", self.reference, (INPUT, RELEASED))

    @property
    def relative(self) -> bool:
        """Whether what is suppressed changes what classes are compared with."""
        return self.reference == RELEASED

    def distance_for(self, names: Sequence[str], column: Column | None) -> str:
        """The distance used for one attribute, a single column or a tuple, and why another is impossible."""
        ranked = column is not None and (column.numbers is not None or column.type == "ordinal")
        treed = column is not None and column.hierarchy is not None
        if self.distance is None:
            return "ordered" if ranked else "hierarchical" if treed else "equal"
        named = "', '".join(names)
        if self.distance == "ordered" and not ranked:
            raise ParameterError(
                f"'{named}' has no order for the ordered distance: declare it numeric, date or ordinal."
            )
        if self.distance == "hierarchical" and not treed:
            raise ParameterError(f"'{named}' has no hierarchy for the hierarchical distance: give it one.")
        return self.distance

    def worth_left(self, one: Attribute) -> np.ndarray | None:
        """Half of enough: being near the table is no certainty as long as two values are possible."""
        return np.full(one.card, 0.5)

    def resolved(self, domain: Domain) -> list[Model]:
        """One model an attribute, each naming its distance."""
        found: list[Model] = []
        for names in self.targets(domain):
            first, *others = sensitive_columns(domain, names)
            distance = self.distance_for(names, None if others else first)
            found.append(replace(self, on=list(names) if others else first.name, distance=distance))
        return found

    def rules(self, one: Attribute, reference: Reference) -> list[Rule]:
        """Distance to the reference, with unknown values present and removed."""
        distance = self.distance_for(one.names, one.column)
        counts = reference.counts(one)
        known = np.where(one.unknown == 0, counts, 0)
        differs = bool((counts != known).any())
        tree = np.empty((0, 0), dtype=np.int32)
        if distance == "hierarchical":
            tree = one.column.hierarchy.ancestors  # type: ignore[union-attr]
        op = {"ordered": kernel.ORDERED, "hierarchical": kernel.TREE, "kl": kernel.KL}.get(
            distance, kernel.TOTAL_VARIATION
        )
        return [
            Rule(
                op=op,
                sense=kernel.AT_MOST,
                limit=float(self.t),
                attribute=one,
                tree=tree,
                ref=_reference(op, known, tree),
                ref_full=_reference(op, counts, tree) if differs else None,
            )
        ]


def _reference(op: int, counts: np.ndarray, tree: np.ndarray) -> np.ndarray:
    """What the kernel compares with: shares a code, shares a node, or ranks with cumulative shares."""
    shares = counts / max(counts.sum(), 1)
    if op == kernel.TREE:
        return np.concatenate([np.bincount(level, weights=shares, minlength=shares.size) for level in tree])
    if op != kernel.ORDERED:
        return shares
    present = counts > 0
    ranks = np.cumsum(present) - 1
    cumulative = np.cumsum(shares[present])
    prefix = np.concatenate([[0.0], np.cumsum(cumulative)])
    return np.concatenate([ranks.astype(np.float64), [float(present.sum())], cumulative, prefix])


# ----------------------------------------
# Models that bound how much a class tells about each value, beside what the table tells already.


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
