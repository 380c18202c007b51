"""One search: the values of all levels, tests of strings on the data, and the strings that passed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.algorithms.lattice.checker import Checker
from shoal.algorithms.lattice.pruning import infeasible
from shoal.algorithms.lattice.sweep import hopeless_below

Levels = tuple[int, ...]
String = Sequence[int] | np.ndarray
SHOWN = 50


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
    """

    def __init__(self, checker: Checker, values: Sequence[np.ndarray], allowed: int) -> None:
        self.checker = checker
        self.values = values
        self.allowed = allowed
        self.heights = checker.lattice.heights
        self.kept = [list(range(height + 1)) for height in self.heights]
        self.successes: list[Success] = []
        # Sums that agree to 12 digits are equal (algorithms.md 0.2), in whatever order they were added up.
        most = sum(float(mine.max()) for mine in values)
        self._digits = 12 - max(0, math.ceil(math.log10(max(most, 1.0)) - 1e-9))

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
        return Tested(
            passes=check.suppressed <= self.allowed and check.classes > 0,
            hopeless=gone or hopeless_below(self.checker, check, self.allowed),
            suppressed=check.suppressed,
        )

    def try_string(self, levels: String) -> Tested:
        """Test a string and keep it if it passes."""
        tested = self.test(levels)
        string = tuple(int(level) for level in levels)
        if tested.passes and all(string != one.levels for one in self.successes):
            rv, roots = self.value(string), self.roots(string)
            self.successes.append(Success(rv=rv, roots=roots, levels=string, suppressed=tested.suppressed))
        return tested

    def ranked(self) -> list[Success]:
        """The strings that passed, best first."""
        return sorted(self.successes, key=lambda one: one.rank)

    def notes(self) -> dict[str, Any]:
        """What the evidence says, with the successful strings for an expert to choose from."""
        names = [column.name for column in self.checker.columns]
        return {
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
                for one in self.ranked()[:SHOWN]
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
