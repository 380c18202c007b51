"""Sensitive values that remain possible for people with rows in several classes.

An intruder who knows the quasi-identifiers of all rows of a person finds the class of each row. A value that does not
change from row to row must occur in all of these classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.table.stats import Attribute, Histogram

# What the values that remain must be worth between them, in whole numbers so that engines add them up alike.
ENOUGH = 1 << 40


@dataclass(frozen=True, eq=False, kw_only=True)
class Possible:
    """The known values of every class, and what each is worth where it remains possible for a person.

    Attributes
    ----------
    indptr
        Where the values of every class begin, and the end of the last.
    codes, worth
        Codes of the values, and int64 of `ENOUGH`.
    """

    indptr: np.ndarray
    codes: np.ndarray
    worth: np.ndarray

    @classmethod
    def of(cls, histogram: Histogram, one: Attribute, shares: np.ndarray) -> Possible:
        """The values of classes, given what share of enough each value of the attribute is worth."""
        known = one.unknown[histogram.codes] == 0
        lengths = np.bincount(np.repeat(np.arange(histogram.known.size), np.diff(histogram.indptr))[known],
                              minlength=histogram.known.size)  # fmt: skip
        codes = histogram.codes[known].astype(np.int64)
        # Rounded up, so that l times the l-th part is enough.
        worth = np.ceil(np.minimum(shares, 1.0) * ENOUGH).astype(np.int64)
        return cls(indptr=np.concatenate([[0], np.cumsum(lengths)]), codes=codes, worth=worth[codes])

    @property
    def classes(self) -> np.ndarray:
        """The class of every value."""
        return np.repeat(np.arange(self.indptr.size - 1), np.diff(self.indptr))

    @property
    def totals(self) -> np.ndarray:
        """What the values of every class are worth between them."""
        total = np.zeros(self.indptr.size - 1, dtype=np.int64)
        np.add.at(total, self.classes, self.worth)
        return total

    def narrow(self, people: np.ndarray, classes: np.ndarray) -> np.ndarray:
        """Numbers of the people for whom the classes of their rows leave too little possible.

        Classes without a known value say nothing about anybody. A class that is worth less than enough by itself was
        allowed by its model, so nobody in it needs more than that.

        Parameters
        ----------
        people, classes
            Whose row each is, and its class, negative for none.
        """
        telling = np.append(np.diff(self.indptr) > 0, False)
        there = np.flatnonzero(telling[classes])
        pairs = np.unique(np.stack([people[there], classes[there]]).astype(np.int64), axis=1)
        who, first, times = np.unique(pairs[0], return_index=True, return_counts=True)
        needed = np.minimum(np.minimum.reduceat(self.totals[pairs[1]], first), ENOUGH) if who.size else times
        # Whoever has one class has all that it leaves possible.
        several = np.repeat(times > 1, times)
        person, group = np.repeat(np.arange(who.size), times)[several], pairs[1][several]
        lengths = np.diff(self.indptr)[group]
        at = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        at += np.repeat(self.indptr[group], lengths)
        card = int(self.codes.max(initial=0)) + 1
        held, entry, shared = np.unique(
            np.repeat(person, lengths) * card + self.codes[at], return_index=True, return_counts=True
        )
        everywhere = shared == times[held // card]
        left = np.zeros(who.size, dtype=np.int64)
        np.add.at(left, held[everywhere] // card, self.worth[at[entry[everywhere]]])
        return who[(times > 1) & (left < needed)]


def differs(people: np.ndarray, codes: np.ndarray) -> bool:
    """Whether somebody has rows of different codes."""
    if not people.size:
        return False
    order = np.lexsort((codes, people))
    people, codes = people[order], codes[order]
    return bool(((people[1:] == people[:-1]) & (codes[1:] != codes[:-1])).any())
