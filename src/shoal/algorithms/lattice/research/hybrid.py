"""The string of the largest research value: the local method's few tests first, then the global method (15.6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.algorithms.lattice.research.global_ import ResearchGlobal, exhaust
from shoal.algorithms.lattice.research.local import VARIANTS, halve
from shoal.algorithms.lattice.research.search import Levels, Search
from shoal.algorithms.lattice.research.strings import all_strings
from shoal.params import choice


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
