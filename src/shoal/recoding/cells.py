"""The generalised cells of one quasi-identifier, one a class: their text, what they cover and what that costs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl

from shoal.data.column import Column
from shoal.data.dictionary import number_texts
from shoal.data.hierarchy import MISSING, ROOT
from shoal.kernels.grouping import group_ranges, group_rows
from shoal.kernels.histograms import group_sets, number_sets
from shoal.recoding.cell_text import format_set, interval_texts
from shoal.recoding.snap import midpoints, snap_outward


@dataclass(frozen=True, eq=False)
class CellColumn(ABC):
    """Cells of one column, one a group or class."""

    column: Column

    @property
    @abstractmethod
    def keys(self) -> np.ndarray:
        """int32: equal keys exactly where cells are equal."""

    @abstractmethod
    def take(self, index: np.ndarray) -> CellColumn:
        """The cells of some groups."""

    def merge(self, of_group: np.ndarray, first: np.ndarray) -> CellColumn:
        """The cells of classes, each made of groups with equal cells, the first of which is given."""
        return self.take(first)

    @abstractmethod
    def texts(self) -> pl.Series:
        """Cells as text, whatever the column's style."""

    @abstractmethod
    def spread(self) -> np.ndarray:
        """Q-diversity: 0 for one value, 1 for the whole domain."""

    @abstractmethod
    def penalty(self) -> np.ndarray:
        """NCP's price: as spread for intervals, values covered over domain for sets and nodes of two or more."""

    @abstractmethod
    def covered(self) -> np.ndarray:
        """Number of domain values a cell covers; NaN for intervals of real numbers."""

    @abstractmethod
    def mass(self) -> np.ndarray:
        """Rows of the whole table whose value the cell covers."""

    @abstractmethod
    def levels(self) -> np.ndarray:
        """Generalisation level; columns without a hierarchy have 0 (one value) and 1 (more)."""

    @property
    def height(self) -> int:
        """Level of the cell that covers everything; 0 for a constant column."""
        if self.column.hierarchy is not None and self.column.kind == "tree":
            return self.column.hierarchy.height
        return int(self.column.card > 1)


