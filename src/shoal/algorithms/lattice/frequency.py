"""The frequency table rolled up to some levels, on which the nodes that share these are counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shoal.data.column import Column
from shoal.kernels import lattice as kernel
from shoal.kernels.grouping import group_rows
from shoal.kernels.histograms import bucket_rows
from shoal.kernels.lattice_verdicts import Entries, Losing, class_histograms

# Owner, code and count, one an entry and value.
Counts = tuple[np.ndarray, np.ndarray, np.ndarray]

# Rolled-up tables together take no more room.
_ROLLED_BYTES = 256 * 1024 * 1024
_NONE = np.empty(0, dtype=np.uint8)


class Numbering:
    """Numbers classes in room of its own, where the last classes stay.

    Parameters
    ----------
    size
        Most entries there can be.
    """

    def __init__(self, size: int) -> None:
        slots = 1 << max(2 * size - 1, 16).bit_length()
        self.slots = kernel.Slots(np.empty(slots, dtype=np.int32), np.empty(size, dtype=np.uint64))
        kinds = (np.int32, np.int64, np.int32, np.int64, np.int32)
        self.room = kernel.Room(*(np.empty(size, dtype=kind) for kind in kinds))

    def number(self, codes: np.ndarray, rows: np.ndarray, cards: np.ndarray, weight: np.ndarray) -> int:
        """Number the classes that some rows of ``codes`` make; returns how many there are."""
        found = kernel.count_rows(codes, rows, cards, weight, self.slots, self.room)
        if found >= 0:
            return int(found)
        # Keys that do not fit into 64 bits are grouped column by column.
        mine = codes[rows]
        ids, first, _ = group_rows(mine, mine.max(axis=1, initial=0) + 1)
        self.room.class_of[: ids.size] = ids
        self.room.first[: first.size] = first
        self.room.sizes[: first.size] = np.bincount(ids, weights=weight, minlength=first.size)
        return int(first.size)


@dataclass(frozen=True, eq=False, kw_only=True)
class Rolled:
    """The frequency table rolled up to some node: one entry a class there.

    Attributes
    ----------
    leaf
        (attributes, entries): leaf codes of one combination of each entry.
    weight
        Rows of each entry.
    histograms
        Sensitive counts of the entries, one a judged attribute.
    layout
        Where kernels find what.
    above
        The attribute that is rolled up, if there is one.
    entry_of
        Entry of each combination of leaf codes.
    base
        The table of these combinations, None where it is this one.
    """

    leaf: np.ndarray
    weight: np.ndarray
    histograms: list[Counts]
    layout: kernel.Layout
    above: int | None = None
    entry_of: np.ndarray
    base: Rolled | None = None

    @cached_property
    def codes(self) -> np.ndarray:
        """(levels of all attributes, entries): node of each entry, right for this node's levels and coarser ones."""
        codes: np.ndarray = kernel.level_codes(self.leaf, self.layout)
        return codes

    @cached_property
    def entries(self) -> Entries:
        """The entries as kernels count them."""
        return Entries(self.codes, self.weight, self.layout)

    @cached_property
    def losing(self) -> Losing:
        """What tells rows that are lost by their leaf codes."""
        starts = self.layout.card_at.astype(np.int32)
        own = [a for a in range(len(self.leaf)) if a != self.above]
        places = np.ascontiguousarray((self.leaf[own] + starts[own, None]).T)
        if self.base is None:
            offsets = np.zeros(self.weight.size + 1, dtype=np.int64)
            return Losing(self.weight, places, np.empty(0, dtype=np.int32), self.weight[:0], offsets)
        rows, offsets = bucket_rows(self.entry_of, self.weight.size)
        deep = np.take(self.base.leaf[self.above] + starts[self.above], rows)
        return Losing(self.weight, places, deep, np.take(self.base.weight, rows), offsets)


class RolledTables:
    """The tables of one search, rolled up to each level of the attribute with most values, if there is room."""

    def __init__(self, leaves: Rolled, columns: Sequence[Column], numbering: Numbering) -> None:
        self._leaves, self._numbering = leaves, numbering
        self._widest = int(np.argmax([column.card for column in columns]))
        self._kept = {0: leaves}
        self._bytes = _ROLLED_BYTES

    def at(self, levels: np.ndarray) -> Rolled:
        """The table rolled up to a node's own level of that attribute; that of the leaves when there is no room."""
        level = int(levels[self._widest])
        if level not in self._kept:
            self._kept[level] = self._roll(level)
        return self._kept[level]

    def _roll(self, level: int) -> Rolled:
        leaves, layout, a, mine = self._leaves, self._leaves.layout, self._widest, self._numbering.room
        codes = leaves.leaf.copy()
        codes[a] = np.take(layout.labels[level, layout.card_at[a] : layout.card_at[a + 1]], codes[a])
        cards = layout.cards[:, 0].copy()
        cards[a] = layout.cards[a, level]
        found = self._numbering.number(codes, np.arange(len(codes)), cards, leaves.weight)
        room = _room(leaves, found)
        if room > self._bytes:
            return leaves
        self._bytes -= room
        of = mine.class_of.copy()
        return Rolled(
            leaf=np.take(leaves.leaf, mine.first[:found], axis=1), weight=mine.sizes[:found].copy(),
            histograms=[_rolled_counts(of, found, one) for one in leaves.histograms], layout=layout, above=a,
            entry_of=of, base=leaves,
        )  # fmt: skip


def _rolled_counts(entry_of: np.ndarray, entries: int, counts: Counts) -> Counts:
    """Counts of entries that combinations are rolled up to."""
    flags = np.zeros(int(counts[1].max(initial=-1)) + 1, dtype=np.uint8)
    indptr, codes, numbers, _ = class_histograms(entry_of, entries, counts, flags, _NONE, _NONE)
    return owners(indptr), codes, numbers


def owners(indptr: np.ndarray) -> np.ndarray:
    """Whose each entry of compressed rows is."""
    return np.repeat(np.arange(indptr.size - 1, dtype=np.int32), np.diff(indptr))


def _room(leaves: Rolled, found: int) -> int:
    """Bytes that a table takes at most that is rolled up to so many entries."""
    entry = 4 * (int(leaves.layout.row_at[-1]) + 2 * len(leaves.leaf)) + 8
    counted = sum(array.nbytes for one in leaves.histograms for array in one)
    return found * entry + (leaves.weight.size + found) * 16 + counted
