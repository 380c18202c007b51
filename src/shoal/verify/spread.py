"""How far the rows of one value of a column lie apart in another column, compared with rows of different people."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shoal.verify.values import key_runs

# Sizes from here on count as this one: rows of so many people differ in whatever differs at all.
MOST = 64
# Places at which the shares of a numeric column are looked at to find what chance gives.
_GRID = 256
_PARTS = ("rows", "known", "low", "high", "least", "most")


@dataclass(frozen=True, eq=False)
class Spread:
    """How far the rows of one value lie apart in another column, over all values of several rows.

    Attributes
    ----------
    share
        Observed spread, as a share of what rows of different people have: 0 where each value fixes the column.
    evidence
        -ln of the chance to see so little, were the two columns independent: Hoeffding's bound over disjoint pairs, or
        for numbers Fisher's method over the ranges of all values.
    by_value
        The same with one term a value, so that it is large only where there are many values.
    """

    share: float
    evidence: float
    by_value: float


@dataclass(frozen=True, eq=False)
class Ends:
    """The smallest and largest cell of every other column, for each of some values: as numbers, and as hashes.

    Attributes
    ----------
    rows
        Rows of each value.
    known
        Rows that have a number, by column.
    low, high
        Numbers, nan where there is none; one row a value, one column an other column.
    least, most
        Hashes, by which cells of any kind are the same or not.
    """

    rows: np.ndarray
    known: np.ndarray
    low: np.ndarray
    high: np.ndarray
    least: np.ndarray
    most: np.ndarray

    def take(self, places: np.ndarray) -> Ends:
        """Some of the values."""
        return Ends(*(getattr(self, name)[places] for name in _PARTS))

    def together(self, groups: np.ndarray) -> tuple[Ends, np.ndarray]:
        """Values of one group as one, in the order of the groups, and the first value of each."""
        order = np.argsort(groups, kind="stable")
        begins = key_runs(groups[order])
        if not len(order):
            return self, order
        found = Ends(
            np.add.reduceat(self.rows[order], begins),
            np.add.reduceat(self.known[order], begins, axis=0),
            np.fmin.reduceat(self.low[order], begins, axis=0),
            np.fmax.reduceat(self.high[order], begins, axis=0),
            np.minimum.reduceat(self.least[order], begins, axis=0),
            np.maximum.reduceat(self.most[order], begins, axis=0),
        )
        return found, order[begins]


class Marginal:
    """How often the cells of a column occur, from a sample of rows."""

    def __init__(self, sample: Ends, at: int, *, numeric: bool) -> None:
        self.at, self.numeric = at, numeric
        cells = sample.low[:, at] if numeric else sample.least[:, at]
        self._ordered = np.sort(cells[~np.isnan(cells)] if numeric else cells)
        begins = key_runs(self._ordered)
        self.card = len(begins)
        self.shares = np.diff(begins, append=len(self._ordered)) / max(len(self._ordered), 1)

    def spread(self, ends: Ends) -> tuple[np.ndarray, np.ndarray]:
        """How far apart the cells of each value lie, and how many rows have one; of values with several such rows.

        That is the share of people between them, or 1 where they differ at all.
        """
        if not self.numeric:
            return self.differing(ends)
        several = ends.known[:, self.at] > 1
        low, high = ends.low[several, self.at], ends.high[several, self.at]
        return self._rank(high) - self._rank(low), ends.known[several, self.at]

    def differing(self, ends: Ends) -> tuple[np.ndarray, np.ndarray]:
        """Whether the cells of each value differ at all, and how many rows have one."""
        whole = ends.known[:, self.at] == ends.rows if self.numeric else np.ones(len(ends.rows), dtype=bool)
        return (ends.least[whole, self.at] != ends.most[whole, self.at]).astype(float), ends.rows[whole]

    def range_evidence(self, ends: Ends) -> float:
        """-ln of the chance that the ranges of all values are so narrow; 0 where cells are no numbers.

        The ranges of independent values have chances that are uniform or larger, so that the sum of their -ln is at
        most that of a gamma variable (Fisher's method), which Chernoff's bound is taken of.
        """
        if not self.numeric:
            return 0.0
        several = ends.known[:, self.at] > 1
        rows = np.minimum(ends.known[several, self.at], MOST)
        before = np.searchsorted(self._ordered, ends.low[several, self.at], side="left")
        through = np.searchsorted(self._ordered, ends.high[several, self.at], side="right")
        wide = np.maximum((through - before) / max(len(self._ordered), 1), 1e-9)
        # Of so many numbers between 0 and 1, the chance that their range is at most this.
        chance = np.minimum(wide ** (rows - 1) * (rows - (rows - 1) * wide), 1.0)
        total, count = float(-np.log(chance).sum()), len(rows)
        return total - count - count * math.log(total / count) if total > count > 0 else 0.0

    def _rank(self, numbers: np.ndarray) -> np.ndarray:
        before = np.searchsorted(self._ordered, numbers, side="left")
        through = np.searchsorted(self._ordered, numbers, side="right")
        return (before + through) / (2 * max(len(self._ordered), 1))

    @cached_property
    def by_chance(self) -> np.ndarray:
        """The expected spread of so many rows of different people, by their number."""
        sizes = np.arange(MOST + 1)[:, None]
        if not self.numeric:
            return 1.0 - (self.shares**sizes).sum(axis=1)
        ends = np.cumsum(self.shares)
        if len(ends) > _GRID:
            ends = ends[np.linspace(0, len(ends) - 1, _GRID).astype(int)]
        starts = np.concatenate([[0.0], ends[:-1]])
        middle = (starts + ends) / 2
        highest = (middle * (ends**sizes - starts**sizes)).sum(axis=1)
        lowest = (middle * ((1 - starts) ** sizes - (1 - ends) ** sizes)).sum(axis=1)
        return np.maximum(highest - lowest, 0.0)


def spread_of(ends: Ends, column: Marginal) -> Spread:
    """How far rows of one value lie apart in a column."""
    spread, rows = column.spread(ends)
    expected = float(column.by_chance[np.minimum(rows, MOST)].sum())
    apart, differ = (spread, rows, column.by_chance[2]), (*column.differing(ends), 1 - (column.shares**2).sum())
    return Spread(
        share=float(spread.sum()) / expected if expected > 0 else 1.0,
        evidence=max(_of_pairs(*apart), _of_pairs(*differ), column.range_evidence(ends)),
        by_value=_evidence(float(spread.sum()), expected, len(rows)),
    )


def concat_ends(parts: Sequence[Ends]) -> Ends:
    """Put the values of several parts behind one another."""
    if len(parts) == 1:
        return parts[0]
    return Ends(*(np.concatenate([getattr(part, name) for part in parts]) for name in _PARTS))


def _of_pairs(spread: np.ndarray, rows: np.ndarray, by_chance: float) -> float:
    """-ln of the chance that disjoint pairs of the rows of all values lie so close."""
    pairs = rows // 2
    count = int(pairs.sum())
    return _evidence(float((spread * pairs).sum()), by_chance * count, count)


def _evidence(seen: float, expected: float, count: int) -> float:
    """-ln of the chance that a sum of so many independent numbers of 0 to 1 is so small (Hoeffding)."""
    if seen >= expected or not count:
        return 0.0
    low, mean = seen / count, min(expected / count, 1 - 1e-9)
    return count * ((low * math.log(low / mean) if low > 0 else 0.0) + (1 - low) * math.log((1 - low) / (1 - mean)))
