"""Whether the rows of a table that would be published name anybody: their own owners, and anybody else."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import polars as pl

from shoal.verify.coded import Coded
from shoal.verify.hidden import Hidden
from shoal.verify.identifiers import OwnIdentifiers
from shoal.verify.strangers import FreeText, Names
from shoal.verify.types import Check


class Named:
    """One table, looked at batch by batch.

    Parameters
    ----------
    read
        Columns that are published as they were read: they hold no words of names, and no text that could say anything.
    """

    def __init__(self, hidden: Hidden, read: Sequence[str]) -> None:
        self._own, self._names, self._texts = OwnIdentifiers(hidden), Names(hidden), FreeText()
        self._read = read

    def see(self, batch: Coded, hidden: Sequence[pl.Series]) -> None:
        """Look at a batch, and at what is hidden of its rows."""
        self._own.see(batch, hidden)
        read = batch.select([name for name in self._read if name in batch.frame.columns])
        self._names.see(read, hidden)
        self._texts.see(read)

    def own(self) -> Check:
        """What was found of the rows' own identifiers."""
        return self._own.check()

    def read(self, accepted: Collection[str]) -> list[Check]:
        """What was found in columns that are published as they were read."""
        return [*self._names.checks(accepted), *self._texts.checks(accepted)]
