"""One search: the values of all levels, tests of strings on the data, and the strings that passed."""

from __future__ import annotations

import bisect
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.algorithms.lattice.checker import Checker
from shoal.algorithms.lattice.pruning import infeasible
from shoal.algorithms.lattice.sweep import hopeless_below

Levels = tuple[int, ...]
String = Sequence[int] | np.ndarray


@dataclass(frozen=True, kw_only=True)
class Tested:
    """A string that was tested.

    Attributes
    ----------
    passes
        Whether the models hold within the suppression allowed, for at least one class.
    hopeless
        Whether the test also proves that every more specific string fails.
    suppressed
        Rows in classes that fail.
    """

    passes: bool
    hopeless: bool
    suppressed: int


@dataclass(frozen=True, kw_only=True)
class Success:
    """A string that passed, with what an expert chooses by."""

    rv: float
    roots: int
    levels: Levels
    suppressed: int

    @property
    def rank(self) -> tuple[float, int, Levels]:
        """Largest value first, then fewest columns at their root, then lexicographic levels."""
        return -self.rv, self.roots, self.levels


class Search:
    """What the methods share: they differ in which strings they test, in what order.

    Parameters
    ----------
    checker
        Counts the classes of a string.
    values
        Research value of every level, one array a column.
    allowed
        Rows that may be suppressed.
    top
        Strings to list: as many are looked for as there are.
    max_roots
        Columns that may be at their root; None: any.
    seconds
        Time for the search; None: as long as it takes.

    Attributes
    ----------
    kept
        Levels of each column that strings are made of.
    successes
        Strings that passed, best first.
    bound
        What no string is worth more than that was not tested and may rank before the last of the list, once a search
        has ended; minus infinity where there is none.
    """

    def __init__(
        self, checker: Checker, values: Sequence[np.ndarray], allowed: int, *, top: int = 1,
        max_roots: int | None = None, seconds: float | None = None,
    ) -> None:  # fmt: skip
        self.checker = checker
        self.values = values
        self.allowed = allowed
        self.top = top
        self.max_roots = max_roots
        self.deadline = math.inf if seconds is None else time.monotonic() + seconds
        self.bound = -math.inf
        self.failures: list[Levels] = []
        self.heights = checker.lattice.heights
        self.kept = [list(range(height + 1)) for height in self.heights]
        self.successes: list[Success] = []
        # Sums that agree to 12 digits are equal (algorithms.md 0.2), in whatever order they were added up.
        most = sum(float(mine.max()) for mine in values)
        self._digits = 12 - max(0, math.ceil(math.log10(max(most, 1.0)) - 1e-9))

    @property
    def late(self) -> bool:
        """Whether the time is up and there is something to release."""
        return bool(self.successes) and time.monotonic() > self.deadline

    @property
    def last(self) -> Success | None:
        """The last of the list that is looked for, None while it is not full."""
        return self.successes[self.top - 1] if len(self.successes) >= self.top else None

    def admits(self, roots: int | np.ndarray) -> Any:
        """Whether so many columns at their root are not too many."""
        return roots <= (len(self.heights) if self.max_roots is None else self.max_roots)

    @property
    def size(self) -> int:
        """Number of strings over the levels kept."""
        return math.prod(len(levels) for levels in self.kept)

    @property
    def monotone(self) -> bool:
        """Whether no column gains by generalising, which values set by hand may."""
        return all(bool((np.diff(mine) <= 0).all()) for mine in self.values)

    def round(self, rv: np.ndarray) -> np.ndarray:
        """Values as they are compared."""
        return np.round(rv, self._digits) + 0.0

    def value(self, levels: Sequence[int]) -> float:
        """Research value of a string."""
        total = sum(float(mine[level]) for mine, level in zip(self.values, levels, strict=True))
        return float(self.round(np.array(total)))

    def roots(self, levels: Sequence[int]) -> int:
        """Columns at their most general level."""
        return sum(level == height for level, height in zip(levels, self.heights, strict=True))

    def test(self, levels: String) -> Tested:
        """Test a string on the data, without keeping it."""
        check = self.checker.check(levels)
        gone = check.inherited >= self.checker.problem.domain.n
        hopeless = gone or hopeless_below(self.checker, check, self.allowed)
        if hopeless:
            self.failures.append(tuple(int(level) for level in levels))
        passes = check.suppressed <= self.allowed and check.classes > 0
        return Tested(passes=passes, hopeless=hopeless, suppressed=check.suppressed)

    def try_string(self, levels: String) -> Tested:
        """Test a string and keep it if it passes and has not too many columns at their root."""
        tested = self.test(levels)
        string = tuple(int(level) for level in levels)
        rv, roots = self.value(string), self.roots(string)
        if tested.passes and self.admits(roots):
            found = Success(rv=rv, roots=roots, levels=string, suppressed=tested.suppressed)
            place = bisect.bisect_left(self.successes, found.rank, key=lambda one: one.rank)
            if self.successes[place : place + 1] != [found]:
                self.successes.insert(place, found)
        return tested

    def notes(self) -> dict[str, Any]:
        """What the evidence says, with the successful strings for an expert to choose from."""
        names = [column.name for column in self.checker.columns]
        best = self.successes[0].rv
        gap = float(self.round(np.array(max(self.bound - best, 0.0))))
        return {
            "proven": gap == 0.0,
            "gap": gap,
            # Of equal value, a string that was not tested may have fewer columns at their root.
            "complete": self.bound < (-math.inf if self.last is None else self.last.rv) or self.bound == -math.inf,
            "strings": self.size,
            "tests": self.checker.checked,
            "pruned_levels": {
                name: [level for level in range(height + 1) if level not in kept]
                for name, height, kept in zip(names, self.heights, self.kept, strict=True)
            },
            "values": {name: mine.tolist() for name, mine in zip(names, self.values, strict=True)},
            "monotone": self.monotone,
            "successes": len(self.successes),
            "ranked": [
                {
                    "rv": one.rv, "roots": one.roots, "suppressed": one.suppressed,
                    "levels": dict(zip(names, one.levels, strict=True)),
                }
                for one in self.successes[: self.top]
            ],
        }  # fmt: skip


def prune_levels(search: Search) -> None:
    """Leave out levels that no string can use, column by column from the most general level down (15.3).

    A column's level is tested with all others at their root. If that fails for good, so does every string with the
    level or a more specific one; a failure that finer strings may not repeat prunes nothing.
    """
    top = list(search.heights)
    if search.test(top).hopeless:
        raise infeasible(search.checker.problem, search.allowed)
    for a, height in enumerate(search.heights):
        for level in range(height - 1, -1, -1):
            if search.test([*top[:a], level, *top[a + 1 :]]).hopeless:
                search.kept[a] = list(range(level + 1, height + 1))
                break
