"""A string that is balanced between columns, by one binary search in all of them at once (15.5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.algorithms.lattice.research.base import ResearchSearch
from shoal.algorithms.lattice.research.search import Levels, Search
from shoal.algorithms.lattice.research.strings import all_strings
from shoal.errors import InfeasibleError
from shoal.params import choice

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
