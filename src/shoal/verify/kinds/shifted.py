"""Shifted dates against the input: every date of a person moved alike, and no further than the manifest says."""

from __future__ import annotations

import numpy as np
import polars as pl

from shoal.verify.tally import Counts
from shoal.verify.types import Check
from shoal.verify.values import canonical

# Below this many people nobody may have moved by chance.
_PEOPLE = 20


class Shifted:
    """What must hold for columns of shifted dates, looked at batch by batch."""

    def __init__(self) -> None:
        self._lost: dict[tuple[str, int], int] = {}
        self._far: dict[tuple[str, int], int] = {}
        self._moves = Counts()
        self._owned = True

    def see(self, column: str, days: int, ours: pl.Series, theirs: pl.Series, who: np.ndarray | None) -> None:
        """Compare published dates with the true ones of the same rows.

        Parameters
        ----------
        days
            The largest move.
        who
            Whose dates they are.
        """
        if who is None:
            self._owned = False
            return
        (_, new), (_, old) = canonical(ours, "date"), canonical(theirs, "date")
        known = ~np.isnan(old)
        place = column, days
        self._lost[place] = self._lost.get(place, 0) + int((known == np.isnan(new)).sum())
        self._far[place] = self._far.get(place, 0) + int((np.abs(new - old)[known] > days).sum())
        self._moves.see(pl.DataFrame({"who": who[known], "move": (new - old)[known]}))

    def check(self) -> Check:
        """What all batches hold."""
        name, problems = "shifted dates", []
        if not self._owned:
            told = "Dates are said to be shifted, but nobody is said to own them."
            return Check(name=name, passed=False, detail=told)
        for column, days in self._lost:
            lost, far = self._lost[column, days], self._far[column, days]
            if lost:
                problems.append(f"{lost:,} dates of '{column}' are missing, or should be")
            if far:
                problems.append(f"{far:,} dates of '{column}' moved further than {days} days")
        moves = self._moves.total()
        ways, people = moves.height, moves["who"].n_unique()
        if ways > people:
            problems.append(f"the dates of {ways - people:,} people or more did not move alike")
        if people >= _PEOPLE and not (moves["move"] != 0).any():
            problems.append("no date moved at all")
        detail = "; ".join(problems) + "." if problems else "The dates of every person moved alike, within the limit."
        return Check(name=name, passed=not problems, detail=detail)
