"""Equivalence classes: rows whose released quasi-identifier cells are equal, and digests of them.

Only the released cells decide, never a group number from an algorithm. Rows suppressed by ``*`` in every
column are in no class.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from shoal.verify.coverage import cell_texts
from shoal.verify.manifest_schema import Claims
from shoal.verify.tally import Numbering
from shoal.verify.values import MISSING, STAR, Coded, Held, canonical, distinct, encode, group_rows, is_text, plain

# Of a whole number, those that hold what is packed into it.
_BITS = 63
# Classes whose cells are written in one go.
_KEYS = 1 << 14
# Counts of values in classes that are written in one go.
_ENTRIES = 1 << 18


@dataclass(frozen=True, eq=False)
class Classes:
    """The classes of a release.

    Attributes
    ----------
    names
        Quasi-identifier names.
    sizes
        Rows in each class.
    cells
        For each quasi-identifier, the code of each class's cell and the distinct cell texts.
    """

    names: Sequence[str]
    sizes: np.ndarray
    cells: dict[str, tuple[np.ndarray, pl.Series]]

    @property
    def count(self) -> int:
        """Number of classes."""
        return len(self.sizes)

    @property
    def smallest(self) -> int:
        """Rows in the smallest class, 0 when there is none."""
        return int(self.sizes.min()) if self.count else 0


@dataclass(frozen=True, eq=False)
class Look:
    """How a release is looked at.

    Attributes
    ----------
    quasi
        Rows that look the same by their quasi-identifiers.
    judged
        The classes that models judge: the same, but for a bucketised release, whose groups are its classes.
    pinned
        The classes whose cells the digest in the manifest is of: groups together with their quasi-identifiers where
        there are groups.
    sets
        Rows that look the same by the quasi-identifiers of each set, where there are several.
    """

    quasi: Classes
    judged: Classes
    pinned: Classes
    sets: Sequence[Classes] = ()

    @property
    def asked(self) -> Sequence[Classes]:
        """The classes that models are asked of: those of every set of quasi-identifiers, where there are several."""
        return self.sets or [self.judged]


@dataclass(frozen=True, eq=False)
class Placed:
    """The rows of a batch that are in a class.

    Attributes
    ----------
    rows
        Their positions in the batch, ascending.
    of_row
        The class of each.
    cells
        For each quasi-identifier, the code of each row's cell and the batch's distinct cell texts.
    sets
        The same rows in the classes of each set of quasi-identifiers, where there are several.
    """

    rows: np.ndarray
    of_row: np.ndarray
    cells: dict[str, tuple[np.ndarray, pl.Series]]
    sets: Sequence[Placed] = ()

    @property
    def asked(self) -> Sequence[Placed]:
        """The same rows in the classes that models are asked of."""
        return self.sets or [self]


class Grouping:
    """Classes by equal texts, found batch by batch."""

    def __init__(self, names: Sequence[str]) -> None:
        self._texts = {name: Numbering() for name in names}
        # Of each class, the number of its text in each column.
        self._numbers = [np.zeros(0, dtype=np.int32) for _ in names]
        self._sizes = np.zeros(0, dtype=np.int64)

    def see(self, texts: Sequence[Held], rows: np.ndarray) -> Placed:
        """Place some rows of a batch by its texts. Without any column nobody can tell rows apart: one class."""
        of_row, cells = np.zeros(len(rows), dtype=np.int64), {}
        if self._texts:
            held = dict(zip(self._texts, (one.of(rows) for one in texts), strict=True))
            numbers = [
                known.see(held[name].distinct.to_frame("text")).codes.astype(np.int32)[held[name].codes]
                for name, known in self._texts.items()
            ]
            of_row = self._number(numbers)
            cells = {name: (one.codes, one.distinct) for name, one in held.items()}
        count = max(len(self._sizes), int(of_row.max(initial=-1)) + 1)
        sizes = np.bincount(of_row, minlength=count)
        sizes[: len(self._sizes)] += self._sizes
        self._sizes = sizes
        return Placed(rows, of_row, cells)

    def _number(self, numbers: list[np.ndarray]) -> np.ndarray:
        """The class of each row, new ones numbered as they come."""
        counts = [known.count for known in self._texts.values()]
        place, first = group_rows(packed(numbers, counts))
        own = [column[first] for column in numbers]
        known = packed(self._numbers, counts).with_row_index("\x00")
        keys = packed(own, counts)
        found = keys.join(known, on=keys.columns, how="left", maintain_order="left")["\x00"].cast(pl.Int64)
        number = found.fill_null(-1).to_numpy().copy()
        new = np.flatnonzero(number < 0)
        number[new] = known.height + np.arange(len(new))
        self._numbers = [np.concatenate([old, more[new]]) for old, more in zip(self._numbers, own, strict=True)]
        return number[place]

    def classes(self) -> Classes:
        """All classes seen."""
        texts = [known.rows["text"] if known.count else pl.Series(dtype=pl.String) for known in self._texts.values()]
        cells = dict(zip(self._texts, zip(self._numbers, texts, strict=True), strict=True))
        return Classes(names=list(self._texts), sizes=self._sizes, cells=cells)


def packed(numbers: Sequence[np.ndarray], counts: Sequence[int]) -> pl.DataFrame:
    """Rows of numbers below ``counts`` as few whole numbers, the same exactly where the rows are."""
    words: list[np.ndarray] = []
    free = 0
    for column, count in zip(numbers, counts, strict=True):
        bits = max(count - 1, 0).bit_length()
        if bits > free or not words:
            words.append(np.zeros(len(column), dtype=np.int64))
            free = _BITS
        words[-1] = words[-1] << bits | column
        free -= bits
    return pl.DataFrame({str(place): word for place, word in enumerate(words)})


class Looking:
    """The classes of a release in one table or two, found batch by batch; the first batch may be empty."""

    def __init__(self, claims: Claims) -> None:
        self._claims = claims
        names = [column.name for column in claims.role("quasi")]
        self._quasi = Grouping(names)
        self._sets = [Grouping(one) for one in claims.sets]
        if claims.group is not None:
            self._groups, self._pinned = Grouping([claims.group]), Grouping([claims.group, *names])

    def see(self, batch: Coded) -> Placed:
        """Place the rows of a batch of the release by their quasi-identifiers."""
        claims, rows = self._claims, np.arange(batch.frame.height)
        cells = self._cells(batch)
        if claims.group is not None:
            self._pinned.see([_values(batch[claims.group], "numeric"), *cells], rows)
        if claims.suppressed == "star":
            rows = np.flatnonzero(~starred(batch.frame.select(claims.files)))
        held = dict(zip((column.name for column in claims.role("quasi")), cells, strict=True))
        sets = [
            mine.see([held[name] for name in names], rows)
            for mine, names in zip(self._sets, claims.sets, strict=True)
        ]
        return replace(self._quasi.see(cells, rows), sets=sets)

    def see_groups(self, batch: Coded) -> Placed:
        """Place the rows of a batch of the table that holds sensitive values by their group."""
        return self._groups.see([_values(batch[self._claims.group or ""], "numeric")], np.arange(batch.frame.height))

    def look(self) -> Look:
        """The classes of all batches."""
        quasi = self._quasi.classes()
        if self._claims.group is None:
            return Look(quasi, quasi, quasi, [mine.classes() for mine in self._sets])
        return Look(quasi, self._groups.classes(), self._pinned.classes())

    def _cells(self, batch: Coded) -> list[Held]:
        """What stands in the quasi-identifiers, as texts: generalised cells, or values as they are."""
        columns = self._claims.role("quasi")
        if self._claims.made != "generalised":
            return [_values(batch[column.name], column.type) for column in columns]
        return [
            Held(*encode(cell_texts(batch.frame, column)))
            if column.cells == "bounds"
            else (one := batch[column.files[0]]).read(cell_texts(one.distinct.to_frame(column.files[0]), column))
            for column in columns
        ]


def _values(held: Held, kind: str) -> Held:
    """What stands in a column as values are read, one text each whatever the file's format."""
    return held.read(canonical(held.distinct, kind)[0].fill_null(MISSING))


