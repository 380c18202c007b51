"""A batch of a table whose different cells are found once, for all that look at them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from shoal.verify.values import encode


class Held(NamedTuple):
    """What a column of a batch holds.

    Attributes
    ----------
    codes
        For each row, the position of its cell in ``distinct``.
    distinct
        Different cells in the order in which they first came; null is one of them.
    """

    codes: np.ndarray
    distinct: pl.Series

    @property
    def rows(self) -> np.ndarray:
        """How many rows have each cell."""
        return np.bincount(self.codes, minlength=len(self.distinct))

    def read(self, texts: pl.Series) -> Held:
        """The same with another text for each cell; cells of one text are one, and null is a text too."""
        merged, found = encode(texts)
        return Held(self.codes if len(found) == len(texts) else merged[self.codes], found)

    def of(self, rows: np.ndarray) -> Held:
        """Some rows, with their own cells only."""
        if len(rows) == len(self.codes):
            return self
        codes, place = encode(pl.Series(self.codes[rows]))
        return Held(codes, self.distinct.gather(place))


class Coded:
    """Rows of a table, and what each column holds, looked up when it is first asked for.

    Attributes
    ----------
    frame
        The rows.
    """

    def __init__(self, frame: pl.DataFrame) -> None:
        self.frame = frame
        self._held: dict[str, Held] = {}

    def __getitem__(self, name: str) -> Held:
        if name not in self._held:
            self._held[name] = Held(*encode(self.frame[name]))
        return self._held[name]

    def select(self, names: list[str]) -> Coded:
        """The same with these columns only."""
        found = Coded(self.frame.select(names))
        found._held = self._held
        return found
