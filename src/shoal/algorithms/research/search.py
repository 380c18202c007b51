"""One search: the values of all levels, tests of strings on the data, and the strings that passed."""

from __future__ import annotations

import bisect
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from shoal.algorithms.lattice.best_node import hopeless_below
from shoal.algorithms.lattice.checker import Checker
from shoal.algorithms.lattice.verdicts import infeasible
from shoal.data.column import Column
from shoal.errors import InfeasibleError, ParameterError

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


# ----------------------------------------
# The list of strings that may still be the best, in ascending order of research value.


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


# ----------------------------------------
# Rules that have to be kept: the levels they leave, and which of them cannot be kept together.


def keep_rules(search: Search, measure: Any) -> None:
    """Leave out the levels that break a rule that has to be kept; rules that no string can keep are named."""
    rules = [rule for rule in measure.rules if rule.keep]
    if not rules:
        return
    found = conflict(search, rules)
    if found:
        raise contradiction(found, search.allowed)
    for a, column in enumerate(search.checker.columns):
        flags = measure.must_keep(column)
        search.kept[a] = [level for level in search.kept[a] if flags[level]]
        if not search.kept[a]:
            raise contradiction([rule.text for rule in rules if rule.column == column.name], search.allowed)


def conflict(search: Search, rules: Sequence[Any]) -> list[str]:
    """Rules that no string keeps together, as few as are enough; empty where one test does not show that."""
    kept = {rule: rule.kept(_column(search, rule.column)) for rule in rules}

    def hopeless(some: Sequence[Any]) -> bool:
        return search.test(_most_general(search, {rule: kept[rule] for rule in some})).hopeless

    if not hopeless(rules):
        return []
    found = list(rules)
    for rule in rules:
        fewer = [one for one in found if one is not rule]
        if fewer and hopeless(fewer):
            found = fewer
    return [rule.text for rule in found]


def contradiction(rules: Sequence[str], allowed: int) -> InfeasibleError:
    """The error that says which rules cannot all be kept."""
    which = "cannot be kept together" if len(rules) > 1 else "cannot be kept"
    return InfeasibleError(
        f"The {named_rules(rules)} {which} under the models with at most {allowed} rows suppressed: leave out a keep, "
        "raise the suppression_limit or relax the models."
    )


def unfound(rules: Sequence[str], method: str) -> InfeasibleError:
    """The error of a search that met nothing that keeps the rules, which is no proof that there is nothing."""
    return InfeasibleError(
        f"'{method}' found nothing that keeps the {named_rules(rules)}: use rv-global, which says whether whole "
        "columns can, leave out a keep or relax the models."
    )


def named_rules(rules: Sequence[str]) -> str:
    """Rules as a sentence names them."""
    quoted = [f"'{rule}'" for rule in rules]
    if len(quoted) == 1:
        return f"rule {quoted[0]}"
    return f"rules {', '.join(quoted[:-1])} and {quoted[-1]}"


def refuse_unkept(search: Search, measure: Any, levels: Sequence[int], *, proven: bool) -> None:
    """Refuse levels that break rules that have to be kept, where nothing better was found."""
    columns = search.checker.columns
    if all(measure.must_keep(column)[level] for column, level in zip(columns, levels, strict=True)):
        return
    rules = [rule for rule in measure.rules if rule.keep]
    if not proven:
        raise unfound([rule.text for rule in rules], "optimal")
    raise contradiction(conflict(search, rules) or [rule.text for rule in rules], search.allowed)


def _column(search: Search, name: str) -> Column:
    return next(column for column in search.checker.columns if column.name == name)


def _most_general(search: Search, kept: dict[Any, np.ndarray]) -> list[int]:
    """The most general string that keeps some rules, by the levels that keep each."""
    found = []
    for column, height in zip(search.checker.columns, search.heights, strict=True):
        flags = np.ones(height + 1, dtype=bool)
        for rule, mine in kept.items():
            if rule.column == column.name:
                flags &= mine
        found.append(int(np.flatnonzero(flags).max(initial=0)))
    return found
