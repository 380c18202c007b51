"""Mondrian multidimensional partitioning (LeFevre, DeWitt & Ramakrishnan 2006), with any models as the condition."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.algorithms.base import Problem, sensitive_codes, shuffled_codes
from shoal.algorithms.grouping import Grouper
from shoal.algorithms.links.swapping import is_number, numbers_of
from shoal.algorithms.prices import prices_of
from shoal.data.column import Column
from shoal.data.domain import Domain
from shoal.data.rows import ArrayRows, Frequency
from shoal.data.stats import Attribute, counted_by_rows
from shoal.data.table import Table
from shoal.errors import ParameterError
from shoal.kernels.grouping import count_about
from shoal.kernels.mondrian import Aim, Judged, Options, Work, partition
from shoal.kernels.rules import EXTENT, SIZE, Tallies
from shoal.params import choice, nearest
from shoal.recoding.recodings import CellGrouping, Grouping

# ----------------------------------------
# The column that cuts are to serve, as the kernels take it.


AIMS = ("info-gain", "lsd")
# Squares of numbers are summed in 64 bits.
_BITS = 61


@dataclass(frozen=True, eq=False)
class Target:
    """What cuts serve: a column counted by rows, and where they go by its numbers, a whole number a code.

    ``unit`` is what the square of one is of the column's variance.
    """

    attribute: Attribute
    numbers: np.ndarray
    unit: float = 1.0

    def of_rows(self, table: Table) -> Aim:
        """As kernels take it that cut rows."""
        labels = table.values(self.attribute).astype(np.int32)
        return Aim(labels, self.attribute.card, self.numbers, self.unit, None, None)

    def of_cells(self, frequency: Frequency) -> Aim:
        """As kernels take it that cut cells."""
        found = frequency.histograms[self.attribute.key]
        labels, counts = found.codes.astype(np.int32), found.counts.astype(np.int64)
        return Aim(labels, self.attribute.card, self.numbers, self.unit, found.indptr, counts)


def target_of(domain: Domain, cut: str, name: str | None) -> Target | None:
    """The named target, the first sensitive attribute when none is named; None for cuts that serve none."""
    if cut not in AIMS:
        return None
    column = domain.columns[_named(domain, name)]
    if cut == "info-gain":
        return Target(counted_by_rows(column), np.empty(0, dtype=np.int64))
    if not is_number(column):
        raise ParameterError(f"The cut 'lsd' is for numbers, and '{column.name}' has none: cut by 'info-gain' instead.")
    return Target(counted_by_rows(column), *_numbers(column))


def _numbers(column: Column) -> tuple[np.ndarray, float]:
    """Numbers of a column's codes about their mean, as whole ones, and what the square of one is of their variance.

    They are as fine as 64 bits allow, and exact where they are whole already and not too large, so that sums do not
    depend on what is added first. A missing number deviates from no mean, as far as that can be said: it stands at the
    column's.
    """
    values = numbers_of(column) if column.numbers is None else column.positions[: column.numbers.size]
    rows, places = column.frequencies[: values.size], values - values.min(initial=np.inf)
    n = max(int(rows.sum()), 1)
    away = places - float(rows @ places) / n
    squares = float(rows @ (away * away))
    if squares <= 0.0:
        return np.zeros(column.card, dtype=np.int64), 1.0
    fine = 2.0 ** min((_BITS - math.frexp(squares)[1]) // 2, 30)
    whole = np.where(rows > 0, np.rint(places * fine) - np.rint(float(rows @ places) / n * fine), 0.0)
    numbers = np.zeros(column.card, dtype=np.int64)
    numbers[: values.size] = whole.astype(np.int64)
    return numbers, n / squares / fine**2


def _named(domain: Domain, target: str | None) -> str:
    known = [*domain.schema.sensitive, *domain.schema.quasi]
    if target is None and domain.schema.sensitive:
        return str(domain.schema.sensitive[0])
    if target is None:
        raise ParameterError("Cuts for a target need one: name a sensitive column or a quasi-identifier as 'target'.")
    if target not in known:
        near = nearest(target, known)
        hint = f"Did you mean '{near}'?" if near else f"There are: {', '.join(known)}."
        raise ParameterError(f"The target '{target}' is no sensitive column and no quasi-identifier. {hint}")
    return target


@dataclass(frozen=True, kw_only=True)
class Mondrian(Grouper):
    """Cut the table in two along one column while both sides satisfy every model; O(m n log n).

    Parameters
    ----------
    mode
        ``strict`` keeps equal rows together; ``relaxed`` lets rows equal to the median go to either side.
    cut
        ``best`` takes the cut with the smallest summed loss of both sides over all columns and values. ``widest`` is
        the paper's: the median of the column with the widest normalised range, then the next; quicker, and usually
        much more lossy. ``info-gain`` and ``lsd`` take the cut that leaves least to be told about the target: the least
        entropy of its values on both sides, or the least squared deviation from their means.
    fallback_lt
        In strict mode, also try below / from the median when up to / above it is not allowed.
    target
        What the last two cuts serve: a sensitive column or a quasi-identifier; the first sensitive one by default.

    Examples
    --------
    >>> Mondrian(k=5, cut="widest").parameters()
    {'name': 'mondrian', 'suppression_limit': 0.0, 'mode': 'strict', 'cut': 'widest', 'fallback_lt': False}
    """

    name: ClassVar[str] = "mondrian"
    # Both sides of every cut satisfy the models.
    mends: ClassVar[bool] = False
    keeps_sets: ClassVar[bool] = False
    mode: str = "strict"
    cut: str = "best"
    fallback_lt: bool = False
    target: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        choice("Mondrian", "mode", self.mode, ("strict", "relaxed"))
        choice("Mondrian", "cut", self.cut, ("best", "widest", *AIMS))
        if self.target is not None and self.cut not in AIMS:
            raise ParameterError("The target of Mondrian is for the cuts 'info-gain' and 'lsd': leave it out.")

    def group(self, problem: Problem) -> Grouping | CellGrouping:
        """Partition all rows, or the cells of the frequency table in their place."""
        target = target_of(problem.domain, self.cut, self.target)
        if self._cuts_cells(problem):
            return self._group_cells(problem, target)
        table, progress = problem.table, problem.progress
        progress("cutting the table")
        order, codes = shuffled_codes(problem)
        work = Work(codes, np.empty_like(codes), order, np.empty_like(order), np.zeros(table.n, dtype=np.uint8))
        least, judged = condition(problem)
        ids, groups = self._cut(problem, work, least, judged, None if target is None else target.of_rows(table))
        return Grouping(ids=ids, groups=groups)

    @property
    def from_cells(self) -> bool:
        """Equal rows are cut as one where they stay together."""
        return self.mode == "strict" and self.polishes is None

    def by_cells(self, domain: Domain) -> bool:
        """The same, and what is counted adds up over cells."""
        return self.from_cells and not domain.by_people

    def _cuts_cells(self, problem: Problem) -> bool:
        """Whether equal rows are cut as one.

        Rows that are in memory are cut one by one where most are alone in their cell, which then saves nothing.
        """
        rows = problem.rows
        if self.mode != "strict" or rows.domain.by_people:
            return False
        if isinstance(rows, ArrayRows):
            return count_about([rows.table.codes[name] for name in rows.domain.schema.quasi]) <= rows.domain.n // 2
        if self.polishes is not None:
            raise ParameterError("Polish moves rows one by one, for which they must be in memory: use that engine.")
        return True

    def _group_cells(self, problem: Problem, target: Target | None) -> CellGrouping:
        problem.progress("counting equal rows")
        least, rows_only = fewest(problem)
        attributes = [] if rows_only else problem.judge.attributes
        wanted = [*attributes, *([] if target is None else [target.attribute])]
        frequency = problem.rows.frequency(list({one.key: one for one in wanted}.values()))
        judged = None if rows_only else (problem.judge.rules, None, tallies_of(frequency, attributes))
        problem.progress("cutting the table")
        codes = np.ascontiguousarray(frequency.codes.T, dtype=np.int32)
        order = np.arange(frequency.rows.size, dtype=np.int32)
        moved = codes, np.empty_like(codes), order, np.empty_like(order), np.zeros(order.size, dtype=np.uint8)
        work = Work(*moved, frequency.rows.astype(np.int64), np.empty(order.size, dtype=np.int64))
        aim = None if target is None else target.of_cells(frequency)
        ids, groups = self._cut(problem, work, least, judged, aim)
        return CellGrouping(ids=ids, groups=groups)

    def _cut(
        self, problem: Problem, work: Work, least: int, judged: Judged, aim: Aim | None
    ) -> tuple[np.ndarray, int]:
        """Group of every row or cell, and how many there are."""
        options = Options(least, self.mode == "relaxed", self.fallback_lt)
        partition(work, prices_of(problem.domain), judged, options, self.cut != "widest", aim)
        ids = np.empty(work.order.size, dtype=np.int32)
        ids[work.order] = np.cumsum(work.ends) - work.ends
        return ids, int(work.ends.sum())


def condition(problem: Problem) -> tuple[int, Judged]:
    """Fewest rows of a side, and what else it has to satisfy, None where the number of rows decides alone."""
    least, rows_only = fewest(problem)
    return least, None if rows_only else (problem.judge.rules, sensitive_codes(problem), None)


def fewest(problem: Problem) -> tuple[int, bool]:
    """Fewest rows of a side, and whether their number decides alone."""
    judge = problem.judge
    rows_only = bool(np.isin(judge.rules.op, (SIZE, EXTENT)).all()) and not problem.domain.by_people
    # Some models guide by a size that they do not ask for.
    return max([judge.k, *judge.rules.limit[judge.rules.op == SIZE].astype(int).tolist()]), rows_only


def tallies_of(frequency: Frequency, attributes: Sequence[Attribute]) -> Tallies:
    """Histograms of cells, an attribute after another, as the kernels take them."""
    found = [frequency.histograms[one.key] for one in attributes]
    before = np.cumsum([0, *(one.codes.size for one in found[:-1])])
    return Tallies(
        codes=np.concatenate([one.codes for one in found], dtype=np.int32),
        counts=np.concatenate([one.counts for one in found], dtype=np.int64),
        at=np.stack([one.indptr + start for one, start in zip(found, before, strict=True)]),
        rows=frequency.rows.astype(np.int64),
    )
