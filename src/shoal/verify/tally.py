"""What a fold over batches of rows remembers: distinct rows, numbered as they first came, and how often they came.

Numbers do not depend on where one batch ends and the next begins, so that nothing that is found by them does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from shoal.verify.values import Coded, Held, add_counts, canonical, count_rows, encode, group_rows, in_order, key_runs

# ----------------------------------------
# Combinations of whole numbers, each as one number, counted in twelve bytes a combination.
#
# They are kept apart by their first number, a class, so that no more than the combinations of some classes are ever
# put in order at once. Frames that are grouped and merged take two fifths more memory for 10 million combinations.


# Bits of a word for the first number, as far as it does not say where a combination is kept, and for all others.
_FIRST, _OTHERS = 16, 47
# Combinations that came since are put in order with those before when they are so many, and then half as many again.
_PACKED_ROWS = 1 << 12

Piece = tuple[np.ndarray, np.ndarray]


class Packed:
    """How often each combination of some columns of whole numbers from 0 on occurred."""

    def __init__(self) -> None:
        self._names: list[str] = []
        # By the high bits of the first number: combinations in ascending order with their rows, and what came since.
        self._pieces: dict[int, list[Piece]] = {}

    @staticmethod
    def fits(columns: Mapping[str, np.ndarray]) -> bool:
        """Whether each of some numbers has its place in a word; what is below 0 has none."""
        first, *others = columns.values()
        small = all(int(column.max(initial=0)) < 1 << _width(len(others)) for column in others)
        small = small and int(first.max(initial=0)) < 1 << 63
        return small and all(int(column.min(initial=0)) >= 0 for column in columns.values())

    @property
    def size(self) -> int:
        """How many combinations are kept, some of them perhaps more than once."""
        return sum(keys.size for pieces in self._pieces.values() for keys, _ in pieces)

    def see(self, columns: Mapping[str, np.ndarray]) -> None:
        """Count rows."""
        self._names = list(columns)
        first, *others = columns.values()
        keys = first.astype(np.int64) & ((1 << _FIRST) - 1)
        for column in others:
            keys = keys << _width(len(others)) | column.astype(np.int64)
        for at, mine in _by_place(first.astype(np.int64) >> _FIRST):
            found, rows = np.unique(keys[mine], return_counts=True)
            pieces = self._pieces.setdefault(at, [])
            pieces.append((found, _narrow(rows)))
            came = sum(more.size for more, _ in pieces[1:])
            if came > max(_PACKED_ROWS, pieces[0][0].size // 2):
                self._pieces[at] = [_merged(pieces)]

    def taken(self) -> pl.DataFrame:
        """The combinations in ascending order, and the ``rows`` of each; nothing is kept of them here."""
        for at, pieces in self._pieces.items():
            self._pieces[at] = [_merged(pieces)]
        total, others, at = self.size, len(self._names) - 1, 0
        found = {name: np.empty(total, dtype=np.int64) for name in (*self._names, "rows")}
        width = _width(others)
        for place in sorted(self._pieces):
            ((keys, counts),) = self._pieces.pop(place)
            part = slice(at, at + keys.size)
            for name in reversed(self._names[1:]):
                found[name][part] = keys & ((1 << width) - 1)
                keys = keys >> width
            found[self._names[0]][part] = keys | place << _FIRST
            found["rows"][part] = counts
            at += keys.size
        return pl.DataFrame(found)


def _width(others: int) -> int:
    return _OTHERS // max(others, 1)


def _by_place(place: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Each of the different places, and where it stands."""
    # Short numbers are put in order in one go over them.
    order = np.argsort(place.astype(np.uint16) if place.max(initial=0) < 1 << 16 else place, kind="stable")
    for mine in np.split(order, key_runs(place[order])[1:]) if order.size else ():
        yield int(place[mine[0]]), mine


