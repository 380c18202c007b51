"""Measures of random anonymisation (Yang & Qiao 2010); for a release of another kind they have no value.

They read ``stats.channel``, a :class:`~shoal.recoding.randomised.Randomised`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np

from shoal.errors import ParameterError
from shoal.kernels.posterior import reach_all
from shoal.recoding.kinds import Trait
from shoal.recoding.randomised import Randomised, entropy
from shoal.recoding.recoded import PriceStats
from shoal.results import Score
from shoal.utility.base import Measure
from shoal.utility.bias import association_bias, relative_bias
from shoal.utility.posterior import Vectors, count_sets, posterior, sets, too_many, vectors

# ----------------------------------------
# Gamma-amplification of random anonymisation (Yang & Qiao 2010, Def. 8 and Sec. 4.2.2).
#
# Each ratio is inverted before the largest is taken, and an original that cannot become a released vector makes it
# infinite; the paper does neither.


# Counts kept at once, one a set of columns and released vector.
_CELLS = 1 << 27


@dataclass(frozen=True, eq=False)
class Amplification:
    """Gamma of every released vector.

    Attributes
    ----------
    finite
        Largest ratio among originals that can become the vector.
    infinite
        Whether an original of the table cannot (with the prior: whether the vector itself is no original).
    records
        Released records of the vector.
    """

    finite: np.ndarray
    infinite: np.ndarray
    records: np.ndarray

    @property
    def worst(self) -> float:
        """Gamma of the release: the largest of all vectors'."""
        return float("inf") if self.infinite.any() else float(self.finite.max())


def countable(described: Randomised) -> bool:
    """Whether the sets of columns are few enough for :func:`amplification`."""
    return count_sets(described) * described.domain.n <= _CELLS


def amplification(described: Randomised) -> Amplification:
    """Largest ratio of the probabilities with which two vectors of the input become a released one (Def. 8)."""
    found = vectors(described)
    high, low = np.zeros(found.released.size), np.full(found.released.size, np.inf)
    able = np.zeros(found.released.size, dtype=np.int64)
    exact: dict[tuple[int, ...], np.ndarray] = {}
    for chosen in sets(described):
        ours, theirs, count = found.buckets(chosen)
        # Originals that differ in all of the set, by leaving out those that differ in a part of it only.
        kinds = np.bincount(ours, minlength=count)[theirs]
        for size in range(len(chosen)):
            for part in combinations(chosen, size):
                kinds = kinds - exact[part]
        exact[chosen] = kinds.astype(np.int32)
        chances = reach_all(found.weights, found.inside(chosen), described.redraw, described.scale)
        here = kinds > 0
        high[here] = np.maximum(high[here], chances[here])
        low[here] = np.minimum(low[here], chances[here])
        able += kinds
    return Amplification(finite=high / low, infinite=able < found.counts.size, records=found.released)


def amplification_with_prior(described: Randomised) -> Amplification:
    """Ratio of a released vector's own weight to each neighbour's, one column redrawn (Sec. 4.2.2).

    Weights count the records of the input with that vector. A vector nobody had is infinitely less likely to have
    stayed than to have come about.
    """
    found = vectors(described)
    ours, theirs, count = found.buckets(())
    records = np.bincount(ours, found.counts, minlength=count)[theirs]
    own = records * found.weights.sum(axis=1)
    finite = np.ones(own.size)
    known = records > 0
    for place in range(found.weights.shape[1]):
        least, most = _others(found, place, records)
        near = known & (least > 0)
        step = found.weights[:, place]
        up, down = own[near] / (least[near] * step[near]), most[near] * step[near] / own[near]
        finite[near] = np.maximum(finite[near], np.maximum(up, down))
    return Amplification(finite=finite, infinite=~known, records=found.released)