def starred(frame: pl.DataFrame) -> np.ndarray:
    """Rows that hold ``*`` in every column. A column that is not text can hold no ``*``."""
    if not frame.width or not all(is_text(kind) for kind in frame.dtypes):
        return np.zeros(frame.height, dtype=bool)
    return plain(frame).select(pl.all_horizontal((pl.all() == STAR).fill_null(False))).to_series().to_numpy()


@dataclass(frozen=True, eq=False)
class Order:
    """Classes in the order of their cell texts, which no row order can change."""

    rank: np.ndarray
    digest: str


def order_classes(classes: Classes) -> Order:
    """Sort the classes by cells; the digest is over column names, cells and sizes.

    Every text is written with its length before it, so that no two different tables give the same bytes.
    """
    cells = [(codes, _prefixed(texts)) for codes, texts in classes.cells.values()]
    # No text with its length before it begins another one, so that classes are in order where the places of texts are.
    places = packed([_ranks(texts)[codes] for codes, texts in cells], [len(texts) for _, texts in cells])
    by_key = places.select(pl.arg_sort_by(places.columns)).to_series().to_numpy() if cells else np.arange(classes.count)
    rank = np.empty(classes.count, dtype=np.int64)
    rank[by_key] = np.arange(classes.count)
    header = _joined(_prefixed(pl.Series(classes.names, dtype=pl.String)))
    size = sum(int(texts.str.len_bytes().gather(codes).sum() or 0) for codes, texts in cells)
    digest = hashlib.sha256(_sized(header) + (size + max(classes.count - 1, 0)).to_bytes(8, "little"))
    for start in range(0, classes.count, _KEYS):
        some = by_key[start : start + _KEYS]
        parts = [texts.gather(codes[some]).alias(str(place)) for place, (codes, texts) in enumerate(cells)]
        keys = pl.select(pl.concat_str(parts)) if cells else pl.DataFrame({"": [""] * len(some)})
        digest.update((b"\n" if start else b"") + _joined(keys.to_series()))
    digest.update(_sized(_integers(classes.sizes[by_key])))
    return Order(rank=rank, digest=digest.hexdigest())


