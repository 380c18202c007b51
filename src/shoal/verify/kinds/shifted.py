"""Shifted dates against the input: every date of a person moved alike, and no further than the manifest says."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from shoal.verify.types import Check
from shoal.verify.values import canonical, encode

# Below this many people nobody may have moved by chance.
_PEOPLE = 20


def check_shifted(
    columns: Sequence[tuple[str, pl.Series, pl.Series, np.ndarray, int]], subject: pl.Series | None
) -> Check:
    """What must hold for columns of shifted dates.

    Parameters
    ----------
    columns
        Name, published dates, true dates of the same rows, input row of each, and the largest move in days.
    subject
        Whose input row it is.
    """
    name = "shifted dates"
    if subject is None:
        return Check(name=name, passed=False, detail="Dates are said to be shifted, but nobody is said to own them.")
    moves, owners, problems = [], [], []
    who = encode(subject)[0]
    for column, ours, theirs, rows, days in columns:
        (_, new), (_, old) = canonical(ours, "date"), canonical(theirs, "date")
        known = ~np.isnan(old)
        lost = int((known == np.isnan(new)).sum())
        far = int((np.abs(new - old)[known] > days).sum())
        if lost:
            problems.append(f"{lost:,} dates of '{column}' are missing, or should be")
        if far:
            problems.append(f"{far:,} dates of '{column}' moved further than {days} days")
        moves.append((new - old)[known])
        owners.append(who[rows[known]])
    move, owner = np.concatenate(moves), np.concatenate(owners)
    people, ways = len(np.unique(owner)), np.unique(np.stack([owner.astype(np.float64), move]), axis=1).shape[1]
    if ways > people:
        problems.append(f"the dates of {ways - people:,} people or more did not move alike")
    if people >= _PEOPLE and not move.any():
        problems.append("no date moved at all")
    detail = "; ".join(problems) + "." if problems else "The dates of every person moved alike, within the limit."
    return Check(name=name, passed=not problems, detail=detail)