@dataclass(frozen=True, eq=False)
class IntervalCells(CellColumn):
    """Runs of an ordered column: ``low`` and ``high`` codes, ends included; ``star`` covers everything.

    ``shown`` is the dictionary of the released rows, by which ends are published; None where all rows are released.
    """

    low: np.ndarray
    high: np.ndarray
    star: np.ndarray
    shown: Column | None = None

    @classmethod
    def of(cls, column: Column, low: np.ndarray, high: np.ndarray) -> IntervalCells:
        """Cells of given extents; one that mixes missing with anything else covers everything."""
        star = (
            (high == column.missing) & (low != high)
            if column.missing >= 0
            else np.zeros(low.size, dtype=bool)
        )
        return cls(column, low, high, star)

    def take(self, index: np.ndarray) -> IntervalCells:
        """The cells of some groups."""
        return replace(self, low=self.low[index], high=self.high[index], star=self.star[index])

    def merge(self, of_group: np.ndarray, first: np.ndarray) -> IntervalCells:
        """Intervals published by one representative are nested: the widest covers the members of all."""
        if self.column.cells != "representative":
            return self.take(first)
        low, _ = group_ranges(self.low, of_group, first.size)
        _, high = group_ranges(self.high, of_group, first.size)
        return replace(self, low=low, high=high, star=self.star[first])

    @cached_property
    def missing(self) -> np.ndarray:
        """Which cells are the missing value."""
        return (self.low == self.column.missing) & ~self.star

    @property
    def published(self) -> Column:
        """The dictionary that ends are published by."""
        return self.column if self.shown is None else self.shown

    def published_code(self, codes: np.ndarray) -> np.ndarray:
        """The codes there of released values; whatever a missing one becomes is never used."""
        if self.shown is not None and self.shown.numbers is not None and self.column.numbers is not None:
            known = np.minimum(codes, max(self.column.numbers.size - 1, 0))
            codes = np.searchsorted(self.shown.numbers, self.column.numbers[known])
        return np.minimum(codes, max(self.published.numbers.size - 1, 0))  # type: ignore[union-attr]

    @cached_property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Bounds as numbers, snapped; whatever stands where a cell is missing or a star is never used."""
        numbers = self.published.numbers
        if numbers is not None and not numbers.size:  # all released values are missing
            return np.zeros(self.low.size, numbers.dtype), np.zeros(self.low.size, numbers.dtype)
        return self.snapped(self.published_code(self.low), self.published_code(self.high))

    def snapped(self, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Bounds of published codes."""
        return snap_outward(self.published, low, high)

    @cached_property
    def keys(self) -> np.ndarray:
        """Equal keys exactly where cells are equal, after snapping and as the column's style publishes them."""
        special = np.where(self.star, 1, np.where(self.missing, 2, 0)).astype(np.int32)
        if self.column.cells == "representative":
            ends = [np.unique(self.representatives(), return_inverse=True)[1]]
        elif self.published.numbers is None:
            ends = [self.low, self.high]
        else:
            ends = [np.unique(bound, return_inverse=True)[1] for bound in self.bounds]
        stacked = np.stack([np.where(special > 0, 0, end).astype(np.int32) for end in ends] + [special])
        return group_rows(stacked, stacked.max(axis=1, initial=0) + 1)[0]

    def texts(self) -> pl.Series:
        """``x``, ``[lo,hi]``, ``{a|b}`` for ordinal columns, ``*`` or ``<missing>``."""
        if self.column.numbers is None:
            texts = self._ordinal_texts()
        else:
            low, high = (_bound_texts(self.column.type, bound) for bound in self.bounds)
            texts = interval_texts(low, high)
        special = pl.Series(np.where(self.star, ROOT, np.where(self.missing, MISSING, "")), dtype=pl.String)
        return pl.select(pl.when(special == "").then(texts).otherwise(special)).to_series()

    def representatives(self) -> np.ndarray:
        """One value a cell: the middle of the published interval, for ordinal columns the code of that value.

        Whatever stands where a cell is missing or a star is never used.
        """
        if self.column.numbers is None:
            return (self.low + self.high) // 2
        return midpoints(self.published, *self.bounds)

    def _ordinal_texts(self) -> pl.Series:
        values = self.column.texts.to_list()
        pairs, places = np.unique(np.stack([self.low, self.high]), axis=1, return_inverse=True)
        texts = [format_set(values[low : high + 1]) for low, high in pairs.T.tolist()]
        return pl.Series(texts, dtype=pl.String).gather(places.ravel())

    def spread(self) -> np.ndarray:
        """Width over the domain's, at most 1."""
        span = self.column.span
        with np.errstate(invalid="ignore"):
            width = self._width()
        share = np.minimum(width / span, 1.0) if span > 0 else np.zeros(self.low.size)
        return np.where(self.star, float(self.column.card > 1 or span > 0), np.where(self.missing, 0.0, share))

    def _width(self) -> np.ndarray:
        if self.published.numbers is None:
            return (self.high - self.low).astype(np.float64)
        low, high = self.bounds
        if low.dtype.kind == "i" and self.column.span >= 1 << 62:
            return high.astype(np.float64) - low.astype(np.float64)  # the difference may not fit into 64 bits
        return (high - low).astype(np.float64)

    def penalty(self) -> np.ndarray:
        """The same as the spread."""
        return self.spread()

    def covered(self) -> np.ndarray:
        """Whole numbers, days or ranks between the ends."""
        if not self.column.whole:
            return np.full(self.low.size, np.nan)
        inside = np.minimum(self._width() + 1.0, self.column.domain_size)
        return np.where(self.star, float(self.column.domain_size), np.where(self.missing, 1.0, inside))

    def mass(self) -> np.ndarray:
        """Rows between the published ends."""
        frequencies = self.column.frequencies
        cumulative = np.concatenate([[0], np.cumsum(frequencies)])
        low, high = self.low, self.high
        if self.column.numbers is not None and self.published.numbers is not None and self.published.numbers.size:
            ends = self.bounds
            low = np.searchsorted(self.column.numbers, ends[0], side="left")
            high = np.searchsorted(self.column.numbers, ends[1], side="right") - 1
        inside = cumulative[high + 1] - cumulative[low]
        missing = frequencies[self.column.missing] if self.column.missing >= 0 else 0
        return np.where(self.star, cumulative[-1], np.where(self.missing, missing, inside)).astype(
            np.float64
        )

    def levels(self) -> np.ndarray:
        """1 where a cell covers more than one value."""
        return (self.spread() > 0).astype(np.int64)


