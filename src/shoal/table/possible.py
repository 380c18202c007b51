"""Sensitive values that remain possible for people with rows in several classes.

An intruder who knows the quasi-identifiers of all rows of a person finds the class of each row. A value that does not
change from row to row must occur in all of these classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shoal.kernels.grouping import group_rows
from shoal.table.stats import Attribute, Histogram

# What the values that remain must be worth between them, in whole numbers so that engines add them up alike.
ENOUGH = 1 << 40
# Pairs of a set of classes and a value that are looked at in one go.
_PAIRS = 1 << 22


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
        classes = np.repeat(np.arange(histogram.known.size), np.diff(histogram.indptr))[known]
        lengths = np.bincount(classes, minlength=histogram.known.size)
        codes = histogram.codes[known].astype(np.int64)
        # Rounded up, so that l times the l-th part is enough.
        worth = np.ceil(np.minimum(shares, 1.0) * ENOUGH).astype(np.int64)
        return cls(indptr=np.concatenate([[0], np.cumsum(lengths)]), codes=codes, worth=worth[codes])

    @cached_property
    def classes(self) -> np.ndarray:
        """The class of every value."""
        return np.repeat(np.arange(self.indptr.size - 1), np.diff(self.indptr))

    @cached_property
    def _totals(self) -> np.ndarray:
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
        groups = max(self.indptr.size - 1, 1)
        telling = np.append(np.diff(self.indptr) > 0, False)
        there = np.flatnonzero(telling[classes])
        pairs = np.sort(people[there].astype(np.int64) * groups + classes[there])
        pairs = pairs[np.diff(pairs, prepend=-1) > 0]
        who = pairs // groups
        first = np.flatnonzero(np.diff(who, prepend=-1))
        times, found = np.diff(first, append=who.size), [np.empty(0, dtype=np.int64)]
        # Whoever has one class has all that it leaves possible. Of people with equal classes one is looked at.
        for count in (np.flatnonzero(np.bincount(times)[2:]) + 2).tolist():
            mine = first[times == count]
            sets = (pairs[mine + np.arange(count)[:, None]] % groups).astype(np.int32)
            of, one, _ = group_rows(sets, np.full(count, groups))
            found.append(who[mine][~self._leave_enough(sets[:, one].T.astype(np.int64))[of]])
        return np.sort(np.concatenate(found))

    def _leave_enough(self, sets: np.ndarray) -> np.ndarray:
        """Whether the values that all classes of a set have are worth enough, one set a row."""
        card, lengths = int(self.codes.max(initial=0)) + 1, np.diff(self.indptr)
        keys = self.classes * card + self.codes
        # The values of the smallest class are looked for in the others.
        sets = np.take_along_axis(sets, np.argsort(lengths[sets], axis=1), axis=1)
        left, ends = np.zeros(len(sets), dtype=np.int64), np.cumsum(lengths[sets[:, 0]])
        for some in np.split(np.arange(len(sets)), np.searchsorted(ends, np.arange(_PAIRS, ends[-1], _PAIRS))):
            sizes = lengths[sets[some, 0]]
            of = np.repeat(some, sizes)
            at = np.arange(of.size) + np.repeat(self.indptr[sets[some, 0]] - np.cumsum(sizes) + sizes, sizes)
            for place in range(1, sets.shape[1]):
                wanted = sets[of, place] * card + self.codes[at]
                shared = keys[np.minimum(np.searchsorted(keys, wanted), keys.size - 1)] == wanted
                of, at = of[shared], at[shared]
            np.add.at(left, of, self.worth[at])
        return left >= np.minimum(self._totals[sets].min(axis=1), ENOUGH)


def without_changing(people: np.ndarray, classes: np.ndarray, codes: np.ndarray, unknown: np.ndarray) -> np.ndarray:
    """Classes of rows, -1 for all rows of people who have different known values in rows that are in a class.

    Parameters
    ----------
    people, classes, codes
        Whose row each is, its class, negative for none, and the code of its value.
    unknown
        1 for each code that is no known value.
    """
    known = np.flatnonzero((classes >= 0) & (unknown[codes] == 0))
    count = int(people.max(initial=-1)) + 1
    low, high = np.full(count, np.iinfo(np.int64).max), np.full(count, -1, dtype=np.int64)
    np.minimum.at(low, people[known], codes[known])
    np.maximum.at(high, people[known], codes[known])
    return np.where((low < high)[people], -1, classes)
