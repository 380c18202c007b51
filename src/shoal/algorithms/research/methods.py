"""The string of the largest research value, by binary search over all strings with pruning (15.4)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.algorithms.research.base import ResearchSearch
from shoal.algorithms.research.search import Levels, Search, Strings, all_strings
from shoal.errors import InfeasibleError
from shoal.params import choice, whole


@dataclass(frozen=True, kw_only=True)
class ResearchGlobal(ResearchSearch):
    """List all strings by research value and test the middle one, until tests have ruled out all others.

    Parameters
    ----------
    max_strings
        Strings to list at most.

    Examples
    --------
    >>> ResearchGlobal(k=5, weights="association").parameters()["weights"]
    'association'
    """

    name: ClassVar[str] = "rv-global"
    max_strings: int = 2_000_000

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "max_strings", whole(self.name, "max_strings", self.max_strings, least=1))

    def search(self, search: Search) -> None:
        """Test until no string is left."""
        exhaust(search, all_strings(search, self.name, self.max_strings))


def exhaust(search: Search, strings: Strings) -> None:
    """Test middle strings until tests have ruled out all that are left, or the time is up."""
    while len(strings):
        if search.late:
            search.bound = float(strings.rv[-1])
            return
        string = strings.middle()
        strings.learn(string, search.try_string(string))


# ----------------------------------------
# A string that is balanced between columns, by one binary search in all of them at once (15.5).


VARIANTS = ("corrected", "printed")
# Strings that are listed to see which of them no test has ruled out.
_LISTED = 200_000
# Whether a string passes; the caller does the rest.
Test = Callable[[Levels], bool]


@dataclass(frozen=True, kw_only=True)
class ResearchLocal(ResearchSearch):
    """Halve every column's levels together: towards more specific ones after a success, more general after a failure.

    It ends after a handful of tests, whatever ``seconds`` is; the list is of the strings that passed those.

    Parameters
    ----------
    variant
        ``"corrected"`` moves past what it tested; ``"printed"`` is the paper's loop, which never tests the most
        specific of two or more levels. Both find a string whenever the most general one passes.

    Examples
    --------
    >>> ResearchLocal(variant="printed").name
    'rv-local'
    """

    name: ClassVar[str] = "rv-local"
    variant: str = "corrected"

    def __post_init__(self) -> None:
        super().__post_init__()
        choice(self.name, "variant", self.variant, VARIANTS)

    def search(self, search: Search) -> None:
        """Test a logarithm of the levels."""
        halve(search, self.variant, lambda levels: search.try_string(levels).passes)
        search.bound = bound(search)
        if not search.successes and self.max_roots is None:
            raise InfeasibleError(
                f"None of the few strings that rv-local ({self.variant}) tests satisfies the models with at most "
                f"{search.allowed} rows suppressed: use rv-global, which looks at all of them, or relax the models."
            )


def bound(search: Search) -> float:
    """What no string is worth more than, as far as tests that failed for good tell."""
    if search.size > _LISTED:
        pairs = zip(search.values, search.kept, strict=True)
        return search.value([levels[int(mine[levels].argmax())] for mine, levels in pairs])
    strings = all_strings(search, ResearchLocal.name, _LISTED)
    for failed in search.failures:
        strings.drop(strings.more_specific(np.array(failed)))
    return float(strings.rv[-1]) if len(strings) else -np.inf


def halve(search: Search, variant: str, test: Test) -> None:
    """Run one of the two loops over positions 0 (most general) and up."""
    # Position p of a column is its p-th most general level that is kept.
    orders = [levels[::-1] for levels in search.kept]

    def passes(positions: list[int]) -> bool:
        return test(tuple(levels[p] for levels, p in zip(orders, positions, strict=True)))

    last = [len(levels) - 1 for levels in orders]
    if variant == "printed":
        _halve_printed(last, passes)
    else:
        _halve_corrected(last, passes)


def _halve_printed(last: list[int], passes: Callable[[list[int]], bool]) -> None:
    """Fig. 5, which stops when no column moves: 'Total Stops <= # of attributes' would never end."""
    low, high = [0] * len(last), list(last)
    middle = [(a + b) // 2 for a, b in zip(low, high, strict=True)]
    while True:
        if passes(middle):
            low = middle
        else:
            high = middle
        moved = [(a + b) // 2 for a, b in zip(low, high, strict=True)]
        if moved == middle:
            return
        middle = moved


def _halve_corrected(last: list[int], passes: Callable[[list[int]], bool]) -> None:
    """A column whose bounds crossed stays where it last passed, at the most general level if it never did.

    If nothing passes, bounds fall towards 0, so the last test is of the most general string.
    """
    columns = range(len(last))
    low, high, good = [0] * len(last), list(last), [0] * len(last)
    while any(low[a] <= high[a] for a in columns):
        middle = [(low[a] + high[a]) // 2 if low[a] <= high[a] else good[a] for a in columns]
        passed = passes(middle)
        for a in columns:
            if low[a] <= high[a]:
                low[a], high[a] = (middle[a] + 1, high[a]) if passed else (low[a], middle[a] - 1)
        if passed:
            good = middle


# ----------------------------------------
# The string of the largest research value: the local method's few tests first, then the global method (15.6).


@dataclass(frozen=True, kw_only=True)
class ResearchHybrid(ResearchGlobal):
    """Let the local method rule strings out of the list, then test what is left of it as the global one does.

    Parameters
    ----------
    variant
        The local method's loop, ``"corrected"`` or ``"printed"``; the result is the same.

    Examples
    --------
    >>> ResearchHybrid(max_strings=1000).variant
    'corrected'
    """

    name: ClassVar[str] = "rv-hybrid"
    variant: str = "corrected"

    def __post_init__(self) -> None:
        super().__post_init__()
        choice(self.name, "variant", self.variant, VARIANTS)

    def search(self, search: Search) -> None:
        """Local, then global on one list."""
        strings = all_strings(search, self.name, self.max_strings)

        def test(levels: Levels) -> bool:
            tested = search.try_string(levels)
            strings.learn(np.array(levels), tested)
            return tested.passes

        halve(search, self.variant, test)
        exhaust(search, strings)
