"""The list of strings that may still be the best, in ascending order of research value."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from shoal.algorithms.lattice.research.search import Search, Tested
from shoal.errors import ParameterError


class Strings:
    """Strings over some columns' kept levels, sorted by (research value, levels).

    Attributes
    ----------
    levels
        int16, one row a string.
    rv
        float64, rounded as values are compared.
    """

    def __init__(self, search: Search, columns: Sequence[int]) -> None:
        kept = [search.kept[a] for a in columns]
        parts = [search.values[a][levels] for a, levels in zip(columns, kept, strict=True)]
        rv = search.round(reduce(np.add.outer, parts).ravel())
        grids = np.meshgrid(*(np.array(levels, dtype=np.int16) for levels in kept), indexing="ij")
        # The product is listed in lexicographic order of levels, which a stable sort keeps within equal values.
        order = np.argsort(rv, kind="stable")
        self.levels = np.stack([grid.ravel() for grid in grids], axis=1)[order]
        self.rv = rv[order]
        self.search = search

    def __len__(self) -> int:
        return self.rv.size

    def middle(self) -> np.ndarray:
        """The string that the binary search looks at next."""
        return self.levels[len(self) // 2].copy()

    def more_general(self, string: np.ndarray) -> np.ndarray:
        """Flags of the strings that no column has at a more specific level; the string itself is one."""
        return np.asarray((self.levels >= string).all(axis=1))

    def more_specific(self, string: np.ndarray) -> np.ndarray:
        """Flags of the strings that no column has at a more general level; the string itself is one."""
        return np.asarray((self.levels <= string).all(axis=1))

    def drop(self, gone: np.ndarray) -> None:
        """Take strings off the list."""
        self.levels, self.rv = self.levels[~gone], self.rv[~gone]

    def learn(self, string: np.ndarray, tested: Tested) -> None:
        """Take off a tested string and what the test rules out (15.4, steps 3 to 5).

        Once the list of the best is full, its last rules out smaller values, and more general strings of no larger
        value: they never rank before it. A failure for good rules out more specific strings.
        """
        if tested.hopeless:
            self.drop(self.more_specific(string))
        else:
            self.drop((self.levels == string).all(axis=1))
        last = self.search.last if tested.passes else None
        if last is not None:
            first = int(np.searchsorted(self.rv, last.rv))
            self.levels, self.rv = self.levels[first:], self.rv[first:]
            self.drop(self.more_general(np.array(last.levels)) & (self.rv <= last.rv))


def all_strings(search: Search, name: str, most: int) -> Strings:
    """Every string over the levels kept, or the sentence that says what to do about so many."""
    if search.size > most:
        raise ParameterError(
            f"There are {search.size} strings, and {name} lists at most {most} ('max_strings'): use rv-distributed, "
            "which lists blocks of columns."
        )
    strings = Strings(search, range(len(search.kept)))
    roots = (strings.levels == np.array(search.heights)).sum(axis=1)
    strings.drop(~search.admits(roots))
    return strings
