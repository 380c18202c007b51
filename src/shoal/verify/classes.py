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
from shoal.verify.values import STAR, distinct, encode, group_rows


@dataclass(frozen=True, eq=False)
class Classes:
    """The classes of a release.

    Attributes
    ----------
    names
        Quasi-identifier names.
    rows
        Positions in the release of the rows that are in a class, ascending.
    of_row
        The class of each of ``rows``.
    sizes
        Rows in each class.
    cells
        For each quasi-identifier, the code of each class's cell and the distinct cell texts.
    """

    names: Sequence[str]
    rows: np.ndarray
    of_row: np.ndarray
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
    judged, frame
        The classes that models judge, and the table that holds their sensitive values: the same as ``quasi`` and the
        release, but for a bucketised one, whose groups are its classes.
    pinned
        The classes whose cells the digest in the manifest is of: groups together with their quasi-identifiers where
        there are groups.
    """

    quasi: Classes
    judged: Classes
    frame: pl.DataFrame
    pinned: Classes


def find_look(frame: pl.DataFrame, apart: pl.DataFrame | None, claims: Claims) -> Look:
    """The classes of a release, in one table or two."""
    quasi = find_classes(frame, claims)
    if claims.group is None:
        return Look(quasi, quasi, frame, quasi)
    table = frame if apart is None else apart
    return Look(quasi, find_groups(table, claims, quasi=False), table, find_groups(frame, claims, quasi=True))


def starred(frame: pl.DataFrame) -> np.ndarray:
    """Rows that hold ``*`` in every column. A column that is not text can hold no ``*``."""
    if not frame.width or any(dtype != pl.String for dtype in frame.dtypes):
        return np.zeros(frame.height, dtype=bool)
    return frame.select(pl.all_horizontal((pl.all() == STAR).fill_null(False))).to_series().to_numpy()


def _cells(frame: pl.DataFrame, claims: Claims) -> list[pl.Series]:
    """What stands in the quasi-identifiers, one text a row: generalised cells, or values as they are."""
    columns = claims.role("quasi")
    if claims.made == "generalised":
        return [cell_texts(frame, column) for column in columns]
    return [value_texts(frame[column.name], column.type).alias(column.name) for column in columns]


def find_groups(frame: pl.DataFrame, claims: Claims, *, quasi: bool) -> Classes:
    """Group the rows of a bucketised release by their group number, and by quasi-identifiers as well if asked to."""
    name = claims.group or ""
    columns = [value_texts(frame[name], "numeric").alias(name)]
    if quasi:
        columns += _cells(frame, claims)
    texts = pl.DataFrame(columns)
    of_row, first = group_rows(texts)
    return Classes(
        names=texts.columns,
        rows=np.arange(frame.height),
        of_row=of_row,
        sizes=np.bincount(of_row),
        cells={column: encode(texts[first][column]) for column in texts.columns},
    )


def find_classes(frame: pl.DataFrame, claims: Claims) -> Classes:
    """Group the released rows by their quasi-identifier cells."""
    names = [column.name for column in claims.role("quasi")]
    rows = np.arange(frame.height)
    if claims.suppressed == "star":
        rows = np.flatnonzero(~starred(frame.select(claims.files)))
    # Without quasi-identifiers nobody can tell rows apart: one class.
    of_row, cells = np.zeros(len(rows), dtype=np.int64), {}
    if names:
        quasi = pl.DataFrame(_cells(frame, claims))[rows]
        of_row, first = group_rows(quasi)
        cells = {name: encode(quasi[first][name]) for name in names}
    return Classes(names=names, rows=rows, of_row=of_row, sizes=np.bincount(of_row), cells=cells)


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
