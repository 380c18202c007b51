"""What a fold over batches of rows remembers: distinct rows, numbered as they first came, and how often they came.

Numbers do not depend on where one batch ends and the next begins, so that nothing that is found by them does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from shoal.verify.coded import Coded, Held
from shoal.verify.keys import add_counts, count_rows, in_order
from shoal.verify.packed import Packed
from shoal.verify.seen import Seen
from shoal.verify.values import canonical, encode, group_rows

# Rows that are looked at in one go, of a table that is in memory.
BATCH = 1 << 18
# Parts are put together when there are so many rows of them, and then when there are thrice as many as were left.
_ROOM = 1 << 18


@dataclass(frozen=True, eq=False)
class Numbered:
    """The rows of one batch: for each its number among all rows seen, and its place in the batch's own distinct rows.

    ``number`` gives the number of each of the ``distinct`` rows of the batch, ``place`` the one that a row is.
    """

    number: np.ndarray
    place: np.ndarray
    distinct: pl.DataFrame

    @property
    def codes(self) -> np.ndarray:
        """The number of each row."""
        return self.number[self.place]


class Numbering:
    """Distinct rows of all frames seen, by exact equality; null equals null."""

    def __init__(self) -> None:
        self._seen = Seen()

    @property
    def count(self) -> int:
        """How many there are."""
        return self._seen.count

    @property
    def rows(self) -> pl.DataFrame:
        """The distinct rows, in the order of their numbers."""
        return self._seen.rows

    def see(self, frame: pl.DataFrame) -> Numbered:
        """Number the rows of a frame that has the columns of those before."""
        place, first = group_rows(frame)
        distinct = frame[first]
        number = self.find(distinct)
        new = np.flatnonzero(number < 0)
        number[new] = self.count + np.arange(len(new))
        self._seen.add(distinct if len(new) == distinct.height else distinct[new])
        return Numbered(number, place, distinct)

    def find(self, frame: pl.DataFrame) -> np.ndarray:
        """The number of each row, -1 for one that was never seen."""
        return self._seen.find(frame)


class Dictionary:
    """Distinct canonical values of a column of type ``kind``, numbered as they first came.

    Attributes
    ----------
    kind
        Numeric, date, ordinal or categorical.
    numbers
        The number behind each text, nan where there is none.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.numbers = np.zeros(0)
        self._texts = Numbering()

    @property
    def texts(self) -> pl.Series:
        """The texts, null for missing."""
        return self._texts.rows["text"] if self._texts.count else pl.Series([], dtype=pl.String)

    def see(self, column: pl.Series) -> np.ndarray:
        """The code of each row."""
        return self.see_held(Held(*encode(column)))

    def see_held(self, held: Held) -> np.ndarray:
        """The same, given what the column holds."""
        texts, numbers = canonical(held.distinct, self.kind)
        before = self._texts.count
        codes = self._texts.see(texts.to_frame("text")).codes
        self.numbers = np.concatenate([self.numbers, np.full(self._texts.count - before, np.nan)])
        self.numbers[codes] = numbers
        return codes[held.codes]


class Counts:
    """How often each combination of some columns occurred."""

    def __init__(self) -> None:
        self._parts: list[pl.DataFrame] = []
        self._room = _ROOM
        self._total: pl.DataFrame | None = None
        # Whole numbers, as long as those of a row fit into one.
        self._packed: Packed | None = None

    def see(self, frame: pl.DataFrame) -> None:
        """Count the rows of a frame that has the columns of those before."""
        self.add(count_rows(frame))

    def see_numbers(self, columns: Mapping[str, np.ndarray]) -> None:
        """The same of columns of whole numbers from 0 on, of which each combination takes few bytes."""
        if not Packed.fits(columns):
            self.see(pl.DataFrame({name: column.astype(np.int64) for name, column in columns.items()}))
            return
        self._total = None
        if self._packed is None:
            self._packed = Packed()
        self._packed.see(columns)

    def add(self, counted: pl.DataFrame) -> None:
        """Count combinations, each given once, with its ``rows`` in the last column."""
        self._total = None
        self._parts.append(counted.with_columns(pl.col("rows").cast(pl.Int64)))
        if self.size > self._room:
            self._room = max(_ROOM, 3 * self.counted().height)

    @property
    def size(self) -> int:
        """How many combinations are kept, some of them perhaps more than once."""
        return sum(part.height for part in self._parts) + (0 if self._packed is None else self._packed.size)

    def total(self) -> pl.DataFrame:
        """The combinations in ascending order, and the ``rows`` of each."""
        if self._total is None:
            merged = self.counted()
            self._total = in_order(merged) if merged.width else merged
        return self._total

    def counted(self) -> pl.DataFrame:
        """The same in no order."""
        if self._packed is not None:
            packed, self._packed = self._packed, None
            self._parts.append(packed.taken())
        if len(self._parts) > 1:
            self._parts = [add_counts(pl.concat(self._parts))]
        return self._parts[0] if self._parts else pl.DataFrame()


class Standing:
    """What stands in a table: its columns, how many rows it has, and the different cells of each column of texts."""

    def __init__(self) -> None:
        self.columns: list[str] | None = None
        self.rows = 0
        self._cells: dict[str, Numbering] = {}

    def see(self, batch: Coded) -> None:
        """Look at a batch."""
        self.columns = batch.frame.columns
        self.rows += batch.frame.height
        for name in batch.texts:
            self._cells.setdefault(name, Numbering()).see(batch[name].distinct.to_frame())

    @property
    def cells(self) -> dict[str, pl.Series]:
        """The different cells, by column."""
        return {name: found.rows[name] for name, found in self._cells.items()}
