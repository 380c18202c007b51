"""Gamma-amplification of random anonymisation (Yang & Qiao 2010, Def. 8 and Sec. 4.2.2).

Each ratio is inverted before the largest is taken, and an original that cannot become a released vector makes it
infinite; the paper does neither.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from shoal.kernels.posterior import reach_all
from shoal.measures.posterior import Vectors, count_sets, sets, vectors
from shoal.recoding.randomised import Randomised

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