def _merged(pieces: list[Piece]) -> Piece:
    """Several pieces as one."""
    if len(pieces) == 1:
        return pieces[0]
    keys = np.concatenate([keys for keys, _ in pieces])
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    first = key_runs(keys)
    counts = np.concatenate([counts for _, counts in pieces])[order]
    rows = np.add.reduceat(counts, first, dtype=np.int64)
    return keys[first], _narrow(rows)


def _narrow(rows: np.ndarray) -> np.ndarray:
    return rows.astype(np.uint32) if rows.max(initial=0) < 1 << 32 else rows


# ----------------------------------------
# Different rows that come bit by bit, found again by their hashes and compared.
#
# All hashes are kept in one ascending array, into which those of new rows are put. Joining each batch with all rows
# known so far is plainer, and takes half as much memory again and twice the time: 6 million texts, of 10 million rows.


# Besides those of lists and records, types that are left to a join.
_UNHASHED = (pl.Categorical, pl.Enum, pl.Decimal, pl.Object, pl.Null)
# Parts of a table that are put into one when there are so many.
_CHUNKS = 32


class Seen:
    """Different rows in the order in which they came, by exact equality; null equals null."""

    def __init__(self) -> None:
        self.rows = pl.DataFrame()
        # Hashes of the rows whose schema can be hashed, in ascending order, and where each row stands.
        self._hashes, self._places = np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.uint32)
        self._hashed = True

    @property
    def count(self) -> int:
        """How many there are."""
        return self.rows.height

    def add(self, rows: pl.DataFrame) -> None:
        """Take in rows that differ from each other and from those before."""
        if not rows.height:
            self.rows = self.rows if self.count else rows
            return
        if self._hashed and rows.width and all(map(_has_hash, rows.dtypes)):
            hashes = rows.hash_rows().to_numpy()
            order = np.argsort(hashes, kind="stable")
            at = np.searchsorted(self._hashes, hashes[order])
            self._hashes = np.insert(self._hashes, at, hashes[order])
            self._places = np.insert(self._places, at, (order + self.count).astype(np.uint32))
        else:
            self._hashed = False
        self.rows = pl.concat([self.rows, rows], rechunk=self.rows.n_chunks() > _CHUNKS) if self.count else rows

    def find(self, wanted: pl.DataFrame) -> np.ndarray:
        """int64 place of each row, -1 for one that is none of them."""
        if not self.count:
            return np.full(wanted.height, -1, dtype=np.int64)
        if self._hashed and self.rows.schema == wanted.schema:
            found = self._looked_up(wanted)
            if found is not None:
                return found
            self._hashed = False  # two rows of one hash
        known = self.rows.with_row_index("\x00")
        joined = wanted.join(known, on=wanted.columns, how="left", nulls_equal=True, maintain_order="left")["\x00"]
        return joined.cast(pl.Int64).fill_null(-1).to_numpy().copy()

    def _looked_up(self, wanted: pl.DataFrame) -> np.ndarray | None:
        """The same by hashes; None where two different rows have one."""
        found = np.full(wanted.height, -1, dtype=np.int64)
        hashes = wanted.hash_rows().to_numpy()
        order = np.argsort(hashes)
        hashes = hashes[order]
        at = np.minimum(np.searchsorted(self._hashes, hashes), self._hashes.size - 1)
        hits = np.flatnonzero(self._hashes[at] == hashes)
        places, mine = self._places[at[hits]], order[hits]
        if not _same(self.rows[places], wanted[mine]):
            return None
        found[mine] = places
        return found


def _has_hash(kind: pl.DataType) -> bool:
    """Whether equal cells of a type are known to have one hash."""
    return not kind.is_nested() and not isinstance(kind, _UNHASHED)


def _same(left: pl.DataFrame, right: pl.DataFrame) -> bool:
    return all(left[name].eq_missing(right[name]).all() for name in left.columns)


# Rows that are looked at in one go, of a table that is in memory.
BATCH = 1 << 18
# Parts are put together when there are so many rows of them, and then when there are thrice as many as were left.
_TALLIED_ROWS = 1 << 18


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
        self._room = _TALLIED_ROWS
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
            self._room = max(_TALLIED_ROWS, 3 * self.counted().height)

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
