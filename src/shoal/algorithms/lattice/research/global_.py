"""The string of the largest research value, by binary search over all strings with pruning (15.4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoal.algorithms.lattice.research.base import ResearchSearch
from shoal.algorithms.lattice.research.search import Search
from shoal.algorithms.lattice.research.strings import Strings, all_strings
from shoal.params import whole


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
