"""Cluster centres counted again: every record goes to the nearest, and each has to be the mean of its own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoal.vault.protocol.checking import Counter, is_commonest
from shoal.vault.protocol.statements import Condition, Statement

_COUNTED = ("rows", "covered")


def check_centres(centres: Sequence[Statement], counter: Counter, minimum: int) -> list[str | None]:
    """What is wrong with each of the centres of one clustering, None where nothing is.

    Columns are taken as they are, by standard deviations, or by ranges, since programs differ in that.
    """
    more = [_more(one) for one in centres]
    if any(more):
        return [one or "is one of centres that cannot be checked" for one in more]
    columns = _numbers(centres[0])
    if len(centres) == 1:
        return ["is the only one, and so the mean of all rows"]
    if any(len({name for name, _ in one.centre}) < len(one.centre) for one in centres):
        return ["has two coordinates of one column"] * len(centres)
    numbers = columns and all(map(counter.released.is_number, columns))
    if not numbers or any(_numbers(one) != columns for one in centres):
        return ["needs a coordinate of the same columns of numbers for every centre"] * len(centres)
    rows = counter.released.frame.select(columns).fill_null(strategy="mean").to_numpy()
    given = np.array([[float(dict(one.centre)[name]) for name in columns] for one in centres])
    spread = np.maximum(rows.std(axis=0), 1e-12)
    best: list[str | None] | None = None
    for scale in (np.ones(len(columns)), spread, np.maximum(rows.max(axis=0) - rows.min(axis=0), 1e-12)):
        found = _centres(centres, _nearest(rows / scale, given / scale), (rows, given, spread), counter, minimum)
        if best is None or sum(one is None for one in found) > sum(one is None for one in best):
            best = found
    return best or []


def _more(one: Statement) -> str | None:
    """What comes along with a centre and is not counted, None where nothing does."""
    if one.conditions or one.concluded is not None:
        return "is a centre and a rule at once: hand in each by itself"
    if any(each.name not in _COUNTED for each in one.stated):
        return "states a figure that cannot be checked of a centre: state its rows alone"
    return None


def _nearest(rows: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """The place of each row's nearest centre, in memory for one centre at a time."""
    nearest, least = np.zeros(len(rows), dtype=np.int64), np.full(len(rows), np.inf)
    for place, one in enumerate(centres):
        far = ((rows - one) ** 2).sum(axis=1)
        nearest[far < least] = place
        least = np.minimum(least, far)
    return nearest


def _numbers(one: Statement) -> list[str]:
    return [name for name, value in one.centre if isinstance(value, float)]


def _centres(
    centres: Sequence[Statement],
    nearest: np.ndarray,
    parts: tuple[np.ndarray, np.ndarray, np.ndarray],
    counter: Counter,
    minimum: int,
) -> list[str | None]:
    rows, given, spread = parts
    found: list[str | None] = []
    for place, one in enumerate(centres):
        mine = nearest == place
        n = int(mine.sum())
        if n < minimum:
            found.append(f"is about fewer than {minimum:,} rows of the release")
        elif (np.abs(rows[mine].mean(axis=0) - given[place]) > 0.05 * spread).any():
            found.append("is not the mean of the rows that are nearest to it")
        elif any(abs(each.number - n) > 0.5 + 0.01 * n for each in one.stated):
            found.append(f"states another number of rows than the {n:,} that are nearest to it")
        else:
            modes = [Condition(name, "=", (value,)) for name, value in one.centre if isinstance(value, str)]
            common = all(is_commonest(mode, mine, counter) for mode in modes)
            found.append(None if common else "has a value that is not the commonest among its rows")
    return found
