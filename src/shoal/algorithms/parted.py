"""Methods that look at records one by one, on more records than memory holds: part by part.

The table is halved along medians until every part fits, equal records staying together, and each part is grouped by
itself as if it were the whole table. Where all records fit, there is one part, and nothing differs from memory.

A cut is looked for in histograms that the engine counts, never in rows, nor in a frequency table, which may not fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from shoal.algorithms.base import Algorithm, Problem
from shoal.algorithms.grouping import by_rows
from shoal.algorithms.leftovers import settle_leftovers
from shoal.errors import InfeasibleError, ParameterError
from shoal.recoding.recodings import CellGrouping, Grouping
from shoal.table.rows import ArrayRows, Rows
from shoal.table.stats import Attribute

# A side of a cut has at least one row in so many, if any column allows it; never fewer than so many.
_SHARE, _LEAST = 8, 1000


class PartedRows(Rows, Protocol):
    """Rows of which some can be brought into memory."""

    def fetched(self, rows: np.ndarray | None, attributes: Sequence[Attribute]) -> ArrayRows:
        """Some rows by their numbers, or all of them, as arrays; tuples of columns are coded as in the whole."""
        ...

    def coded(self) -> Iterator[tuple[Mapping[str, np.ndarray], np.ndarray]]:
        """Codes of all columns, and what random draws are keyed by, batch by batch."""
        ...

    def ranges(self, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest code of every quasi-identifier among rows within bounds of all of them."""
        ...

    def histogram(self, place: int, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Codes of a quasi-identifier, ascending, and their rows, among rows within bounds of all of them."""
        ...


def grouped_in_parts(method: Algorithm, problem: Problem, rows: PartedRows, most: int) -> Grouping:
    """Run a method on parts of at most so many rows, and put their groups together.

    Parameters
    ----------
    most
        Rows that memory holds. A single combination of quasi-identifiers with more stays whole.
    """
    attributes = problem.judge.attributes
    if rows.domain.n <= most:
        return _groups(method, replace(problem, rows=rows.fetched(None, attributes)))
    low, high = halved(rows, most)
    of, count = _parts_of(rows, low, high), low.shape[0]
    ids, groups, notes = np.full(rows.domain.n, -1, dtype=np.int32), 0, []
    for part in range(count):
        mine = np.flatnonzero(of == part)
        problem.progress(f"grouping part {part + 1} of {count}: {mine.size:,} rows")
        try:
            found = _groups(method, replace(problem, rows=rows.fetched(mine, attributes), progress=lambda step: None))
        except InfeasibleError as error:
            raise InfeasibleError(f"Part {part + 1} of {count}, of {mine.size:,} rows: {error}") from None
        ids[mine] = np.where(found.ids >= 0, found.ids + groups, -1)
        groups += found.groups
        notes.append(dict(found.notes))
    found = Grouping(ids=ids, groups=groups, notes={"parts": count, "of_parts": notes})
    return settle_leftovers(problem, found)


def _groups(method: Algorithm, problem: Problem) -> Grouping:
    found = method.run(problem)
    if isinstance(found, CellGrouping):
        found = by_rows(problem, found)
    if not isinstance(found, Grouping) or found.counterfeits is not None:
        raise ParameterError(f"'{method.name}' makes no groups of records, so it cannot go part by part.")
    return found


def halved(rows: PartedRows, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest codes of every part, shape (parts, columns): each is cut until it has at most ``most`` rows.

    A cut is at the median of the widest column, by histograms that the engine counts. A column whose median leaves next
    to nothing on one side is passed over, since hardly a model holds in a few rows.
    """
    cards = np.array([column.card - 1 for column in rows.domain.quasi], dtype=np.int64)
    found, open_parts = [], [(np.zeros_like(cards), cards)]
    while open_parts:
        low, high = rows.ranges(*open_parts.pop())
        cut = _cut(rows, low, high, most)
        if cut is None:
            found.append((low, high))
            continue
        place, at = cut
        lower, upper = high.copy(), low.copy()
        lower[place], upper[place] = at, at + 1
        open_parts += [(low, lower), (upper, high)]
    return np.stack([low for low, _ in found]), np.stack([high for _, high in found])


def _cut(rows: PartedRows, low: np.ndarray, high: np.ndarray, most: int) -> tuple[int, int] | None:
    """A column and the last code of the lower side, None where no cut is needed, or leaves enough rows on both."""
    width = (high - low) / np.array([max(column.card - 1, 1) for column in rows.domain.quasi], dtype=np.float64)
    best, found = max(min(most // _SHARE, _LEAST), 1), None
    for place in np.argsort(-width, kind="stable")[: np.count_nonzero(width)].tolist():
        values, counts = rows.histogram(place, low, high)
        below = np.cumsum(counts)
        if below[-1] <= most:
            return None
        # The cut next to the half of the rows.
        at = int(np.argmin(np.abs(below - below[-1] / 2)))
        fewer = min(below[at], below[-1] - below[at])
        if fewer >= best:
            best, found = fewer, (place, int(values[at]))
        if fewer * _SHARE >= below[-1]:
            return place, int(values[at])
    return found


def _parts_of(rows: PartedRows, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """int32 part of every row."""
    found = np.full(rows.domain.n, -1, dtype=np.int32)
    at, quasi = 0, rows.domain.schema.quasi
    for codes, keys in rows.coded():
        mine = found[at : at + keys.size]
        for part, (least, most) in enumerate(zip(low, high, strict=True)):
            inside = np.ones(keys.size, dtype=bool)
            for name, first, last in zip(quasi, least.tolist(), most.tolist(), strict=True):
                inside &= (codes[name] >= first) & (codes[name] <= last)
            mine[inside] = part
        at += keys.size
    return found
