"""Whose row it is: people with several rows are one person, in a release and in the tables held against it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from shoal.attacks.candidates import Matcher
from shoal.data.coding import canonical_text


@dataclass(frozen=True, eq=False, kw_only=True)
class Subjects:
    """The people behind rows.

    Attributes
    ----------
    name
        Column that says whose row it is.
    known
        Texts of the subjects, ascending; a subject's code is its place.
    of_row
        int64 code of each row.
    """

    name: str
    known: pl.Series
    of_row: np.ndarray

    @classmethod
    def of(cls, series: pl.Series) -> Subjects:
        """The subjects that a column names."""
        texts = canonical_text(series)
        known = texts.unique().sort()
        return cls(name=series.name, known=known, of_row=_places(known, texts))

    def place(self, series: pl.Series) -> np.ndarray:
        """Codes of rows of another table; people who are not known get codes of their own."""
        texts = canonical_text(series)
        other = len(self.known) + Subjects.of(series).of_row
        if not len(self.known):
            return other
        at = np.minimum(_places(self.known, texts), len(self.known) - 1)
        return np.where((self.known.gather(at) == texts).fill_null(False).to_numpy(), at, other)


def _places(known: pl.Series, texts: pl.Series) -> np.ndarray:
    return known.search_sorted(texts).cast(pl.Int64).to_numpy()


def alone(matcher: Matcher, vectors: np.ndarray, subject: np.ndarray) -> np.ndarray:
    """Whether the records that could be each vector's are all one person's.

    Parameters
    ----------
    subject
        Code of each released row.
    """
    low, high = (np.full(matcher.sizes.size, fill, dtype=np.int64) for fill in (np.iinfo(np.int64).max, -1))
    np.minimum.at(low, matcher.of_row, subject)
    np.maximum.at(high, matcher.of_row, subject)
    first, last = (np.full(vectors.shape[0], fill, dtype=np.int64) for fill in (np.iinfo(np.int64).max, -1))
    for part, vector, row in matcher.pairs(vectors):
        np.minimum.at(first, part.start + vector, low[row])
        np.maximum.at(last, part.start + vector, high[row])
    return first == last


def own_records(
    matcher: Matcher, vectors: np.ndarray, vector: np.ndarray, person: np.ndarray, subject: np.ndarray
) -> np.ndarray:
    """How many of the records that could be each row's are the same person's.

    Parameters
    ----------
    vectors, vector
        Distinct vectors of atoms, and the one of each row.
    person, subject
        Code of each row's person, and of each released row's.
    """
    rows = matcher.sizes.size
    pair, many = np.unique(subject * rows + matcher.of_row, return_counts=True)
    whose, cells = np.divmod(pair, rows)
    wanted, of = np.unique(np.stack([vector.astype(np.int64), person]), axis=1, return_inverse=True)
    start, stop = (np.searchsorted(whose, wanted[1], side=side) for side in ("left", "right"))
    times = stop - start
    place = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times) + np.repeat(start, times)
    asked = np.repeat(np.arange(wanted.shape[1]), times)
    found = np.zeros(wanted.shape[1])
    keys = wanted[0][asked] * rows + cells[place]
    for part, at, row in matcher.pairs(vectors):
        # Asked for in the order of the vectors.
        low, high = np.searchsorted(wanted[0][asked], [part.start, part.stop])
        fits = np.isin(keys[low:high], (part.start + at.astype(np.int64)) * rows + row)
        found += np.bincount(asked[low:high][fits], weights=many[place[low:high]][fits], minlength=found.size)
    return found[of.ravel()]
