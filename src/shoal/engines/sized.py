"""How much memory a run takes of rows that are kept elsewhere, as measured, and whether it has as much."""

from __future__ import annotations

import math
from bisect import bisect_right

from shoal.engines.counted import CountedRows

# What is left of a run's memory to kernels, and bytes that they take of a cell and of a row.
_KERNELS, _CELL, _ROW = 0.35, 24, 64
# Bytes of a combination and a value that occurs with it, while those of some combinations are put together.
_PAIR = 24
# Bytes that the gate holds of a different value of an identifier, and of a person with rows of their own.
_NAME, _PERSON = 280, 670


class SizedRows(CountedRows):
    """Rows that a database counts, and what is needed for them."""

    def most(self, memory: int) -> int:
        """Rows whose records can be grouped in so many bytes."""
        return max(int(memory * _KERNELS) // self._bytes, 1)

    def needed(self, rows: int) -> float:
        """Bytes in which so many rows can be grouped."""
        return rows * self._bytes / _KERNELS

    def most_cells(self, memory: int) -> int:
        """Combinations of quasi-identifiers that can be searched in so many bytes."""
        most = bisect_right(range(self.domain.n + 1), memory, key=lambda cells: math.ceil(self.cells_needed(cells)))
        return max(most - 1, 1)

    def cells_needed(self, cells: int) -> float:
        """Bytes in which so many combinations can be searched, with the values that occur with them."""
        words = 2 * (8 * len(self.packing.words) + 4 * len(self.domain.quasi) + 24)
        pairs = sum(min(self.domain.n, cells * column.card) for column in self.domain.sensitive)
        return (cells * words + _PAIR * pairs) / _KERNELS

    def people_needed(self, names: int) -> int:
        """Bytes in which the gate can look for so many different identifiers, and for everybody."""
        return names * _NAME + (self.domain.n_subjects * _PERSON if self.domain.by_people else 0)

    @property
    def _bytes(self) -> int:
        return _CELL * len(self.places) + _ROW
