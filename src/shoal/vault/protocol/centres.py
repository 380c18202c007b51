"""Cluster centres counted again: every record goes to the nearest, and each has to be the mean of its own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoal.vault.protocol.checking import Counter, is_commonest
from shoal.vault.protocol.statements import Statement
from shoal.vault.protocol.trivial import sets_apart

_COUNTED = ("rows", "covered")
_FAR = "is not the mean of the rows that are nearest to it"


def check_centres(centres: Sequence[Statement], counter: Counter, minimum: int) -> list[str | None]:
    """What is wrong with each of the centres of one clustering, None where nothing is.

    Columns are taken as they are, by standard deviations, or by ranges, since programs differ in that.
    """
    problem = _unfit(centres, counter)
    if problem is not None:
        return [_more(one) or problem for one in centres]
    columns = _numbers(centres[0])
    rows = counter.released.frame.select(columns).fill_null(strategy="mean").to_numpy()
    given = np.array([[float(dict(one.centre)[name]) for name in columns] for one in centres])
    if not (np.isfinite(rows).all() and np.isfinite(given).all()):  # what is no number is no further than any other
        return ["needs columns in which there is a number, and none without an end"] * len(centres)
    spread = np.maximum(rows.std(axis=0), 1e-12)
    best: list[str | None] | None = None
    for scale in (np.ones(len(columns)), spread, np.maximum(rows.max(axis=0) - rows.min(axis=0), 1e-12)):
        nearest = _nearest(rows / scale, given / scale)
        wrong = [
            _wrong(one, nearest == place, (rows, given[place], spread), counter) for place, one in enumerate(centres)
        ]
        if not any(wrong):
            return [_idle(one, nearest == place, counter, minimum) for place, one in enumerate(centres)]
        if best is None or wrong.count(_FAR) < best.count(_FAR):
            best = wrong
    return [one or "is one of centres of which another does not hold" for one in best or []]


def _unfit(centres: Sequence[Statement], counter: Counter) -> str | None:
    """Why centres cannot be checked together, None where they can."""
    if any(map(_more, centres)):
        return "is one of centres that cannot be checked"
    if len(centres) == 1:
        return "is the only one, and so the mean of all rows"
    if any(len({name for name, _ in one.centre}) < len(one.centre) for one in centres):
        return "has two coordinates of one column"
    columns = _numbers(centres[0])
    fit = columns and all(map(counter.released.is_number, columns)) and all(_numbers(one) == columns for one in centres)
    return None if fit else "needs a coordinate of the same columns of numbers for every centre"


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


def _wrong(
    one: Statement, mine: np.ndarray, parts: tuple[np.ndarray, np.ndarray, np.ndarray], counter: Counter
) -> str | None:
    """What a centre says of its own rows that is not so: then the others, which share the rest, are none either."""
    rows, given, spread = parts
    n = int(mine.sum())
    if n == 0 or (np.abs(rows[mine].mean(axis=0) - given) > 0.05 * spread).any():
        return _FAR
    if any(abs(each.number - n) > 0.5 + 0.01 * n for each in one.stated):
        return f"states another number of rows than the {n:,} that are nearest to it"
    modes = [each for each in one.coordinates() if isinstance(each.values[0], str)]
    common = all(is_commonest(mode, mine, counter) for mode in modes)
    return None if common else "has a value that is not the commonest among its rows"


def _idle(one: Statement, mine: np.ndarray, counter: Counter, minimum: int) -> str | None:
    """Why a centre that holds is not told: it is about few rows, or has a code that says nothing of them."""
    if int(mine.sum()) < minimum:
        return f"is about fewer than {minimum:,} rows of the release"
    for each in one.coordinates():
        if each.column in counter.coded and not sets_apart(each, mine, counter):
            return f"has a coordinate of column '{each.column}' that is no other than that of all rows"
    return None
