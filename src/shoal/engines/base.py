"""What an engine must do: count, and nothing else."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from shoal.table.stats import GroupCounter
from shoal.table.table import Table


class Engine(GroupCounter, Protocol):
    """Counts groups of a table's rows."""

    def frequency(self, table: Table) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Group rows that agree on every quasi-identifier: ids, first row and size of each group."""
        ...
