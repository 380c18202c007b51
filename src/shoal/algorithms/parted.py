"""Methods that look at records one by one, on more records than memory holds: part by part.

The table is halved along medians until every part fits, equal records staying together, and each part is grouped by
itself as if it were the whole table. Where all records fit, there is one part, and nothing differs from memory.

The parts are those of the frequency table's cells: a cut is looked for in histograms, never in rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from shoal.algorithms.base import Algorithm, Problem
from shoal.algorithms.grouping import by_rows
from shoal.algorithms.leftovers import settle_leftovers
from shoal.errors import InfeasibleError, ParameterError
from shoal.recoding.recodings import CellGrouping, Grouping
from shoal.table.classmap import Cells
from shoal.table.domain import Domain
from shoal.table.rows import ArrayRows, Frequency, Rows
from shoal.table.stats import Attribute

# A side of a cut has at least one row in so many, if any column allows it; never fewer than so many.
_SHARE, _LEAST = 8, 1000


class PartedRows(Rows, Protocol):
    """Rows of which some can be brought into memory."""

    def fetched(self, rows: np.ndarray | None, attributes: Sequence[Attribute]) -> ArrayRows:
        """Some rows by their numbers, or all of them, as arrays; tuples of columns are coded as in the whole."""
        ...

    def row_classes(self, classes: Cells) -> np.ndarray:
        """int32 class of every row."""
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
    parts = halved(rows.frequency([]), rows.domain, most)
    of = rows.row_classes(Cells(parts, int(parts.max()) + 1))
    ids, groups, notes = np.full(rows.domain.n, -1, dtype=np.int32), 0, []
    count = int(parts.max()) + 1
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


def halved(cells: Frequency, domain: Domain, most: int) -> np.ndarray:
    """int32 part of every cell: each is cut at the median of its widest column until it has at most ``most`` rows.

    A column whose median leaves next to nothing on one side is passed over, since hardly a model holds in a few rows.
    """
    least = min(most // _SHARE, _LEAST)
    part = np.zeros(cells.rows.size, dtype=np.int32)
    cards = np.array([max(column.card - 1, 1) for column in domain.quasi], dtype=np.float64)
    open_parts, count = [np.arange(cells.rows.size)], 1
    while open_parts:
        mine = open_parts.pop()
        upper = _cut(cells, mine, cards, least) if int(cells.rows[mine].sum()) > most else None
        if upper is not None:
            part[mine[upper]] = count
            count += 1
            open_parts += [mine[~upper], mine[upper]]
    return part


def _cut(cells: Frequency, mine: np.ndarray, cards: np.ndarray, least: int) -> np.ndarray | None:
    """Which cells go to the upper side, None where no cut leaves at least so many rows on both."""
    codes, rows = cells.codes[:, mine], cells.rows[mine]
    width = (codes.max(axis=1) - codes.min(axis=1)) / cards
    best, found = max(least, 1), None
    for column in np.argsort(-width, kind="stable")[: np.count_nonzero(width)]:
        values = codes[column]
        below = np.cumsum(np.bincount(values, rows))
        # The cut next to the half of the rows.
        at = np.argmin(np.abs(below - below[-1] / 2))
        fewer = min(below[at], below[-1] - below[at])
        if fewer >= best:
            best, found = fewer, values > at
        if fewer * _SHARE >= below[-1]:
            return values > at
    return found
