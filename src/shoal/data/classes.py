"""Which class a row is in: small tables that any engine can join with, or a number a row where rows are in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

# Rows of the classes that are looked at in one go, at least, and in how many goes all of them are, at most.
_ROWS, _GOES = 1 << 20, 16


@dataclass(frozen=True, eq=False)
class Nodes:
    """Classes of equal nodes, as full-domain and subtree recodings make them.

    A row whose nodes are listed nowhere is in no class.

    Attributes
    ----------
    nodes
        Quasi-identifier to the node of every leaf code.
    keys
        int32, shape (m, classes): the nodes of every class, in schema order.
    """

    nodes: Mapping[str, np.ndarray]
    keys: np.ndarray

    @property
    def groups(self) -> int:
        """Number of classes."""
        return self.keys.shape[1]

    def keep(self, good: np.ndarray) -> Nodes:
        """The good classes alone, numbered without gaps."""
        return Nodes(self.nodes, self.keys[:, good])


@dataclass(frozen=True, eq=False)
class Cells:
    """The class of every cell of the frequency table (negative: in none), in the order of its cells.

    ``gone`` are numbers of rows, ascending, that are in no class although their cell is in one.
    """

    of: np.ndarray
    groups: int
    gone: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def keep(self, good: np.ndarray) -> Cells:
        """The good classes alone, numbered without gaps."""
        return Cells(_numbered(self.of, good), int(good.sum()), self.gone)

    def without(self, rows: np.ndarray) -> Cells:
        """The same classes without some rows."""
        return Cells(self.of, self.groups, np.union1d(self.gone, rows).astype(np.int64))

    def cleared(self, ids: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """The classes of some rows, given those of their cells: rows that are gone have none."""
        if not self.gone.size:
            return ids
        place = np.minimum(np.searchsorted(self.gone, rows), self.gone.size - 1)
        return np.where(self.gone[place] == rows, np.int32(-1), ids).astype(np.int32)


def class_numbers(ids: np.ndarray) -> np.ndarray:
    """Convert the numbers of classes to the int32 that kernels take: users' methods may return any type of integer."""
    return np.ascontiguousarray(ids, dtype=np.int32) if ids.dtype.kind in "iu" else ids


@dataclass(frozen=True, eq=False)
class RowIds:
    """The class of every row (int32, negative: in none), for rows in memory."""

    ids: np.ndarray
    groups: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "ids", class_numbers(self.ids))

    def keep(self, good: np.ndarray) -> RowIds:
        """The good classes alone, numbered without gaps."""
        return RowIds(_numbered(self.ids, good), int(good.sum()))

    def without(self, rows: np.ndarray) -> RowIds:
        """The same classes without some rows."""
        ids = self.ids.copy()
        ids[rows] = -1
        return RowIds(ids, self.groups)


@dataclass(frozen=True)
class Everybody:
    """All rows as one class."""

    groups: int = 1


EVERYBODY = Everybody()


@dataclass(frozen=True)
class Together:
    """The rows of all classes as one class, those in none left out."""

    classes: Grouped
    groups: int = 1


@dataclass(frozen=True)
class Split:
    """Every class split by the values of one column; the parts that occur, by class and then by code."""

    classes: Grouped
    name: str


Grouped = Nodes | Cells | RowIds
ClassMap = Grouped | Everybody | Together | Split


def runs_of(offsets: np.ndarray) -> list[int]:
    """The first class of every run of them that is looked at in one go, and the end of the last; there is one at least.

    Parameters
    ----------
    offsets
        Where the rows of every class begin when they stand one class after the other, and the end of the last.
    """
    groups = offsets.size - 1
    most, found = max(_ROWS, int(offsets[-1]) // _GOES), [0]
    while found[-1] < groups or len(found) == 1:
        after = int(np.searchsorted(offsets, offsets[found[-1]] + most, side="right")) - 1
        found.append(min(max(after, found[-1] + 1), groups))
    return found


def in_runs(classes: Grouped, rows: np.ndarray) -> Iterator[Grouped]:
    """The same classes in order, some after others where they are given row by row.

    Parameters
    ----------
    rows
        How many each has.
    """
    if not isinstance(classes, RowIds):
        yield classes
        return
    cuts = runs_of(np.concatenate([[0], np.cumsum(rows)]))
    if len(cuts) == 2:
        yield classes
        return
    for first, stop in pairwise(cuts):
        ids = np.where((classes.ids >= first) & (classes.ids < stop), classes.ids - np.int32(first), np.int32(-1))
        yield RowIds(ids, stop - first)


def _numbered(of: np.ndarray, good: np.ndarray) -> np.ndarray:
    number = np.where(good, np.cumsum(good) - 1, -1)
    return np.append(number, -1)[of].astype(np.int32)
