"""What an engine must do: open a table, and count its rows for whoever asks."""

from __future__ import annotations

from typing import Protocol

from shoal.table.rows import Rows
from shoal.table.table import Table


class Engine(Protocol):
    """Where the rows of a table are counted."""

    def open(self, table: Table) -> Rows:
        """The table's rows, ready to be counted."""
        ...