def _others(found: Vectors, place: int, records: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Records of the rarest and of the commonest other original that differs in one column alone; 0 without any."""
    ours, theirs, count = found.buckets((place,))
    order = np.lexsort((found.counts, ours))
    counts = found.counts[order]
    size = np.bincount(ours, minlength=count)
    start = np.cumsum(size) - size
    size, start = size[theirs], start[theirs]
    # Counts are in order within a bucket, so that leaving out a vector's own leaves the next.
    first = np.minimum(start, counts.size - 1)
    last = np.maximum(start + size - 1, 0)
    least = np.where(counts[first] == records, counts[np.minimum(first + 1, counts.size - 1)], counts[first])
    most = np.where(counts[last] == records, counts[np.maximum(last - 1, 0)], counts[last])
    alone = size < 2
    return np.where(alone, 0, least), np.where(alone, 0, most)


def probabilistic_anonymity(described: Randomised) -> float:
    """Pa: exp of the entropy of the noise (eq. 1 to 3); with lambda columns C(m, lambda) exp(lambda mean entropy)."""
    entropies = np.array([entropy(described.columns[place]) for place in described.drawn])
    if described.redraw > 1:
        return math.comb(entropies.size, described.redraw) * math.exp(described.redraw * float(entropies.mean()))
    p = described.p[described.drawn]
    return math.exp(float((p * (entropies - np.log(p))).sum()))


def largest_anonymity(described: Randomised) -> float:
    """The largest Pa that any p gives, one column redrawn (Prop. 7): the sum of exp(entropy)."""
    return float(sum(math.exp(entropy(described.columns[place])) for place in described.drawn))


@dataclass(frozen=True, kw_only=True)
class _Randomised(Measure):
    """A figure of the channel."""

    needs: ClassVar[Trait | None] = Trait.NOISE

    def undefined(self, stats: PriceStats) -> str | None:
        """What this channel lacks, if anything."""
        assert stats.channel is not None
        return self.missing(stats.channel)

    def missing(self, described: Randomised) -> str | None:
        """Why this randomised release has no figure, or None."""
        return None

    def value(self, stats: PriceStats) -> tuple[float, dict[str, float | None]]:
        """The figure of the channel."""
        assert stats.channel is not None
        return self.figure(stats.channel)

    def figure(self, described: Randomised) -> tuple[float, dict[str, float | None]]:
        """The figure, and related figures to show beside it."""
        raise NotImplementedError

    def bounds(self, stats: PriceStats) -> tuple[float, float]:
        """From 1, without an upper bound."""
        return 1.0, math.inf


@dataclass(frozen=True, kw_only=True)
class ProbabilisticAnonymity(_Randomised):
    """Pa (Def. 6, Prop. 7): the number of equally likely noises. It is no measure of risk: 1/Pa bounds nothing."""

    name: ClassVar[str] = "pa"
    better: ClassVar[str] = "up"

    def figure(self, described: Randomised) -> tuple[float, dict[str, float | None]]:
        """Pa, and the largest that any p would give (one column redrawn)."""
        best = largest_anonymity(described) if described.redraw == 1 else None
        return probabilistic_anonymity(described), {"largest": best}


@dataclass(frozen=True, kw_only=True)
class Gamma(_Randomised):
    """Gamma-amplification (Def. 8) of the worst released vector.

    Parameters
    ----------
    prior
        Weigh originals by their records, as somebody does who knows the table's quasi-identifiers (Sec. 4.2.2).
    """

    name: ClassVar[str] = "gamma"
    prior: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.prior, bool):
            raise ParameterError(f"The 'prior' of Gamma must be true or false. Got {self.prior!r}.")

    def missing(self, described: Randomised) -> str | None:
        """The prior's is defined for one column; the other needs the sets of columns to be few."""
        if self.prior:
            return None if described.redraw == 1 else "gamma with a prior is defined for redraw = 1 only"
        reason = too_many(described)
        return reason or (None if countable(described) else "there are too many sets of columns for this many rows")

    def score(self, stats: PriceStats) -> Score:
        """An infinite ratio is no number, but the reason says so and the finite ones stand beside it."""
        found = super().score(stats)
        if found.value is None and found.also:
            return dataclasses.replace(found, reason="it is infinite: some vectors could not have been others")
        return found

    def figure(self, described: Randomised) -> tuple[float, dict[str, float | None]]:
        """The largest ratio, the largest finite one, and the share of records whose vector has an infinite one."""
        found = amplification_with_prior(described) if self.prior else amplification(described)
        lost = float(found.records[found.infinite].sum() / found.records.sum())
        return found.worst, {"finite": float(found.finite.max()), "infinite records": lost}


@dataclass(frozen=True, kw_only=True)
class InferenceProbability(_Randomised):
    """Largest posterior of one original, over all released records (eq. 6, exact Bayes for any lambda)."""

    name: ClassVar[str] = "inference-probability"

    def missing(self, described: Randomised) -> str | None:
        """The sets of columns must be few."""
        return too_many(described)

    def figure(self, described: Randomised) -> tuple[float, dict[str, float | None]]:
        """The worst record, the mean over records, and the share of records where it is above one half."""
        found = posterior(described)
        mean = float(found.top @ found.vectors.released / found.vectors.released.sum())
        return float(found.top.max()), {"mean": mean, "above half": found.share(found.top > 0.5)}

    def bounds(self, stats: PriceStats) -> tuple[float, float]:
        """A probability."""
        return 0.0, 1.0


@dataclass(frozen=True, kw_only=True)
class RelativeBias(_Randomised):
    """Relative bias B(q) of a query's count (eq. 10), or of all pairs of a quasi-identifier and a sensitive value.

    Parameters
    ----------
    query
        Column to value. Without one, the mean over quasi-identifiers and sensitive attributes of the bias of their
        pairs of values, weighted by support.
    """

    name: ClassVar[str] = "bias"
    query: Mapping[str, object] | None = None

    def __post_init__(self) -> None:
        if self.query is not None and not isinstance(self.query, Mapping):
            raise ParameterError("The 'query' of RelativeBias must map columns to values.")

    def __hash__(self) -> int:
        return hash((self.name, None if self.query is None else tuple(sorted(self.query.items(), key=str))))

    def missing(self, described: Randomised) -> str | None:
        """A query needs support, and pairs need a sensitive attribute."""
        if self.query is not None:
            return None if relative_bias(described, self.query) else "no record has the query's values"
        return None if described.domain.sensitive else "there is no sensitive attribute"

    def figure(self, described: Randomised) -> tuple[float, dict[str, float | None]]:
        """B(q) with the signed mean, the variance and this release's own difference; or the mean and worst pair."""
        if self.query is not None:
            found = relative_bias(described, self.query)
            assert found is not None
            return found.relative, {
                "expected": found.expected, "variance": found.variance, "observed": found.observed,
            }  # fmt: skip
        pairs = [
            association_bias(described, quasi, sensitive)
            for quasi in described.domain.schema.quasi
            for sensitive in described.domain.schema.sensitive
        ]
        return float(np.mean(pairs)), {"worst pair": float(max(pairs))}

    def bounds(self, stats: PriceStats) -> tuple[float, float]:
        """From 0, without an upper bound."""
        return 0.0, math.inf


# ----------------------------------------
# Intervals of shares.


# Two-sided 95 % of the normal distribution.
NORMAL = 1.959963984540054


def wilson(share: float, trials: int) -> tuple[float, float]:
    """95 % Wilson interval of a share of some trials; 0 to 1 without any.

    Examples
    --------
    >>> [round(end, 4) for end in wilson(0.5, 100)]
    [0.4038, 0.5962]
    """
    if trials <= 0:
        return 0.0, 1.0
    square = NORMAL * NORMAL / trials
    centre = (share + square / 2.0) / (1.0 + square)
    half = NORMAL * math.sqrt(share * (1.0 - share) / trials + square / (4.0 * trials)) / (1.0 + square)
    # At 0 and 1 the formula's ends are those numbers but for rounding.
    return (0.0 if share <= 0.0 else centre - half), (1.0 if share >= 1.0 else centre + half)
