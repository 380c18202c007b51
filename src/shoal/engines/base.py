"""What an engine must do: open a table, and count its rows for whoever asks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Protocol, runtime_checkable

import polars as pl

from shoal.data.rows import Rows
from shoal.data.table import Table


class Engine(Protocol):
    """Where the rows of a table are counted."""

    def open(self, table: Table) -> Rows:
        """The table's rows, ready to be counted."""
        ...


@runtime_checkable
class Keeping(Protocol):
    """Where rows come from, and a release can go to as a table."""

    def write(
        self, frames: Iterable[pl.DataFrame], types: Sequence[pl.DataType], unchanged: Collection[str], comment: str
    ) -> int:
        """Write the table that the source was opened with, for nobody to see yet; gives how many rows it has."""
        ...

    def commit(self) -> None:
        """Let everybody see it."""
        ...
