"""How the values of a column fix other columns: a fold over batches of rows, of bounded memory.

Of each followed column the rows of a value are counted, and the smallest and the largest cell of the other columns
among them. From these follow how much less rows of one value differ than rows of different people do, and whether the
values are those of people. The same facts decide before a run and at the gate.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl

from shoal.verify.assigned_values import numbers_of, shown_texts
from shoal.verify.spread import MOST, Ends, Marginal, Spread, concat_ends, spread_of
from shoal.verify.tally import Counts
from shoal.verify.values import Coded, Held, add_counts

# The largest spread of rows that lie close together, of what chance gives.
CLOSE = 0.5
# Values of a column that are followed, and rows that tell how often cells occur by chance.
VALUES, ROWS = 1 << 14, 1 << 14
# Rows of a batch that are looked at for a column, as far as values are then left; and which rows of a value that has
# very many: one in so many, so that sizes above `MOST` stay there.
_BUDGET, _ENOUGH, _EVERY = 1 << 15, 1 << 12, 33
# Of what chance gives, the largest spread of rows that a value fixes, and the level of every test: one in 10 ** 9.
FIXED, LEVEL = 0.1, 9 * math.log(10)
# Cells that at most so many pairs of different values share tell the people behind the values apart.
_RARE = 0.1
# The largest spread that is called much finer or computed, and rows of neighbouring values that are taken together.
FINER, _TOGETHER = 0.2, 5
# A column is redundant where another one fixes it among people: a city its region.
_REDUNDANT, _LITTLE = 0.3, 3.0
# Ranks that agree so well, or cells that nobody shares, belong to a copy.
_COPIED = 0.9
# Strata: most combinations of what they fix occur, and each is one of them.
_CROSSED = 0.8
# Strata differ from each other, but for slips; of so many people that share combinations by chance a third do.
_APART = 0.9


class Dependence:
    """The columns of a table: values of ``followed`` columns, and what they fix among ``others``.

    A batch may have more columns, and all batches have the same. Memory is `VALUES` values of each followed column,
    chosen by their hashes so that all rows of a value are counted or none, and `ROWS` rows. Of ``counted`` columns the
    rows of every value are counted, which takes 16 bytes a value.
    """

    def __init__(self, followed: Sequence[str], others: Sequence[str], counted: Collection[str] = ()) -> None:
        self._columns = {name: _Followed(Counts() if name in counted else None) for name in followed}
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

    def __init__(self, counts: Counts | None) -> None:
        self._counts = counts
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
        if self._counts is not None:
            # Without the last bit, a hash is a whole number from 0 on, which is sorted instead of hashed again.
            halves = (hashes[there] >> np.uint64(1)).astype(np.int64)
            self._counts.add(add_counts(pl.DataFrame({"hash": halves, "rows": held.rows[there]})))
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

    @property
    def most(self) -> int | None:
        """Rows of the most frequent value, None where not all values are counted."""
        if self._counts is None:
            return None
        counted = self._counts.counted()
        return int(counted["rows"].max()) if counted.height else 0  # type: ignore[arg-type]

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
    most
        Rows of the most frequent value; where values are not counted, of those that are followed.
    """

    def __init__(self, column: _Followed, marginals: dict[str, Marginal]) -> None:
        self._ends, self.shown = column.found()
        self.known, self.share, self._marginals = column.known, column.limit / 2.0**64, marginals
        counted, followed = column.most, 0 if self._ends is None else int(self._ends.rows.max(initial=0))
        self.most = followed if counted is None else counted

    @property
    def count(self) -> int:
        """How many values are followed."""
        return len(self.shown)

    @cached_property
    def repeated(self) -> Ends | None:
        """Values of several rows, None where there are none."""
        several = np.arange(0) if self._ends is None else np.flatnonzero(self._ends.rows > 1)
        return None if self._ends is None or not len(several) else self._ends.take(several)

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

    @property
    def are_categories(self) -> bool:
        """Whether values are texts that are no numbers."""
        return self._numbers.null_count() > 0

    def fixes(self, name: str, most: float = FINER) -> bool:
        """Whether the values fix a column, or leave a small part of its range, over rows of different people.

        Of ordered values that hardly repeat, those that follow one another are taken together.

        Parameters
        ----------
        most
            The largest spread, as a share of what chance gives.
        """
        return name in self._marginals and any(
            found.share <= most and found.evidence >= LEVEL
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

    def open(self, names: Sequence[str]) -> list[str]:
        """Some columns, where rows of one value lie more than half as far apart as those of different people."""
        return [name for name in names if name in self.spreads and self.spreads[name].share > CLOSE]

    def _fixed(self, names: Collection[str], *, shared: bool) -> list[str]:
        """Some columns that the values fix, but are not computed from."""
        fixed = [name for name, one in self.spreads.items() if one.share <= FIXED and name in names]
        return [name for name in fixed if not self._copies(name) and (self._is_shared(name) or not shared)]

    def tell_apart(self, names: Sequence[str]) -> bool:
        """Whether rows of one value agree nearly always in what different values rarely share: they are of one person.

        People of one name share their sex, and perhaps more, but not their exact age or their place as well.
        """
        fixed = [name for name in self._fixed(names, shared=False) if not self._is_of_neighbours(name)]
        if sum(self.spreads[name].evidence for name in fixed) < LEVEL:
            return False
        cells = self._cells(fixed)
        _, shares = np.unique(cells, axis=0, return_counts=True)
        pairs = len(cells) * (len(cells) - 1)
        return int((shares * (shares - 1)).sum()) <= _RARE * pairs

    def fix_one(self, names: Sequence[str]) -> bool:
        """Whether the values fix one of some columns at least, whose cells several of them share."""
        return any(self.spreads[name].by_value >= LEVEL for name in self._fixed(names, shared=True))

    def numbers_people(self, *, shared: bool) -> bool:
        """Whether the values are numbers of people: over their rows each fixes columns that do not fix each other.

        Parameters
        ----------
        shared
            Whether these are to be columns whose cells several people share; what nobody shares may be a copy.
        """
        fixed = self._fixed(self.spreads, shared=shared)
        own = [name for name in fixed if not any(self._follows(name, other) for other in fixed if other != name)]
        if len(own) < 2 or sum(self.spreads[name].by_value for name in own) < LEVEL:
            return False
        crossed = math.prod(self._marginals[name].card for name in fixed)
        # More values than combinations are people of whom several have the same one, and so are fewer that share some.
        return not _CROSSED * crossed <= self.count / self.share <= crossed or self._share_combinations(fixed)

    def _cells(self, names: Sequence[str]) -> np.ndarray:
        """Cells of some columns, of each value with several rows."""
        repeated = self.repeated
        assert repeated is not None
        return repeated.least[:, [self._marginals[name].at for name in names]]

    def _share_combinations(self, names: Sequence[str]) -> bool:
        """Whether several values have the same cells in some columns, which are then not what the values stand for."""
        cells = self._cells(names)
        return len(np.unique(cells, axis=0)) < _APART * len(cells)

    def _copies(self, name: str) -> bool:
        """Whether a column rises or falls with the values, as what is computed from them does."""
        numbers, column = self._numbers, self._marginals[name]
        if self._ends is None or not column.numeric or numbers.null_count():
            return False
        there = ~np.isnan(self._ends.low[:, column.at])
        ranks = [np.argsort(np.argsort(one[there])) for one in (numbers.to_numpy(), self._ends.low[:, column.at])]
        return len(ranks[0]) > 2 and abs(float(np.corrcoef(ranks[0], ranks[1])[0, 1])) > _COPIED

    def _is_of_neighbours(self, name: str) -> bool:
        """Whether values that follow one another share a column, as dates of birth share an age or a group of ages."""
        if self._ends is None or self._numbers.null_count():
            return False
        ordered = _one_row_each(self._ends).take(np.argsort(self._numbers.to_numpy(), kind="stable"))
        pairs, _ = ordered.together(np.arange(len(ordered.rows)) // 2)
        return spread_of(pairs.take(np.flatnonzero(pairs.rows > 1)), self._marginals[name]).share <= FINER

    def _is_shared(self, name: str) -> bool:
        """Whether several values have the same cell of a column, one with another."""
        cells = self._cells([name])
        return len(np.unique(cells)) < _COPIED * len(cells)

    def _follows(self, name: str, other: str) -> bool:
        """Whether, with each value as one person, another column fixes this one, and not the reverse."""
        forth, back = self._among_people(name, other), self._among_people(other, name)
        return forth < _REDUNDANT and (forth < back or (forth == back and name > other))

    def _among_people(self, name: str, other: str) -> float:
        """Spread of a column among people that share a cell of another one; 1 where too few do."""
        repeated = self.repeated
        assert repeated is not None
        shared, _ = _one_row_each(repeated).together(repeated.least[:, self._marginals[other].at])
        shared = shared.take(np.flatnonzero(shared.rows > 1))
        found = spread_of(shared, self._marginals[name])
        return found.share if found.evidence >= _LITTLE else 1.0


def _one_row_each(ends: Ends) -> Ends:
    """Take each value as one person with one row."""
    known = np.minimum(ends.known, 1)
    return replace(ends, rows=np.ones_like(ends.rows), known=known, high=ends.low, most=ends.least)
