"""A batch of a table whose different cells are found once, for all that look at them."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
import polars as pl

from shoal.verify.keys import as_they_come
from shoal.verify.values import encode, is_text, number_texts

# Texts that come so often are looked at by the different ones.
_REPEATED = 8


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
        mine = self.codes[rows]
        codes, first = as_they_come(mine)
        return Held(codes, self.distinct.gather(mine[first]))


def plain(frame: pl.DataFrame) -> pl.DataFrame:
    """A frame with all texts one by one, whether they were kept as numbers of the different ones or not."""
    kept = [name for name, kind in frame.schema.items() if is_text(kind) and kind != pl.String]
    return frame.with_columns(pl.col(kept).cast(pl.String)) if kept else frame


def numbered(frame: pl.DataFrame) -> pl.DataFrame:
    """A frame whose texts are kept as numbers where they repeat, for whoever takes its rows in another order."""
    found = []
    for column in frame.get_columns():
        if column.dtype == pl.String:
            kept = number_texts(column)
            most = kept.to_physical().max()
            column = kept if most is not None and _REPEATED * most < len(column) else column  # type: ignore[operator]
        found.append(column)
    return pl.DataFrame(found)


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

    @classmethod
    def of(cls, rows: pl.DataFrame | Coded) -> Coded:
        """Rows of a table; what somebody has looked up already stays so."""
        return rows if isinstance(rows, Coded) else cls(rows)

    @classmethod
    def known(cls, frame: pl.DataFrame, before: Coded | None) -> Coded:
        """A frame, and what was looked up of it before, if that is of this very frame."""
        return before if before is not None and before.frame is frame else cls(frame)

    def look_up(self) -> None:
        """Find what every column holds."""
        for name in self.frame.columns:
            self[name]

    def __getitem__(self, name: str) -> Held:
        if name not in self._held:
            self._held[name] = Held(*encode(self.frame[name]))
        return self._held[name]

    def take_over(self, name: str, same: pl.Series) -> None:
        """Look a column up in one that was found to have the same cells, and holds texts as numbers."""
        self._held[name] = Held(*encode(same.alias(name)))

    @property
    def texts(self) -> list[str]:
        """The columns of texts."""
        return [name for name, kind in self.frame.schema.items() if is_text(kind)]

    @cached_property
    def plain(self) -> pl.DataFrame:
        """The rows, with all texts one by one."""
        return plain(self.frame)

    def select(self, names: list[str]) -> Coded:
        """The same with these columns only."""
        found = Coded(self.frame.select(names))
        found._held = self._held
        return found