def _bound_texts(kind: str, bounds: np.ndarray) -> pl.Series:
    distinct, places = np.unique(bounds, return_inverse=True)
    return number_texts(kind, distinct).gather(places.ravel())


@dataclass(frozen=True, eq=False)
class TreeCells(CellColumn):
    """Nodes of a hierarchy, by node id; ``level`` is the level they were chosen at."""

    nodes: np.ndarray
    level: np.ndarray

    @classmethod
    def of(cls, column: Column, low: np.ndarray, high: np.ndarray) -> TreeCells:
        """The lowest common ancestor of each extent."""
        tree = column.hierarchy
        assert tree is not None
        level = tree.common_level(low, high)
        return cls(column, tree.node_id(level, low), np.asarray(level))

    @classmethod
    def at_level(cls, column: Column, leaves: np.ndarray, level: int) -> TreeCells:
        """The node above each leaf on one level."""
        tree = column.hierarchy
        assert tree is not None
        nodes = tree.node_id(level, leaves)
        return cls(column, nodes, np.full(nodes.size, level))

    @classmethod
    def at_nodes(cls, column: Column, nodes: np.ndarray) -> TreeCells:
        """Given nodes, by their ids."""
        assert column.hierarchy is not None
        return cls(column, nodes, column.hierarchy.node_level[nodes])

    def with_root(self) -> TreeCells:
        """The same cells, those that are called as the root being the root."""
        tree = self.column.hierarchy
        assert tree is not None
        root = tree.node_id(tree.height, np.zeros(1, dtype=np.int32))
        return replace(self, nodes=np.where(self.texts() == tree.labels[-1][0], root, self.nodes))

    def take(self, index: np.ndarray) -> TreeCells:
        """The cells of some groups."""
        return TreeCells(self.column, self.nodes[index], self.level[index])

    @property
    def keys(self) -> np.ndarray:
        """First leaf and size name a node whatever level it was padded to."""
        tree = self.column.hierarchy
        assert tree is not None
        pair = tree.node_first[self.nodes] * np.int64(tree.n_leaves + 1) + tree.node_leaves[self.nodes]
        return np.unique(pair, return_inverse=True)[1].astype(np.int32)

    def texts(self) -> pl.Series:
        """The nodes' labels."""
        return pl.Series(self.column.hierarchy.node_labels, dtype=pl.String).gather(self.nodes)  # type: ignore[union-attr]

    def spread(self) -> np.ndarray:
        """Leaves less one over domain less one."""
        size = self.column.card
        return (self.covered() - 1.0) / (size - 1.0) if size > 1 else np.zeros(self.nodes.size)

    def penalty(self) -> np.ndarray:
        """Leaves over domain, nothing for a leaf."""
        leaves = self.covered()
        return np.where(leaves > 1, leaves / self.column.card, 0.0)

    def covered(self) -> np.ndarray:
        """Leaves under the node."""
        return self.column.hierarchy.node_leaves[self.nodes].astype(np.float64)  # type: ignore[union-attr]

    def mass(self) -> np.ndarray:
        """Rows under the node."""
        tree = self.column.hierarchy
        assert tree is not None
        cumulative = np.concatenate([[0], np.cumsum(self.column.frequencies)])
        first = tree.node_first[self.nodes]
        return (cumulative[first + tree.node_leaves[self.nodes]] - cumulative[first]).astype(np.float64)

    def levels(self) -> np.ndarray:
        """The level the node was chosen at."""
        return self.level


# ----------------------------------------
# The cells of a flat column: sets of its values, listed one after the other.


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
