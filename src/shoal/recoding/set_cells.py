"""The cells of a flat column: sets of its values, listed one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from shoal.data.column import Column
from shoal.data.hierarchy import MISSING, ROOT
from shoal.kernels.histograms import group_sets, number_sets
from shoal.recoding.cell_text import format_set
from shoal.recoding.column_cells import CellColumn


@dataclass(frozen=True, eq=False)
class SetCells(CellColumn):
    """Sets of values of a flat column; one that mixes missing with anything covers everything.

    Attributes
    ----------
    starts
        int64, where the codes of every set begin, and one more at the end.
    codes
        int32 codes of all sets, each ascending; none of a set that covers everything.
    full
        Which sets cover everything.
    """

    starts: np.ndarray
    codes: np.ndarray
    full: np.ndarray

    @classmethod
    def of(
        cls, column: Column, codes: np.ndarray, ids: np.ndarray, groups: int, everything: int | None = None
    ) -> SetCells:
        """The cells of groups, given the codes of their members; who is in none has a negative number.

        Parameters
        ----------
        everything
            Different values that there are to cover, by default those of the column.
        """
        starts, found = group_sets(codes, ids, groups, column.card)
        sizes = np.diff(starts)
        full = sizes == (column.card if everything is None else everything)
        if column.missing >= 0:
            last = np.append(found, -1)[np.maximum(starts[1:] - 1, 0)]
            full |= (last == column.missing) & (sizes > 1)
        if full.any():
            found = found[~np.repeat(full, sizes)]
            starts = _starts(np.where(full, 0, sizes))
        return cls(column, starts, found, full)

    @classmethod
    def single(cls, column: Column, codes: np.ndarray) -> SetCells:
        """Sets of one code each."""
        full = np.full(codes.size, column.card == 1)
        mine = codes.astype(np.int32)[~full]
        return cls(column, _starts((~full).astype(np.int64)), mine, full)

    @classmethod
    def only(cls, column: Column, code: int, count: int) -> SetCells:
        """So many sets of one and the same code, which no other value is left beside."""
        return cls(column, np.arange(count + 1), np.full(count, code, dtype=np.int32), np.zeros(count, dtype=bool))

    @classmethod
    def everything(cls, column: Column, count: int) -> SetCells:
        """So many sets of all codes."""
        none = np.zeros(count + 1, dtype=np.int64)
        return cls(column, none, np.empty(0, dtype=np.int32), np.ones(count, dtype=bool))

    def take(self, index: np.ndarray) -> SetCells:
        """The cells of some groups."""
        sizes = np.diff(self.starts)[index]
        starts = _starts(sizes)
        place = np.arange(starts[-1]) + np.repeat(self.starts[index] - starts[:-1], sizes)
        return SetCells(self.column, starts, self.codes[place], self.full[index])

    def widened(self, star: np.ndarray) -> SetCells:
        """The same cells, those that are flagged covering everything."""
        sizes = np.where(star, 0, np.diff(self.starts))
        return SetCells(self.column, _starts(sizes), self.codes[~star[self.owner]], self.full | star)

    @cached_property
    def owner(self) -> np.ndarray:
        """The set that every one of the codes is in."""
        return np.repeat(np.arange(self.full.size), np.diff(self.starts))

    @cached_property
    def _distinct(self) -> tuple[np.ndarray, np.ndarray]:
        """Number of every set, and the first of every number; a set without codes is everything or nothing."""
        numbers, first = number_sets(self.starts, self.codes)
        empty = np.diff(self.starts) == 0
        if (empty & ~self.full).any():  # a group without members is not everything
            _, first, numbers = np.unique(numbers * 2 + self.full, return_index=True, return_inverse=True)
        return numbers.astype(np.int32), first

    @property
    def keys(self) -> np.ndarray:
        """Number of the distinct set."""
        return self._distinct[0]

    def members(self, at: int) -> np.ndarray:
        """The codes of one set."""
        if self.full[at]:
            return np.arange(self.column.card, dtype=np.int32)
        return self.codes[self.starts[at] : self.starts[at + 1]]

    def having(self, flags: np.ndarray) -> np.ndarray:
        """Which sets have one of some codes, which are flagged."""
        found = self.full & flags.any()
        found[self.owner[flags[self.codes]]] = True
        return found

    def holding(self, values: np.ndarray) -> np.ndarray:
        """Flags of the sets that have each of some codes, shape (sets, values); those below 0 are in none."""
        different, of = np.unique(values, return_inverse=True)
        place = np.full(self.column.card, -1, dtype=np.int64)
        place[different[different >= 0]] = np.flatnonzero(different >= 0)
        flags = np.repeat((self.full[:, None]), different.size, axis=1) & (different >= 0)
        met = place[self.codes]
        flags[self.owner[met >= 0], met[met >= 0]] = True
        return flags[:, of.ravel()]

    def texts(self) -> pl.Series:
        """``{a|b}``, one value alone, or ``*`` for everything (a lone value stays itself)."""
        values = self.column.texts.to_list()
        numbers, first = self._distinct
        texts = []
        for at in first.tolist():
            if self.full[at] and len(values) > 1:
                texts.append(ROOT)
                continue
            members = self.members(at)
            lone = members.size == 1 and members[0] == self.column.missing
            texts.append(MISSING if lone else format_set([values[code] for code in members.tolist()]))
        return pl.Series(texts, dtype=pl.String).gather(numbers)

    def spread(self) -> np.ndarray:
        """Values less one over domain less one."""
        size = self.column.card
        return (self.covered() - 1.0) / (size - 1.0) if size > 1 else np.zeros(self.full.size)

    def penalty(self) -> np.ndarray:
        """Values over domain, nothing for one value."""
        values = self.covered()
        return np.where(values > 1, values / self.column.card, 0.0)

    def covered(self) -> np.ndarray:
        """Values in the set."""
        return np.where(self.full, self.column.card, np.diff(self.starts)).astype(np.float64)

    def mass(self) -> np.ndarray:
        """Rows whose value is in the set."""
        frequencies = self.column.frequencies
        inside = np.concatenate([[0], np.cumsum(frequencies[self.codes])])
        return np.where(self.full, frequencies.sum(), inside[self.starts[1:]] - inside[self.starts[:-1]]).astype(float)

    def levels(self) -> np.ndarray:
        """1 where a cell covers more than one value."""
        return (self.covered() > 1).astype(np.int64)


def _starts(sizes: np.ndarray) -> np.ndarray:
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes, dtype=np.int64)])
