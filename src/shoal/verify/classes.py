"""Equivalence classes: rows whose released quasi-identifier cells are equal, and digests of them.

Only the released cells decide, never a group number from an algorithm. Rows suppressed by ``*`` in every
column are in no class.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from shoal.verify.claims import Claims
from shoal.verify.styles import cell_texts, value_texts
from shoal.verify.tally import Numbering
from shoal.verify.values import STAR, distinct, encode


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
    """

    quasi: Classes
    judged: Classes
    pinned: Classes


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
    """

    rows: np.ndarray
    of_row: np.ndarray
    cells: dict[str, tuple[np.ndarray, pl.Series]]


class Grouping:
    """Classes by equal texts, found batch by batch."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = list(names)
        self._numbering = Numbering()
        self._sizes = np.zeros(0, dtype=np.int64)

    def see(self, texts: Sequence[pl.Series], rows: np.ndarray) -> Placed:
        """Place some rows of a batch by its texts. Without any column nobody can tell rows apart: one class."""
        of_row, cells = np.zeros(len(rows), dtype=np.int64), {}
        if self._names:
            frame = pl.DataFrame(list(texts))
            found = self._numbering.see(frame if len(rows) == frame.height else frame[rows])
            of_row = found.codes
            own = {name: encode(found.distinct[name]) for name in self._names}
            cells = {name: (codes[found.place], distinct) for name, (codes, distinct) in own.items()}
        count = max(len(self._sizes), int(of_row.max(initial=-1)) + 1)
        sizes = np.bincount(of_row, minlength=count)
        sizes[: len(self._sizes)] += self._sizes
        self._sizes = sizes
        return Placed(rows, of_row, cells)

    def classes(self) -> Classes:
        """All classes seen."""
        rows = self._numbering.rows
        cells = {name: encode(rows[name]) for name in self._names}
        return Classes(names=self._names, sizes=self._sizes, cells=cells)


class Looking:
    """The classes of a release in one table or two, found batch by batch; the first batch may be empty."""

    def __init__(self, claims: Claims) -> None:
        self._claims = claims
        names = [column.name for column in claims.role("quasi")]
        self._quasi = Grouping(names)
        if claims.group is not None:
            self._groups, self._pinned = Grouping([claims.group]), Grouping([claims.group, *names])

    def see(self, frame: pl.DataFrame) -> Placed:
        """Place the rows of a batch of the release by their quasi-identifiers."""
        claims, rows = self._claims, np.arange(frame.height)
        cells = self._cells(frame)
        if claims.group is not None:
            self._pinned.see([value_texts(frame[claims.group], "numeric").alias(claims.group), *cells], rows)
        if claims.suppressed == "star":
            rows = np.flatnonzero(~starred(frame.select(claims.files)))
        return self._quasi.see(cells, rows)

    def see_groups(self, frame: pl.DataFrame) -> Placed:
        """Place the rows of a batch of the table that holds sensitive values by their group."""
        name = self._claims.group or ""
        return self._groups.see([value_texts(frame[name], "numeric").alias(name)], np.arange(frame.height))

    def look(self) -> Look:
        """The classes of all batches."""
        quasi = self._quasi.classes()
        if self._claims.group is None:
            return Look(quasi, quasi, quasi)
        return Look(quasi, self._groups.classes(), self._pinned.classes())

    def _cells(self, frame: pl.DataFrame) -> list[pl.Series]:
        """What stands in the quasi-identifiers, one text a row: generalised cells, or values as they are."""
        columns = self._claims.role("quasi")
        if self._claims.made == "generalised":
            return [cell_texts(frame, column).alias(column.name) for column in columns]
        return [value_texts(frame[column.name], column.type).alias(column.name) for column in columns]


def starred(frame: pl.DataFrame) -> np.ndarray:
    """Rows that hold ``*`` in every column. A column that is not text can hold no ``*``."""
    if not frame.width or any(dtype != pl.String for dtype in frame.dtypes):
        return np.zeros(frame.height, dtype=bool)
    return frame.select(pl.all_horizontal((pl.all() == STAR).fill_null(False))).to_series().to_numpy()


@dataclass(frozen=True, eq=False)
class Order:
    """Classes in the order of their cell texts, which no row order can change."""

    rank: np.ndarray
    digest: str


def order_classes(classes: Classes) -> Order:
    """Sort the classes by cells; the digest is over column names, cells and sizes.

    Every text is written with its length before it, so that no two different tables give the same bytes.
    """
    parts = [_prefixed(texts).gather(codes) for codes, texts in classes.cells.values()]
    cells = pl.DataFrame({str(place): part for place, part in enumerate(parts)})
    keys = (
        cells.select(pl.concat_str(pl.all())).to_series()
        if parts
        else pl.Series([""] * classes.count, dtype=pl.String)
    )
    by_key = keys.arg_sort().to_numpy()
    rank = np.empty(classes.count, dtype=np.int64)
    rank[by_key] = np.arange(classes.count)
    header = _joined(_prefixed(pl.Series(classes.names, dtype=pl.String)))
    body = _joined(keys.gather(by_key))
    return Order(rank=rank, digest=_sha256(header, body, _integers(classes.sizes[by_key])))


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
    body = np.stack([place[by_place], count[by_place]], axis=1)
    return _sha256(order.digest.encode(), _joined(_prefixed(marked.gather(by_text))), _integers(body))


def _prefixed(texts: pl.Series) -> pl.Series:
    return pl.select(texts.str.len_bytes().cast(pl.String) + ":" + texts).to_series()


def _joined(texts: pl.Series) -> bytes:
    return texts.str.join("\n").item().encode()


def _integers(values: np.ndarray) -> bytes:
    return np.ascontiguousarray(values, dtype="<i8").tobytes()


def _sha256(*parts: bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()
