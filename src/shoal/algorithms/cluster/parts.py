"""What the clustering methods share: the keyed order of the rows, and subspaces in which they can work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.algorithms.base import Problem, shuffled_codes
from shoal.algorithms.grouping import Grouper
from shoal.algorithms.prices import prices_of
from shoal.errors import ParameterError
from shoal.kernels.grouping import group_rows
from shoal.kernels.median_split import halve
from shoal.params import whole
from shoal.recoding.recodings import Grouping


@dataclass(frozen=True, eq=False)
class Parts:
    """Rows part by part, and in keyed order within each; the place of a row is its number in this order.

    Attributes
    ----------
    rows
        int32 row of the table at each place.
    codes
        (n, columns) quasi-identifier codes at each place.
    starts
        int64 (parts + 1): first place of each part, and n.
    """

    rows: np.ndarray
    codes: np.ndarray
    starts: np.ndarray

    @property
    def count(self) -> int:
        """How many parts there are."""
        return self.starts.size - 1

    @property
    def said(self) -> str:
        """Where the work is done, for progress."""
        return f" in {self.count} subspaces" if self.count > 1 else ""

    def numbers(self) -> np.ndarray:
        """The part of each place."""
        return np.repeat(np.arange(self.count), np.diff(self.starts))


@dataclass(frozen=True, kw_only=True)
class Clusterer(Grouper):
    """A grouper whose cost grows with the square of the rows, unless it works in subspaces.

    Parameters
    ----------
    prepartition
        Halve the table along medians first, into subspaces of this many rows up to twice as many, and work in each
        by itself. Off by default: groups across subspaces are never found.
    """

    prepartition: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.prepartition is not None:
            size = whole(type(self).__name__, "prepartition", self.prepartition, least=2)
            object.__setattr__(self, "prepartition", size)
        if self.k is not None:
            self._check_size(self.k)

    def _check_size(self, k: int) -> None:
        if self.prepartition is not None and self.prepartition < k:
            raise ParameterError(
                f"The 'prepartition' of {type(self).__name__} must be at least k = {k}. Got {self.prepartition}."
            )

    def parts(self, problem: Problem) -> Parts:
        """The subspaces to work in, or everything as one."""
        self._check_size(problem.judge.k)
        order, codes = shuffled_codes(problem)
        if self.prepartition is None:
            return Parts(order, codes, np.array([0, codes.shape[0]], dtype=np.int64))
        problem.progress("halving the table into subspaces")
        moved, starts = halve(codes, prices_of(problem.domain), self.prepartition)
        return Parts(order[moved], codes, starts)

    def grouping(self, parts: Parts, ids: np.ndarray, notes: Mapping[str, Any]) -> Grouping:
        """Group numbers of places (-1: suppressed), without gaps, as a grouping of rows."""
        found = np.empty(ids.size, dtype=np.int32)
        found[parts.rows] = ids
        groups = int(ids.max(initial=-1)) + 1
        kept = int((ids >= 0).sum())
        common: dict[str, Any] = {"clusters": groups, "mean_size": kept / groups if groups else 0.0}
        if self.prepartition is not None:
            common |= {"prepartition": self.prepartition, "subspaces": parts.count}
        return Grouping(ids=found, groups=groups, notes=common | dict(notes))


def across_parts(parts: Parts, ids: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Group numbers that start from 0 in each part, made distinct."""
    first = np.cumsum(counts) - counts
    return (ids + first[parts.numbers()]).astype(np.int32)


def equal_records(parts: Parts, codes: np.ndarray, cards: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Equal records of a part as one entry; ``codes`` is (columns, n).

    Returns places, an entry after another and in order within each; where each entry starts, and n; its part.
    """
    same, kinds, _ = group_rows(np.ascontiguousarray(codes, dtype=np.int32), cards)
    keys = parts.numbers() * kinds.size + same
    places = np.argsort(keys, kind="stable")
    first = np.flatnonzero(np.diff(keys[places], prepend=-1))
    return places, np.append(first, places.size), keys[places[first]] // kinds.size


def local_values(
    part: np.ndarray, count: int, codes: np.ndarray, cards: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each part's own values of every column, so that tables of prices are no longer than the part.

    Parameters
    ----------
    part
        Part of each item, of ``count`` parts.
    codes
        (columns, items).

    Returns
    -------
    local, values, value_at
        int32 (columns, items) number of each value among its part's; the values, part after part and column after
        column within each; (parts, columns + 1) where they start.
    """
    m = cards.size
    local = np.empty(codes.shape, dtype=np.int32)
    sizes = np.empty((count, m), dtype=np.int64)
    owners, found = [], []
    for a, card in enumerate(cards.tolist()):
        pairs, places = np.unique(part * card + codes[a], return_inverse=True)
        starts = np.searchsorted(pairs, np.arange(count + 1) * card)
        local[a] = places - starts[part]
        sizes[:, a] = np.diff(starts)
        owners.append(pairs // card * m + a)
        found.append(pairs % card)
    ends = np.cumsum(sizes.ravel()).reshape(sizes.shape)
    value_at = np.concatenate([ends[:, :1] - sizes[:, :1], ends], axis=1)
    order = np.argsort(np.concatenate(owners), kind="stable")
    return local, np.concatenate(found)[order].astype(np.int32), value_at
