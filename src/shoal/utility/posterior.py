"""Exact Bayes on the vector of quasi-identifiers: what a released vector says about the one it was before.

The attacker knows the quasi-identifiers of the whole table, but not which record is whose, and how the release was
made. The prior of a vector is then its share of the table.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
import polars as pl

from shoal.errors import ParameterError
from shoal.kernels.grouping import group_rows
from shoal.kernels.posterior import reach, summarise, weigh
from shoal.recoding.randomised import Randomised, quasi_vector

# Sets of columns to look at, one grouping of all vectors each.
LIMIT = 1 << 14


@dataclass(frozen=True, eq=False)
class Vectors:
    """Distinct vectors of quasi-identifiers before and after, and buckets of those that agree.

    Attributes
    ----------
    before, counts
        Original vectors, shape (m, vectors), and the records of each.
    after, released
        The same of released vectors.
    weights
        Shape (released vectors, drawn columns), see :meth:`Randomised.weights`.
    """

    described: Randomised
    before: np.ndarray
    counts: np.ndarray
    after: np.ndarray
    released: np.ndarray
    weights: np.ndarray

    @cached_property
    def codes(self) -> np.ndarray:
        """Shape (m, original + released vectors)."""
        return np.concatenate([self.before, self.after], axis=1)

    def buckets(self, without: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray, int]:
        """Bucket of each original and each released vector, agreeing outside some drawn columns; how many there are."""
        keep = np.ones(self.codes.shape[0], dtype=bool)
        keep[self.described.drawn[list(without)]] = False
        cards = np.array([column.card for column in self.described.columns])
        ids, first, _ = group_rows(self.codes[keep], cards[keep])
        return ids[: self.counts.size], ids[self.counts.size :], first.size

    def inside(self, chosen: tuple[int, ...]) -> np.ndarray:
        """Flags of some drawn columns."""
        flags = np.zeros(self.weights.shape[1], dtype=np.uint8)
        flags[list(chosen)] = 1
        return flags


def vectors(described: Randomised) -> Vectors:
    """The distinct vectors of a randomised release."""
    (before, counts), (after, released) = described.originals, described.results
    return Vectors(described, before, counts, after, released, described.weights(after))


def sets(described: Randomised, smallest: int = 0) -> Iterator[tuple[int, ...]]:
    """Sets of ``smallest`` to ``redraw`` drawn columns, small ones first."""
    for size in range(smallest, described.redraw + 1):
        yield from combinations(range(described.drawn.size), size)


def count_sets(described: Randomised) -> int:
    """How many sets of up to ``redraw`` drawn columns there are."""
    return sum(math.comb(described.drawn.size, size) for size in range(described.redraw + 1))


def too_many(described: Randomised) -> str | None:
    """Why the exact posterior is out of reach, or None."""
    count = count_sets(described)
    if count <= LIMIT:
        return None
    return f"the exact posterior needs {count:,} sets of columns, and only {LIMIT:,} are looked at"


@dataclass(frozen=True, eq=False)
class Posterior:
    """What exact Bayes makes of each released vector.

    Attributes
    ----------
    top
        Largest posterior of one original vector.
    tied
        Original vectors that share it.
    best
        Weight of each of these: records times the probability to become the released vector.
    total
        Sum of the weights of all candidates: n times the probability to release the vector.
    """

    vectors: Vectors
    top: np.ndarray
    tied: np.ndarray
    best: np.ndarray
    total: np.ndarray

    def share(self, flags: np.ndarray) -> float:
        """Share of the released records whose vector is flagged."""
        return float(self.vectors.released[flags].sum() / self.vectors.released.sum())


def posterior(described: Randomised) -> Posterior:
    """Exact posterior of every released vector, by grouping once for every set of up to ``redraw`` columns.

    Raises
    ------
    ParameterError
        When there are too many sets (:data:`LIMIT`).
    """
    reason = too_many(described)
    if reason is not None:
        raise ParameterError(f"With redraw = {described.redraw} {reason}: measure a release with fewer columns.")
    found = vectors(described)
    redraw, scale = described.redraw, described.scale
    n_released = found.released.size
    total, top, tied = np.zeros(n_released), np.zeros(n_released), np.zeros(n_released, dtype=np.int64)
    # When every column is redrawn all candidates are as likely, whatever they differ in: their set is the only one.
    for chosen in sets(described, redraw if redraw == described.drawn.size else 0):
        ours, theirs, count = found.buckets(chosen)
        summary = summarise(ours, found.counts, count)
        weigh(found.weights, found.inside(chosen), redraw, scale, theirs, summary, total, top, tied)
    return Posterior(vectors=found, top=np.minimum(top / total, 1.0), tied=tied, best=top, total=total)


def candidates(described: Randomised, vector: Mapping[str, object]) -> pl.DataFrame:
    """Every vector of the input that may have become one released vector, with its posterior; they sum to 1.

    Parameters
    ----------
    vector
        A value of every quasi-identifier. The release need not hold it.

    Returns
    -------
    polars.DataFrame
        Quasi-identifiers as text, and ``probability``, likeliest first; no rows when nothing can become the vector.
    """
    codes = quasi_vector(described, vector)
    originals, counts = described.originals
    differs = originals != codes
    fixed = np.ones(len(described.columns), dtype=bool)
    fixed[described.drawn] = False
    patterns, inverse = np.unique(differs[described.drawn].T, axis=0, return_inverse=True)
    weights, sums = described.weights(codes)[0], np.empty(described.redraw + 1)
    chances = np.array(
        [reach(weights, flags.astype(np.uint8), described.redraw, described.scale, sums) for flags in patterns]
    )
    mass = counts * chances[inverse.ravel()] * ~differs[fixed].any(axis=0)
    whole = mass.sum()
    names = {column.name: column.texts.gather(originals[j]) for j, column in enumerate(described.columns)}
    frame = pl.DataFrame(names).with_columns(probability=pl.Series(mass / whole if whole > 0 else mass))
    return frame.filter(pl.col("probability") > 0).sort("probability", *names, descending=[True] + [False] * len(names))
