"""What an engine must do: count, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from shoal.table.stats import Attribute, GroupStats
from shoal.table.table import Table


class Engine(Protocol):
    """Counts groups of a table's rows."""

    def frequency(self, table: Table) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Group rows that agree on every quasi-identifier: ids, first row and size of each group."""
        ...

    def group_stats(
        self, table: Table, ids: np.ndarray, groups: int, attributes: Sequence[Attribute]
    ) -> GroupStats:
        """Sizes and histograms of rows grouped by ``ids`` (negative: in no group)."""
        ...