def _ranks(texts: pl.Series) -> np.ndarray:
    """The place of each of some different texts among them in order."""
    found = np.empty(len(texts), dtype=np.int64)
    found[texts.arg_sort().to_numpy()] = np.arange(len(texts))
    return found


def digest_values(
    order: Order, group: np.ndarray, value: np.ndarray, count: np.ndarray, texts: pl.Series
) -> str:
    """Digest of how often each value occurs in each class, given sparse counts.

    Classes are named by their rank, which the digest of the cells pins down, and values by their rank among
    the texts that occur.
    """
    used = distinct(value)
    marked = texts.gather(used)
    marked = pl.select(
        pl.when(marked.is_null()).then(pl.lit("-")).otherwise(pl.lit("=") + marked)
    ).to_series()
    by_text = marked.arg_sort().to_numpy()
    rank = np.empty(len(texts), dtype=np.int64)
    rank[used[by_text]] = np.arange(len(used))
    place = order.rank[group] * len(used) + rank[value]
    by_place = np.argsort(place)
    head = (order.digest.encode(), _joined(_prefixed(marked.gather(by_text))))
    digest = hashlib.sha256(b"".join(map(_sized, head)) + (16 * len(place)).to_bytes(8, "little"))
    for start in range(0, len(place), _ENTRIES):
        some = by_place[start : start + _ENTRIES]
        digest.update(_integers(np.stack([place[some], count[some]], axis=1)))
    return digest.hexdigest()


def _prefixed(texts: pl.Series) -> pl.Series:
    return pl.select(pl.lit(texts).str.len_bytes().cast(pl.String) + ":" + pl.lit(texts)).to_series()


def _joined(texts: pl.Series) -> bytes:
    return texts.str.join("\n").item().encode()


def _integers(values: np.ndarray) -> bytes:
    return np.ascontiguousarray(values, dtype="<i8").tobytes()


def _sized(part: bytes) -> bytes:
    """Bytes with their number before them."""
    return len(part).to_bytes(8, "little") + part
