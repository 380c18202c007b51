"""Counts of values by class and by person, taken batch by batch."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import polars as pl

from shoal.verify.coded import Held
from shoal.verify.tally import Counts, Dictionary


class Tallies:
    """How often values and combinations of values occur in each class, and with people in whose rows.

    Parameters
    ----------
    kinds
        The columns counted, and as what each is read.
    together
        The combinations of columns that are counted as one, single ones among them.
    people
        Whether rows have owners.
    """

    def __init__(self, kinds: Mapping[str, str], together: Collection[tuple[str, ...]], *, people: bool) -> None:
        self.people = people
        self.dictionaries = {name: Dictionary(kind) for name, kind in kinds.items()}
        self._counts = {names: Counts() for names in together}
        self._owners = Counts()

    def see(
        self,
        columns: Mapping[str, Held],
        group: np.ndarray,
        who: np.ndarray | None = None,
        real: np.ndarray | None = None,
    ) -> None:
        """Count rows: their values, the class of each, its owner, and whether it is no counterfeit."""
        codes = {name: one.see_held(columns[name]) for name, one in self.dictionaries.items()}
        owner = {} if who is None else {"who": who}
        for names, counts in self._counts.items():
            parts = {str(place): codes[name] for place, name in enumerate(names)}
            counts.see_numbers({"class": group, **parts, **owner})
        if who is not None or real is not None:
            true = np.ones(len(group), dtype=bool) if real is None else real
            self._owners.see(pl.DataFrame({"class": group, **owner, "real": true}))

    def counts(self, names: tuple[str, ...]) -> bool:
        """Whether these columns are counted together."""
        return names in self._counts

    def total(self, names: tuple[str, ...]) -> pl.DataFrame:
        """Columns ``class``, ``"0"``, ``"1"``, … with codes, ``who`` with people, and ``rows``, in ascending order."""
        return self._counts[names].total()

    def owners(self) -> pl.DataFrame | None:
        """Columns ``class``, ``who`` with people, ``real`` and ``rows``; None where every row is a person."""
        found = self._owners.total()
        return found if found.width else None
