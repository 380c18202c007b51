"""Statements that say no more of a code than how often it occurs, and lists of them that spell out a mapping."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from shoal.vault.protocol.checking import Counter
from shoal.vault.protocol.statements import MAPPING, Condition, Statement

# Standard errors that a share or mean must differ by, for a coded column to have something to do with it.
_SIGMAS = 3.0
_FEWEST = 3


def is_trivial(statement: Statement, counter: Counter) -> bool:
    """Whether no coded column that it names makes a difference to what it states, or a mapped one makes none.

    A code that rides along with a column that does make one would be told for nothing. A column makes one if the share
    of the conclusion (or, without one, of the column's own condition), or a mean that is stated, is another with its
    conditions than without them, beyond chance.
    """
    coded = counter.released.coded
    named = [one.column for one in statement.everything() if one.column in coded]
    matter = {column: _matters(column, statement, counter) for column in dict.fromkeys(named)}
    idle = any(coded[column] == MAPPING and not found for column, found in matter.items())
    return bool(named) and (idle or not any(matter.values()))


def _matters(column: str, statement: Statement, counter: Counter) -> bool:
    mine = [one for one in statement.conditions if one.column == column]
    others = [one for one in statement.conditions if one.column != column]
    concluded = statement.concluded
    around = counter.rows(others)
    if not mine:  # it is the conclusion alone
        return concluded is not None and bool(others) and _differ(counter.mask(concluded), counter.rows(()), around)
    within = counter.rows(mine, around)
    if concluded is not None:
        return concluded.column != column and _differ(counter.mask(concluded), around, within)
    if others and _differ(counter.rows(mine), counter.rows(()), around):
        return True
    means = [one.column for one in statement.stated if one.name == "mean" and one.column not in (None, column)]
    return any(_means_differ(counter, str(name), around, within) for name in means)


def _differ(event: np.ndarray, around: np.ndarray, within: np.ndarray) -> bool:
    """Whether an event is more or less common in a part of some rows than in all of them."""
    n, part = int(around.sum()), int(within.sum())
    if part == 0 or n <= part:
        return False
    share = float((event & around).sum()) / n
    spread = share * (1.0 - share) / part * (n - part) / (n - 1)
    return bool(abs(float((event & within).sum()) / part - share) > _SIGMAS * np.sqrt(spread))


def _means_differ(counter: Counter, column: str, around: np.ndarray, within: np.ndarray) -> bool:
    cells = counter.released.frame[column]
    every = cells.filter(pl.Series(around)).drop_nulls().to_numpy()
    part = cells.filter(pl.Series(within)).drop_nulls().to_numpy()
    if not len(part) or len(every) <= len(part):
        return False
    spread = float(every.std()) * np.sqrt((1 / len(part)) * (len(every) - len(part)) / (len(every) - 1))
    return bool(abs(float(part.mean() - every.mean())) > _SIGMAS * spread)


def enumerated(statements: Sequence[Statement], counter: Counter, limit: float) -> set[int]:
    """Places of statements that together go through the codes of a mapping, one code each.

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
    """One code, and at most one more column that makes a difference."""
    mine = _of(statement, column)
    if len(mine) != 1 or len(mine[0].values) != 1:
        return False
    others = {one.column for one in statement.conditions} - {column}
    concluded = set() if statement.concluded is None else {statement.concluded.column} - {column}
    if len(others | concluded) <= 1:
        return True
    telling = {name for name in others - concluded if _matters(name, statement, counter)}
    return len(telling | concluded) <= 1


def _of(statement: Statement, column: str) -> list[Condition]:
    return [one for one in statement.everything() if one.column == column]
