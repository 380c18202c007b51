"""Statements that say no more of a code than how often it occurs, and lists of them that spell out a mapping."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from shoal.vault.protocol.recount import Counter, is_commonest
from shoal.vault.protocol.statements import MAPPING, Condition, Statement

# Standard errors that a share or mean must differ by, for a coded column to have something to do with it.
_SIGMAS = 3.0
_FEWEST = 3


def is_trivial(statement: Statement, counter: Counter, within: np.ndarray | None = None) -> bool:
    """Whether a coded column that it names makes no difference to what it states, or a code that it lists makes none.

    A code that rides along with a column that does make one, or with other codes of a list, would be told for nothing.
    A column makes one if the share of the conclusion (or, without one, of the column's own condition), or a mean that
    is stated, is another with its conditions than without them, beyond chance; among all rows, or ``within`` some.
    Thresholds of a column are judged as the interval that they make: leaves of trees seldom bear out each end alone.
    """
    coded = counter.released.coded
    named = dict.fromkeys(one.column for one in statement.everything() if one.column in coded)
    matter = [_effect(column, statement, counter, within) != 0 for column in named]
    listed = [one for one in statement.everything() if one.column in coded and one.sign in ("=", "!=")]
    return not all(matter) or any(_has_idle(one, statement, counter, within) for one in listed)


def _has_idle(condition: Condition, statement: Statement, counter: Counter, within: np.ndarray | None) -> bool:
    """Whether one of several codes in a list would make no difference alone, or the opposite one."""
    if len(condition.values) == 1:
        return False
    wanted = _effect(condition.column, statement, counter, within) * (1 if condition.sign == "=" else -1)
    for value in condition.values:
        alone = Condition(condition.column, "=", (value,))
        conditions = tuple(alone if one == condition else one for one in statement.conditions)
        concluded = alone if statement.concluded == condition else statement.concluded
        single = replace(statement, conditions=conditions, concluded=concluded)
        if _effect(condition.column, single, counter, within) != wanted:
            return True
    return False


def _effect(column: str, statement: Statement, counter: Counter, within: np.ndarray | None = None) -> int:
    """Whether what is stated is more (1) or less (-1) with a column's conditions than without, beyond chance, or 0."""
    mine = [one for one in statement.conditions if one.column == column]
    others = [one for one in statement.conditions if one.column != column]
    concluded = statement.concluded
    every, around = counter.rows((), within), counter.rows(others, within)
    if not mine:  # it is the conclusion alone
        return _differ(counter.mask(concluded), every, around) if concluded is not None and others else 0
    inside = counter.rows(mine, around)
    if concluded is not None:
        return 0 if concluded.column == column else _differ(counter.mask(concluded), around, inside)
    found = _differ(counter.rows(mine), every, around) if others else 0
    means = [one.column for one in statement.stated if one.name == "mean" and one.column not in (None, column)]
    return found or next(filter(None, (_means_differ(counter, str(name), around, inside) for name in means)), 0)


def _differ(event: np.ndarray, around: np.ndarray, within: np.ndarray) -> int:
    """Whether an event is more or less common in a part of some rows than in all of them."""
    n, part = int(around.sum()), int(within.sum())
    if part == 0 or n <= part:
        return 0
    share = float((event & around).sum()) / n
    spread = share * (1.0 - share) / part * (n - part) / (n - 1)
    return _beyond(float((event & within).sum()) / part - share, float(np.sqrt(spread)))


def _means_differ(counter: Counter, column: str, around: np.ndarray, within: np.ndarray) -> int:
    cells = counter.released.frame[column]
    every = cells.filter(pl.Series(around)).drop_nulls().to_numpy()
    part = cells.filter(pl.Series(within)).drop_nulls().to_numpy()
    if not len(part) or len(every) <= len(part):
        return 0
    spread = float(every.std()) * np.sqrt((1 / len(part)) * (len(every) - len(part)) / (len(every) - 1))
    return _beyond(float(part.mean() - every.mean()), float(spread))


def sets_apart(coordinate: Condition, mine: np.ndarray, counter: Counter) -> bool:
    """Whether a value is more or less common among the rows of a centre, or their mean another, than among all rows."""
    every = counter.rows(())
    if counter.released.is_number(coordinate.column):
        return _means_differ(counter, coordinate.column, every, mine) != 0
    return _differ(counter.mask(coordinate), every, mine) != 0


def _beyond(difference: float, spread: float) -> int:
    return int(np.sign(difference)) if abs(difference) > _SIGMAS * spread else 0


def enumerated(statements: Sequence[Statement], counter: Counter, limit: float) -> set[int]:
    """Places of statements that together go through the codes of a mapping, one code each; so a clustering can, too.

    Parameters
    ----------
    limit
        Share of a column's codes above which that is an enumeration; up to two codes never are.
    """
    found: set[int] = set()
    for column in (name for name, kind in counter.released.coded.items() if kind == MAPPING):
        lone = [place for place, one in enumerate(statements) if _is_lone(one, column, counter)]
        codes = {value for place in lone for one in _of(statements[place], column) for value in one.values}
        if len(codes) >= _FEWEST and len(codes) > limit * len(counter.codes(column)[0]):
            found.update(lone)
    return found


def _is_lone(statement: Statement, column: str, counter: Counter) -> bool:
    """One code, and at most one more column that makes a difference; rows can be cut into any clusters."""
    mine = _of(statement, column)
    if len(mine) != 1 or len(mine[0].values) != 1:
        return False
    if statement.centre:
        return True
    others = {one.column for one in statement.conditions} - {column}
    concluded = set() if statement.concluded is None else {statement.concluded.column} - {column}
    if len(others | concluded) <= 1:
        return True
    telling = {name for name in others - concluded if _effect(name, statement, counter)}
    return len(telling | concluded) <= 1


def _of(statement: Statement, column: str) -> list[Condition]:
    return [one for one in (*statement.everything(), *statement.coordinates()) if one.column == column]


# ----------------------------------------
# Cluster centres counted again: every record goes to the nearest, and each has to be the mean of its own.


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
