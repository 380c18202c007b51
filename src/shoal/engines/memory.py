"""The engine of this process: compiled kernels over the coded columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoal.kernels.count.grouping import group_rows
from shoal.table.counting import count_groups
from shoal.table.stats import Attribute, GroupStats
from shoal.table.table import Table


class MemoryEngine:
    """Group statistics by counting sort and compressed histograms; O(rows) a call."""

    def frequency(self, table: Table) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Group rows that agree on every quasi-identifier: ids, first row and size of each group."""
        return group_rows(table.quasi_codes, np.array([column.card for column in table.quasi]))

    def group_stats(
        self, table: Table, ids: np.ndarray, groups: int, attributes: Sequence[Attribute]
    ) -> GroupStats:
        """Sizes and histograms of rows grouped by ``ids`` (negative: in no group)."""
        return count_groups(table, ids, groups, attributes)
