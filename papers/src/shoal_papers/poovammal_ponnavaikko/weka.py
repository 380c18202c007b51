"""Clusters as WEKA makes them by default, which the document used: k-means with modes, and densities on top of it.

Numbers are scaled to [0, 1], two different categories are one apart, a missing cell is the column's mean or mode. A
cluster's centre is the mean of numbers and the mode of categories. There is one start: records drawn by a seed (10),
with the generator of Java's library, so that it can be compared with a run of WEKA on the same file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

SEED = 10
_MOST_ROUNDS = 500
_LEAST_DEVIATION = 1e-6
_MASK = (1 << 48) - 1
_MISSING = "?"


def java_draws(seed: int, bounds: Iterator[int]) -> Iterator[int]:
    """Whole numbers below each of some bounds, as ``java.util.Random`` draws them: a linear congruence of 48 bits."""
    state = (seed ^ 0x5DEECE66D) & _MASK
    for bound in bounds:
        while True:
            state = (state * 0x5DEECE66D + 0xB) & _MASK
            bits = state >> 17
            if bound & (bound - 1) == 0:
                yield (bound * bits) >> 31
                break
            drawn = bits % bound
            if bits - drawn + bound - 1 < 1 << 31:  # else small numbers would come too often
                yield drawn
                break


@dataclass(frozen=True, eq=False)
class Records:
    """Records as WEKA sees them: numbers in [0, 1], and categories numbered as they first occur."""

    numbers: np.ndarray
    categories: np.ndarray

    @classmethod
    def of(cls, frame: pl.DataFrame) -> Records:
        """Numbers by their type; ``?`` is missing."""
        numbers, texts = [], []
        for series in frame:
            if series.dtype.is_numeric():
                values = series.cast(pl.Float64).to_numpy()
                span = float(np.ptp(values))
                numbers.append((values - values.min()) / span if span else np.zeros(values.size))
            else:
                known = series.filter(series != _MISSING)
                mode = known.value_counts(sort=True)[series.name][0] if known.len() else _MISSING
                filled = series.replace(_MISSING, mode)
                order = filled.unique(maintain_order=True)
                numbered = pl.Series(range(order.len()), dtype=pl.Int64)
                texts.append(filled.replace_strict(order, numbered, return_dtype=pl.Int64).to_numpy())
        rows = frame.height
        return cls(
            np.stack(numbers, axis=1) if numbers else np.empty((rows, 0)),
            np.stack(texts, axis=1) if texts else np.empty((rows, 0), dtype=np.int64),
        )

    @property
    def rows(self) -> int:
        """How many there are."""
        return self.numbers.shape[0]

    def distance(self, number: np.ndarray, category: np.ndarray) -> np.ndarray:
        """Squared distance of every record to a centre."""
        found: np.ndarray = ((self.numbers - number) ** 2).sum(axis=1) + (self.categories != category).sum(axis=1)
        return found

    def centre(self, mine: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Means and modes of some records."""
        modes = [int(np.bincount(column).argmax()) for column in self.categories[mine].T]
        return self.numbers[mine].mean(axis=0), np.array(modes, dtype=np.int64)


def k_means(records: Records, clusters: int = 2, seed: int = SEED) -> np.ndarray:
    """Cluster of every record; ties go to the first cluster, and an empty one is dropped."""
    centres = [(records.numbers[row], records.categories[row]) for row in _starts(records, clusters, seed)]
    cluster = np.full(records.rows, -1)
    for _ in range(_MOST_ROUNDS):
        found = np.argmin(np.stack([records.distance(*one) for one in centres]), axis=0)
        if np.array_equal(found, cluster):
            break
        _, cluster = np.unique(found, return_inverse=True)
        centres = [records.centre(cluster == one) for one in range(int(cluster.max()) + 1)]
    return cluster


def _starts(records: Records, clusters: int, seed: int) -> list[int]:
    """Rows drawn one after the other, from those not drawn yet, until so many of them are different."""
    order, chosen, seen = np.arange(records.rows), [], set()
    for last, at in zip(
        range(records.rows - 1, -1, -1), java_draws(seed, iter(range(records.rows, 0, -1))), strict=True
    ):
        row = int(order[at])
        key = (records.numbers[row].tobytes(), records.categories[row].tobytes())
        if key not in seen:
            seen.add(key)
            chosen.append(row)
        order[last], order[at] = order[at], order[last]
        if len(chosen) == clusters:
            break
    return chosen


def by_density(records: Records, cluster: np.ndarray) -> np.ndarray:
    """The cluster under which a record is likeliest: normal numbers, counted categories, one added to each count."""
    several = [cluster == one for one in range(int(cluster.max()) + 1)]
    return np.argmax(np.stack([_log_density(records, mine, len(several)) for mine in several]), axis=0)


def _log_density(records: Records, mine: np.ndarray, clusters: int) -> np.ndarray:
    count = int(mine.sum())
    total = np.full(records.rows, np.log((count + 1) / (records.rows + clusters)))
    for column in records.numbers.T:
        deviation = max(float(column[mine].std(ddof=1)) if count > 1 else 0.0, _LEAST_DEVIATION)
        total += -0.5 * ((column - column[mine].mean()) / deviation) ** 2 - np.log(deviation)
    for column in records.categories.T:
        size = int(column.max()) + 1
        total += np.log((np.bincount(column[mine], minlength=size) + 1) / (count + size))[column]
    return total
