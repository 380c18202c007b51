"""Values in classes, counted some classes after others.

Where sensitive values hardly repeat, class and value make nearly as many pairs as there are rows. What stays in memory
is the code of every row, a byte to four, or what was counted of cells; pairs are counted whenever they are looked at,
those of some classes at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from shoal.data.classes import runs_of
from shoal.data.stats import Attribute, Histogram, InRuns
from shoal.engines.counting import count_values

# Rows of one class that are counted in one go.
_ROWS = 1 << 20


@dataclass(frozen=True, eq=False, kw_only=True)
class ByClass:
    """An attribute of the rows that are in classes, in the order of these.

    Attributes
    ----------
    offsets
        Where the rows of every class begin, and the end of the last.
    values
        The code of every row, of any type of whole numbers.
    subjects
        Whose row it is, None where rows are counted.
    """

    attribute: Attribute
    offsets: np.ndarray
    values: np.ndarray
    subjects: np.ndarray | None
    n_subjects: int

    def histogram(self) -> Histogram:
        """How often each value occurs in every class."""
        return InRuns(self._runs) if len(runs_of(self.offsets)) > 2 else next(self._runs())

    def _runs(self) -> Iterator[Histogram]:
        """The same of some classes after others."""
        for first, stop in pairwise(runs_of(self.offsets)):
            start, end = int(self.offsets[first]), int(self.offsets[stop])
            if stop - first == 1 and self.subjects is None:
                yield self._alone(start, end)
                continue
            yield count_values(
                self.attribute, np.arange(end - start, dtype=np.int32), self.offsets[first : stop + 1] - start,
                self.values[start:end].astype(np.int32), None if self.subjects is None else self.subjects[start:end],
                self.n_subjects,
            )  # fmt: skip

    def _alone(self, start: int, end: int) -> Histogram:
        """The same of a single class, which may have any number of rows."""
        counts = np.zeros(self.attribute.card, dtype=np.int64)
        for at in range(start, end, _ROWS):
            counts += np.bincount(self.values[at : min(at + _ROWS, end)], minlength=counts.size)
        codes = np.flatnonzero(counts).astype(np.int32)
        known = np.array([counts[self.attribute.unknown == 0].sum()])
        return Histogram(np.array([0, codes.size]), codes, counts[codes], known)


def added(of: np.ndarray, counts: np.ndarray, groups: int) -> np.ndarray:
    """int64 sums of counts by group; those of none are left out."""
    total = np.zeros(groups, dtype=np.int64)
    np.add.at(total, of[of >= 0], counts[of >= 0])
    return total


def merged(found: Histogram, of: np.ndarray, groups: int) -> Histogram:
    """Counts of classes from those of their cells, of some classes after others where there are many."""
    cells = np.argsort(of, kind="stable")
    cells = cells[np.searchsorted(of[cells], 0) :]
    offsets = np.concatenate([[0], np.cumsum(added(of, np.diff(found.indptr), groups))])
    cuts = runs_of(offsets)
    starts = np.searchsorted(of[cells], cuts)

    def runs() -> Iterator[Histogram]:
        for (first, stop), (start, end) in zip(pairwise(cuts), pairwise(starts), strict=True):
            yield _of_classes(found, cells[start:end], of[cells[start:end]] - first, stop - first)

    return InRuns(runs) if len(cuts) > 2 else next(runs())


def _of_classes(found: Histogram, cells: np.ndarray, of: np.ndarray, groups: int) -> Histogram:
    """Counts of classes from those of all of their cells."""
    lengths = np.diff(found.indptr)[cells]
    # Entries of one cell stand together, wherever the cell is.
    entries = np.arange(lengths.sum()) + np.repeat(found.indptr[cells] - (np.cumsum(lengths) - lengths), lengths)
    codes, group = found.codes[entries], np.repeat(of, lengths)
    card = int(codes.max(initial=0)) + 1
    pairs, place = np.unique(group.astype(np.int64) * card + codes, return_inverse=True)
    counts = added(place, found.counts[entries], pairs.size)
    indptr = np.zeros(groups + 1, dtype=np.int64)
    np.cumsum(np.bincount(pairs // card, minlength=groups), out=indptr[1:])
    return Histogram(indptr, (pairs % card).astype(np.int32), counts, added(of, found.known[cells], groups))
