"""Methods that look at records one by one, on more records than memory holds: part by part.

The table is halved along medians until every part fits, equal records staying together, and each part is grouped by
itself as if it were the whole table. Where all records fit, there is one part, and nothing differs from memory.

A cut is looked for in histograms that the engine counts, never in rows, nor in a frequency table, which may not fit.

A part that no groups can be made of is taken together with the other side of its cut. What memory does not hold then is
dealt out at random, combination by combination, so that every share has a bit of everything that both sides have. A
method to which quasi-identifiers do not matter has all rows dealt out, by their sensitive values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import polars as pl

from shoal.algorithms.base import TIES, Algorithm, Problem
from shoal.algorithms.grouping import by_rows
from shoal.algorithms.leftovers import settle_leftovers
from shoal.data.classes import RowIds
from shoal.data.domain import Packing
from shoal.data.rows import ArrayRows, Rows
from shoal.data.stats import Attribute, unknown_flags
from shoal.errors import InfeasibleError, ParameterError
from shoal.models.base import failing_stays, merging_keeps
from shoal.recoding.recodings import Averaged, Bucketed, CellGrouping, Grouping, Recoding

_SHARES = "shares of a part"
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

    def row_keys(self) -> np.ndarray:
        """uint64, what the random draws of every row are keyed by."""
        ...

    def ranges(self, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest code of every quasi-identifier among rows within bounds of all of them."""
        ...

    def histogram(self, place: int, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Codes of a quasi-identifier, ascending, and their rows, among rows within bounds of all of them."""
        ...


@dataclass(frozen=True, eq=False)
class Part:
    """Rows within bounds of every quasi-identifier.

    Attributes
    ----------
    low, high
        Lowest and highest code of every quasi-identifier.
    first, stop
        The leaves that it has, of all leaves: from this one on, and the first after them.
    cut
        The column that its sides differ in, and the last code of the lower one; None for a leaf.
    sides
        The lower one and the upper one.
    """

    low: np.ndarray
    high: np.ndarray
    first: int
    stop: int
    cut: tuple[int, int] | None = None
    sides: tuple[Part, ...] = ()

    def leaves(self) -> Iterator[Part]:
        """Parts that are not cut any further."""
        if not self.sides:
            yield self
        for side in self.sides:
            yield from side.leaves()

    def above(self, part: Part) -> Part:
        """The one of its parts whose side another is; itself for itself."""
        side = next((one for one in self.sides if one.first <= part.first < one.stop), self)
        return self if side is part or side is self else side.above(part)


def grouped_in_parts(method: Algorithm, problem: Problem, rows: PartedRows, most: int) -> Recoding:
    """Run a method on parts of at most so many rows, and put their groups together.

    Parameters
    ----------
    most
        Rows that memory holds. A single combination of quasi-identifiers with more stays whole.
    """
    if rows.domain.n <= most:
        problem = replace(problem, rows=rows.fetched(None, problem.judge.attributes))
        found = method.run(problem)
        return by_rows(problem, found) if isinstance(found, CellGrouping) else found
    grouper = method.parting
    if grouper.part_rows is not None:  # and of two groups at least
        most = min(most, max(grouper.part_rows, 2 * problem.judge.k))
    if grouper.max_suppressed is not None:  # a share of every part adds up to it
        share = grouper.share_allowed(rows.domain.n)
        grouper = replace(grouper, suppression_limit=share, max_suppressed=None)
    found = _Work(grouper, problem, rows, most, method.dealt(rows.domain)).grouped()
    if grouper.kind.generalises and isinstance(found, Grouping):
        found = settle_leftovers(problem, found)
    return method.put_together(found, lambda: problem.keys.shuffle(TIES, rows.row_keys()))


class _Work:
    """Parts on their way to groups of all of them."""

    def __init__(
        self, method: Algorithm, problem: Problem, rows: PartedRows, most: int, by: tuple[Sequence[str], int] | None
    ) -> None:
        self.method, self.problem, self.rows, self.most, self.by = method, problem, rows, most, by
        self.root = halved(rows, most if by is None else rows.domain.n)
        self.of = leaf_of_rows(rows, self.root)
        self.ids, self.groups = np.full(rows.domain.n, -1, dtype=np.int32), 0
        self.published: list[pl.DataFrame] = []  # where groups publish what is not their members'

    def grouped(self) -> Grouping | Averaged:
        """Groups of all parts; those of which none can be made are taken together with the other side of their cut."""
        waiting, notes = self._hopeful(), dict[Part, list[dict[str, Any]]]()
        while waiting:
            part = waiting.pop(0)
            self.problem.progress(f"grouping part {len(notes) + 1} of {len(notes) + len(waiting) + 1}")
            try:
                notes[part] = self._group(part)
            except InfeasibleError:
                if part is self.root:
                    raise
                wider = self.root.above(part)
                waiting = [wider, *_outside(wider, waiting)]
                notes = {one: notes[one] for one in _outside(wider, notes)}
        there, ids = np.unique(self.ids, return_inverse=True)
        none = int((there < 0).sum())
        every = [one for part in sorted(notes, key=lambda part: part.first) for one in notes[part]]
        made = {"parts": len(every), "joined": self.root.stop - len(notes), "of_parts": every}
        numbered = (ids - none).astype(np.int32)
        if self.published:
            columns = pl.concat(self.published)[there[none:]]
            return Averaged(ids=numbered, columns={one.name: one for one in columns.iter_columns()}, notes=made)
        return Grouping(ids=numbered, groups=there.size - none, notes=made)

    def _hopeful(self) -> list[Part]:
        """Parts that models do not rule out as a whole, as small as can be."""
        judge, found = self.problem.judge, list(self.root.leaves())
        none = self.method.rows_allowed(self.rows.domain.n) == 0
        while len(found) > 1:
            number = np.repeat(np.arange(len(found), dtype=np.int32), [part.stop - part.first for part in found])
            stats = self.rows.stats(RowIds(number[self.of], len(found)), judge.attributes)
            lost = stats.sizes < judge.k
            for (model, rules), judgement in zip(judge.sets, judge.judge(stats), strict=True):
                if failing_stays(model, rules) or (none and merging_keeps(model, rules)):
                    lost |= ~judgement.ok
            if not lost.any():
                break
            for part in [found[at] for at in np.flatnonzero(lost)]:
                if part in found:  # not yet below another that was lost
                    wider = self.root.above(part)
                    found = sorted([wider, *_outside(wider, found)], key=lambda one: one.first)
        return found

    def _group(self, part: Part) -> list[dict[str, Any]]:
        """Put the rows of a part in groups; what memory does not hold of it is dealt out."""
        mine = np.flatnonzero((self.of >= part.first) & (self.of < part.stop))
        count = -(-mine.size // self.most)
        share = self._dealt(mine, count) if count > 1 else np.zeros(mine.size, dtype=np.int64)
        # The last that there is: of what fails here, others may take in some.
        last = part is self.root and self.method.kind.generalises
        notes, failed = [], []
        for number in range(count):
            some = mine[share == number]
            if not some.size:
                continue
            held = self.rows.fetched(some, self.problem.judge.attributes)
            try:
                found = _groups(self.method, replace(self.problem, rows=held, progress=lambda step: None))
            except InfeasibleError as error:
                if not last:
                    raise
                failed.append(error)
                found = Grouping(ids=np.zeros(some.size, dtype=np.int32), groups=1)
            self.ids[some] = np.where(found.ids >= 0, found.ids + self.groups, -1)
            self.groups += int(found.ids.max(initial=-1)) + 1
            notes.append(dict(found.notes))
            if isinstance(found, Averaged):
                self.published.append(pl.DataFrame(found.columns))
        if failed and len(failed) == len(notes):
            raise failed[0]
        return notes

    def _dealt(self, mine: np.ndarray, count: int) -> np.ndarray:
        """Which of so many shares some rows are in, drawn by their quasi-identifiers, so that equal rows are together.

        Where these do not matter, all rows are dealt out by their sensitive values.
        """
        if self.by is not None:
            return self._by_values(*self.by, count)
        quasi = self.rows.domain.schema.quasi
        packing = Packing(tuple(column.card for column in self.rows.domain.quasi))
        share, at = np.empty(self.rows.domain.n, dtype=np.uint8 if count <= 1 << 8 else np.int32), 0
        for codes, keys in self.rows.coded():
            drawn = np.zeros(keys.size, dtype=np.uint64)
            for word in packing.pack([codes[name] for name in quasi]):
                drawn = self.problem.keys.bits(_SHARES, drawn ^ word.astype(np.uint64))
            share[at : at + keys.size] = drawn % np.uint64(count)
            at += keys.size
        return share[mine]

    def _by_values(self, names: Sequence[str], least: int, count: int) -> np.ndarray:
        """The share of every row, such that what can be grouped as a whole can be in each.

        Rows in the order of their known values are dealt to sets of ``least`` or one more, whole ones of which make a
        share. No value comes twice in any, unless some value is too common for groups of all rows, too.
        """
        columns = [self.rows.domain.columns[name] for name in names]
        packing, flags = Packing(tuple(column.card for column in columns)), [unknown_flags(one) for one in columns]
        words, unknown, drawn = [], [], []
        for codes, keys in self.rows.coded():
            mine = [codes[name] for name in names]
            words.append(packing.pack(mine))
            unknown.append(np.bitwise_or.reduce([flag[code] for flag, code in zip(flags, mine, strict=True)]))
            drawn.append(self.problem.keys.bits(_SHARES, keys))
        draws = np.concatenate(drawn)
        share = (draws % np.uint64(count)).astype(np.int32)
        order = np.lexsort((draws, *np.concatenate(words, axis=1)))
        order = order[np.concatenate(unknown)[order] == 0]
        share[order] = np.arange(order.size) % max(order.size // least, 1) % count
        return share


def _outside(part: Part, others: Iterable[Part]) -> list[Part]:
    return [one for one in others if one.stop <= part.first or one.first >= part.stop]


def _groups(method: Algorithm, problem: Problem) -> Grouping | Bucketed | Averaged:
    found = method.run(problem)
    if isinstance(found, CellGrouping):
        found = by_rows(problem, found)
    if not isinstance(found, Grouping | Bucketed | Averaged) or found.counterfeits is not None:
        raise ParameterError(f"'{method.name}' makes no groups of records, so it cannot go part by part.")
    return found


def halved(rows: PartedRows, most: int) -> Part:
    """All rows, cut until every leaf has at most so many.

    A cut is at the median of the widest column, by histograms that the engine counts. A column whose median leaves next
    to nothing on one side is passed over, since hardly a model holds in a few rows.
    """
    cards = np.array([column.card - 1 for column in rows.domain.quasi], dtype=np.int64)
    return _halved(rows, np.zeros_like(cards), cards, most, 0)


def _halved(rows: PartedRows, low: np.ndarray, high: np.ndarray, most: int, first: int) -> Part:
    low, high = rows.ranges(low, high)
    cut = _cut(rows, low, high, most)
    if cut is None:
        return Part(low, high, first, first + 1)
    place, at = cut
    highest, lowest = high.copy(), low.copy()
    highest[place], lowest[place] = at, at + 1
    lower = _halved(rows, low, highest, most, first)
    upper = _halved(rows, lowest, high, most, lower.stop)
    return Part(low, high, first, upper.stop, cut, (lower, upper))


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


def leaf_of_rows(rows: PartedRows, root: Part) -> np.ndarray:
    """int32 number of the leaf that every row is in."""
    found, at, quasi = np.empty(rows.domain.n, dtype=np.int32), 0, rows.domain.schema.quasi
    for codes, keys in rows.coded():
        waiting = [(root, np.arange(at, at + keys.size))]
        while waiting:
            part, mine = waiting.pop()
            if part.cut is None:
                found[mine] = part.first
                continue
            place, last = part.cut
            below = codes[quasi[place]][mine - at] <= last
            waiting += [(part.sides[0], mine[below]), (part.sides[1], mine[~below])]
        at += keys.size
    return found
