"""The engine of this process: compiled kernels over the coded columns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from shoal.kernels.count.grouping import group_rows, pack_keys
from shoal.table.classmap import Cells, ClassMap, RowIds
from shoal.table.counting import count_groups
from shoal.table.domain import Domain, Joint
from shoal.table.rows import Frequency
from shoal.table.stats import Attribute, GroupStats
from shoal.table.table import Table, part_of


class MemoryEngine:
    """Opens tables that are in memory already."""

    def open(self, table: Table) -> MemoryRows:
        """The table's coded arrays."""
        return MemoryRows(table)


class MemoryRows:
    """A table's coded arrays, counted by counting sort and compressed histograms; O(rows) a call."""

    def __init__(self, table: Table) -> None:
        self.table = table

    @property
    def domain(self) -> Domain:
        """Roles, dictionaries and counts."""
        return self.table.domain

    def joined(self, names: tuple[str, ...]) -> Joint:
        """The dictionary of a tuple of columns."""
        return self.table.joined(names)

    def frequency(self, attributes: Sequence[Attribute]) -> Frequency:
        """Distinct combinations of quasi-identifier codes with weights and histograms."""
        of, codes, counts = self._cells
        stats = self.stats(Cells(np.arange(counts.size, dtype=np.int32), counts.size), attributes) if (
            attributes or self.domain.by_people
        ) else GroupStats(sizes=counts, rows=counts, histograms={})
        return Frequency(codes=codes, rows=counts, sizes=stats.sizes, histograms=dict(stats.histograms))

    def stats(self, classes: ClassMap, attributes: Sequence[Attribute]) -> GroupStats:
        """Sizes and histograms of classes."""
        return count_groups(self.table, self.ids(classes), classes.groups, attributes)

    def ids(self, classes: ClassMap) -> np.ndarray:
        """int32 class of every row, negative for none: what only rows in memory can tell."""
        if isinstance(classes, RowIds):
            return classes.ids
        if isinstance(classes, Cells):
            return classes.of[self._cells[0]]
        return np.zeros(self.table.n, dtype=np.int32)

    def part(self, rows: np.ndarray, attributes: Sequence[Attribute]) -> MemoryRows:
        """Some of the rows, in which tuples of columns are coded as in the whole."""
        return MemoryRows(part_of(self.table, rows, attributes))

    @cached_property
    def _cells(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Cell of every row, codes and rows of every cell, in ascending order of the codes."""
        cards = np.array([column.card for column in self.table.quasi])
        ids, first, counts = group_rows(self.table.quasi_codes, cards)
        codes = self.table.quasi_codes[:, first]
        # Keys in mixed radix sort as the codes themselves do, where they fit.
        fits = np.prod(cards.astype(float)) < 2.0**63
        order = np.argsort(pack_keys(codes, cards)) if fits else np.lexsort(codes[::-1])
        place = np.empty(order.size, dtype=np.int32)
        place[order] = np.arange(order.size, dtype=np.int32)
        return place[ids], np.ascontiguousarray(codes[:, order]), counts[order].astype(np.int64)
