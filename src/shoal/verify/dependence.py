"""How the values of a column fix other columns: a fold over batches of rows, of bounded memory.

Of each followed column the rows of a value are counted, and the smallest and the largest cell of the other columns
among them. From these follow three facts: how often the most frequent value occurs, how much less rows of one value
differ than rows of different people do, and whether a column is a person number. The same facts decide before a run
and at the gate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl

from shoal.verify.assigned import numbers_of, shown_texts
from shoal.verify.coded import Coded, Held
from shoal.verify.spread import MOST, Ends, Marginal, Spread, concat_ends, spread_of

# The largest spread of rows that lie close together, of what chance gives.
CLOSE = 0.5
# Values of a column that are followed, and rows that tell how often cells occur by chance.
VALUES, ROWS = 1 << 14, 1 << 14
# Rows of a batch that are looked at for a column, as far as values are then left; and which rows of a value that has
# very many: one in so many, so that sizes above `MOST` stay there.
_BUDGET, _ENOUGH, _EVERY = 1 << 15, 1 << 12, 33
# Of what chance gives, the largest spread of rows that a value fixes, and the level of every test: one in 10 ** 9.
FIXED, LEVEL = 0.1, 9 * math.log(10)
# The largest spread that is called much finer, and rows of neighbouring values that are taken together.
FINER, _TOGETHER = 0.2, 5
# A column is redundant where another one fixes it among people: a city its region.
_REDUNDANT, _LITTLE = 0.3, 3.0
# A copy: ranks that agree so well, or cells that nobody shares.
_COPIED = 0.9
# Strata: most combinations of what they fix occur, and each is one of them.
_CROSSED = 0.8
# Strata differ from each other, but for slips; of so many people that share combinations by chance a third do.
_APART = 0.9


class Dependence:
    """The columns of a table: values of ``followed`` columns, and what they fix among ``others``.

    A batch may have more columns, and all batches have the same. Memory is `VALUES` values of each followed column,
    chosen by their hashes so that all rows of a value are counted or none, and `ROWS` rows.
    """

    def __init__(self, followed: Sequence[str], others: Sequence[str]) -> None:
        self._columns = {name: _Followed() for name in followed}
        self._others = list(dict.fromkeys(others))
        self._numeric = np.ones(len(self._others), dtype=bool)
        self._sample: list[Ends] = []
        self._rows, self._step = 0, 1

    def see(self, batch: Coded) -> None:
        """Take in a batch of rows."""
        height = batch.frame.height
        cells = self._cells(batch)
        for name, values in self._columns.items():
            values.see(batch[name], cells)
        while height > ROWS * self._step:
            self._halve()
        self._sample.append(cells.take(np.arange(-self._rows % self._step, height, self._step)))
        self._rows += height
        while sum(len(part.rows) for part in self._sample) > ROWS:
            self._halve()

    def _halve(self) -> None:
        """Keep every second row of the sample, and of what follows."""
        if self._sample:
            whole = concat_ends(self._sample)
            self._sample = [whole.take(np.arange(0, len(whole.rows), 2))]
        self._step *= 2

    def _cells(self, batch: Coded) -> _Cells:
        """Look up the number and the hash of every different cell; a column is numeric while all of its cells are."""
        codes, numbers, hashes = [], [], []
        for at, name in enumerate(self._others):
            held = batch[name]
            found = numbers_of(held.distinct)
            self._numeric[at] &= found.null_count() == held.distinct.null_count()
            codes.append(held.codes)
            numbers.append(found.to_numpy())
            hashes.append(held.distinct.hash(0).to_numpy().view(np.int64))
        return _Cells(codes, numbers, hashes)

    def values(self, name: str) -> Values:
        """What was found of a followed column."""
        others = {other: one for other, one in self._marginals.items() if other != name}
        return Values(self._columns[name], others)

    @cached_property
    def _marginals(self) -> dict[str, Marginal]:
        sample = concat_ends(self._sample)
        found = [Marginal(sample, at, numeric=bool(self._numeric[at])) for at in range(len(self._others))]
        # What everybody shares tells nothing.
        return {name: one for name, one in zip(self._others, found, strict=True) if one.by_chance[2] > 0}


@dataclass(frozen=True, eq=False)
class _Cells:
    """Cells of the other columns in a batch: a code for each row, and the number and hash of each code."""

    codes: Sequence[np.ndarray]
    numbers: Sequence[np.ndarray]
    hashes: Sequence[np.ndarray]

    def take(self, rows: np.ndarray) -> Ends:
        """Build the ends of single rows."""
        numbers = np.full((len(rows), len(self.codes)), np.nan)
        hashes = np.zeros(numbers.shape, dtype=np.int64)
        for at, codes in enumerate(self.codes):
            there = codes[rows]
            numbers[:, at], hashes[:, at] = self.numbers[at][there], self.hashes[at][there]
        known = (~np.isnan(numbers)).astype(np.int32)
        return Ends(np.ones(len(rows), dtype=np.int64), known, numbers, numbers, hashes, hashes)


class _Followed:
    """Values of one column."""

    def __init__(self) -> None:
        self.limit = 1 << 64
        self.known = 0
        self._hashes: list[np.ndarray] = []
        self._ends: list[Ends] = []
        self._shown: list[pl.Series] = []

    def see(self, held: Held, cells: _Cells) -> None:
        """Take in the cells of a batch."""
        there = held.distinct.is_not_null().to_numpy()
        hashes = held.distinct.hash(1).to_numpy()
        self.known += int(held.rows[there].sum())
        self._narrow(hashes[there], held.rows[there])
        near = there & (hashes <= np.uint64(self.limit - 1))
        frequent = held.rows > MOST * _EVERY
        rows = np.flatnonzero((near & ~frequent)[held.codes])
        if (near & frequent).any():
            rows = np.concatenate([rows, np.flatnonzero((near & frequent)[held.codes])[::_EVERY]])
        ends, first = cells.take(rows).together(held.codes[rows])
        codes = held.codes[rows][first]
        self._hashes.append(hashes[codes])
        self._ends.append(replace(ends, rows=held.rows[codes]))
        self._shown.append(shown_texts(held.distinct.gather(codes)))
        if sum(map(len, self._hashes)) > 2 * VALUES:
            self._fit()

    def _narrow(self, hashes: np.ndarray, rows: np.ndarray) -> None:
        """Follow fewer values where those of a batch are too many, or have too many rows."""
        if len(hashes) <= _ENOUGH:
            return
        order = np.argsort(hashes)
        spent = np.cumsum(np.minimum(rows[order], MOST * _EVERY))
        most = min(max(int(np.searchsorted(spent, _BUDGET)), _ENOUGH), VALUES)
        if most < len(order):
            self.limit = min(self.limit, int(hashes[order[most - 1]]) + 1)

    def _fit(self) -> None:
        """Put parts together, and follow fewer values where there are too many."""
        if len(self._hashes) > 1:
            hashes, shown = np.concatenate(self._hashes), pl.concat(self._shown)
            ends, first = concat_ends(self._ends).together(hashes)
            self._hashes, self._ends, self._shown = [hashes[first]], [ends], [shown.gather(first)]
        if self._hashes and len(self._hashes[0]) > VALUES:  # in ascending order, put together
            keep = np.arange(VALUES)
            self.limit = int(self._hashes[0][VALUES - 1]) + 1
            self._hashes, self._ends = [self._hashes[0][keep]], [self._ends[0].take(keep)]
            self._shown = [self._shown[0].gather(keep)]

    def found(self) -> tuple[Ends | None, pl.Series]:
        """Every value that is followed, and how it is written."""
        self._fit()
        return (self._ends[0], self._shown[0]) if self._ends else (None, pl.Series([], dtype=pl.String))


class Values:
    """The values of one column, and what they fix.

    Attributes
    ----------
    shown
        How each is written.
    known
        Rows that have one.
    share
        Share of all values that are followed.
    """

    def __init__(self, column: _Followed, marginals: dict[str, Marginal]) -> None:
        self._ends, self.shown = column.found()
        self.known, self.share, self._marginals = column.known, column.limit / 2.0**64, marginals

    @property
    def count(self) -> int:
        """How many values are followed."""
        return len(self.shown)

    @property
    def most(self) -> int:
        """Rows of the most frequent value."""
        return 0 if self._ends is None else int(self._ends.rows.max(initial=0))

    @cached_property
    def repeated(self) -> Ends | None:
        """Values of several rows, None where there are none."""
        if self._ends is None or self.most < 2:
            return None
        return self._ends.take(np.flatnonzero(self._ends.rows > 1))

    @property
    def own(self) -> float:
        """Share of the rows that have a value of their own."""
        alone = 0 if self._ends is None else int((self._ends.rows == 1).sum())
        return alone / self.share / max(self.known, 1)

    @cached_property
    def spreads(self) -> dict[str, Spread]:
        """How far the rows of one value lie apart, by column."""
        repeated = self.repeated
        return {} if repeated is None else {name: spread_of(repeated, one) for name, one in self._marginals.items()}

    def fixes(self, name: str) -> bool:
        """Whether the values fix a column, or leave a small part of its range, over rows of different people.

        Of ordered values that hardly repeat, those that follow one another are taken together.
        """
        return name in self._marginals and any(
            found.share <= FINER and found.evidence >= LEVEL
            for ends in (self.repeated, self._neighbours)
            if ends is not None
            for found in [spread_of(ends, self._marginals[name])]
        )

    @cached_property
    def _numbers(self) -> pl.Series:
        return numbers_of(self.shown)

    @cached_property
    def _neighbours(self) -> Ends | None:
        """Values that follow one another, as few together as have several rows; None where they are no numbers."""
        numbers = self._numbers
        if self._ends is None or numbers.null_count():
            return None
        ordered = self._ends.take(np.argsort(numbers.to_numpy(), kind="stable"))
        found, _ = ordered.together((np.cumsum(ordered.rows) - 1) // _TOGETHER)
        return found.take(np.flatnonzero(found.rows > 1))

    def closeness(self, names: Sequence[str]) -> float:
        """Share of some columns in which rows of one value lie less than half as far apart as different people's."""
        found = [self.spreads[name].share <= CLOSE for name in names if name in self.spreads]
        return float(np.mean(found)) if found else 1.0

    def numbers_people(self, *, shared: bool) -> bool:
        """Whether the values are numbers of people: over their rows each fixes columns that do not fix each other.

        Parameters
        ----------
        shared
            Whether these are to be columns whose cells several people share; what nobody shares may be a copy.
        """
        fixed = [name for name, one in self.spreads.items() if one.share <= FIXED and not self._copies(name)]
        fixed = [name for name in fixed if not shared or self._is_shared(name)]
        if len(fixed) < 2 or sum(self.spreads[name].by_value for name in fixed) < LEVEL:
            return False
        own = [name for name in fixed if not any(self._follows(name, other) for other in fixed if other != name)]
        if len(own) < 2 or sum(self.spreads[name].by_value for name in own) < LEVEL:
            return False
        crossed = math.prod(self._marginals[name].card for name in fixed)
        # More values than combinations are people of whom several have the same one, and so are fewer that share some.
        return not _CROSSED * crossed <= self.count / self.share <= crossed or self._share_combinations(fixed)

    def _share_combinations(self, names: Sequence[str]) -> bool:
        """Whether several values have the same cells in some columns, which are then not what the values stand for."""
        repeated = self.repeated
        assert repeated is not None
        cells = repeated.least[:, [self._marginals[name].at for name in names]]
        return len(np.unique(cells, axis=0)) < _APART * len(cells)

    def _copies(self, name: str) -> bool:
        """Whether a column rises or falls with the values, as what is computed from them does."""
        numbers, column = self._numbers, self._marginals[name]
        if self._ends is None or not column.numeric or numbers.null_count():
            return False
        there = ~np.isnan(self._ends.low[:, column.at])
        ranks = [np.argsort(np.argsort(one[there])) for one in (numbers.to_numpy(), self._ends.low[:, column.at])]
        return len(ranks[0]) > 2 and abs(float(np.corrcoef(ranks[0], ranks[1])[0, 1])) > _COPIED

    def _is_shared(self, name: str) -> bool:
        """Whether several values have the same cell of a column, one with another."""
        repeated = self.repeated
        assert repeated is not None
        return len(np.unique(repeated.least[:, self._marginals[name].at])) < _COPIED * len(repeated.rows)

    def _follows(self, name: str, other: str) -> bool:
        """Whether, with each value as one person, another column fixes this one, and not the reverse."""
        forth, back = self._among_people(name, other), self._among_people(other, name)
        return forth < _REDUNDANT and (forth < back or (forth == back and name > other))

    def _among_people(self, name: str, other: str) -> float:
        """Spread of a column among people that share a cell of another one; 1 where too few do."""
        repeated = self.repeated
        assert repeated is not None
        people = replace(
            repeated, rows=np.ones_like(repeated.rows), known=np.minimum(repeated.known, 1), high=repeated.low,
            most=repeated.least,
        )  # fmt: skip
        shared, _ = people.together(repeated.least[:, self._marginals[other].at])
        shared = shared.take(np.flatnonzero(shared.rows > 1))
        found = spread_of(shared, self._marginals[name])
        return found.share if found.evidence >= _LITTLE else 1.0
