"""Partitioning by an R⁺-tree: records are inserted, full leaves split, and every leaf is a group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.algorithms.base import Problem, shuffled_codes
from shoal.algorithms.grouping import Grouper
from shoal.algorithms.mondrian import condition
from shoal.algorithms.prices import prices_of
from shoal.errors import ParameterError
from shoal.kernels.mondrian import Judged, Options, Work, cut_parts
from shoal.kernels.prices import Prices
from shoal.params import whole
from shoal.recoding.recodings import Grouping

# A leaf of 2k records can be split in one place a column, if at all; this many times k leave a choice.
_FULL = 3


@dataclass(frozen=True, kw_only=True)
class RPlusTree(Grouper):
    """Insert records, in the keyed order, into leaves whose regions never overlap; O(m n log n).

    A leaf of more than ``capacity`` records is split in two along one column, where both sides satisfy every model and
    the summed loss is smallest; whatever comes later goes to the side that it belongs to. A leaf without such a place
    takes more, and is tried again when it has doubled. Groups are generalised to the extent of their records, not to
    their regions. Splits look at the records that came first, so that the tree can be built while records arrive.

    Parameters
    ----------
    capacity
        Most records of a leaf, at least 2k - 1; by default 3k.

    Examples
    --------
    >>> RPlusTree(k=5, capacity=20).parameters()
    {'name': 'r-tree', 'suppression_limit': 0.0, 'capacity': 20}
    """

    name: ClassVar[str] = "r-tree"
    capacity: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.capacity is not None:
            whole("RPlusTree", "capacity", self.capacity, least=1)

    def group(self, problem: Problem) -> Grouping:
        """Grow the tree and number its leaves."""
        least, judged = condition(problem)
        capacity = _FULL * least if self.capacity is None else self.capacity
        if capacity < 2 * least - 1:
            raise ParameterError(
                f"The 'capacity' of RPlusTree must be at least {2 * least - 1}, to be split. Got {capacity}."
            )
        problem.progress("inserting records")
        order, codes = shuffled_codes(problem)
        tree = Tree(codes, order, prices_of(problem.domain), judged, Options(least, False, False))
        ids = np.empty(order.size, dtype=np.int32)
        waiting, groups = [np.arange(order.size)], 0
        while waiting:
            rows = waiting.pop()
            sides = tree.split(rows, capacity)
            if sides is None:
                ids[order[rows]] = groups
                groups += 1
            else:
                waiting += sides
        return Grouping(ids=ids, groups=groups, notes={"capacity": capacity, "leaves": groups})


@dataclass(frozen=True, eq=False)
class Tree:
    """Records in the order in which they come, and what a split has to keep."""

    codes: np.ndarray
    order: np.ndarray
    prices: Prices
    judged: Judged
    options: Options

    def split(self, rows: np.ndarray, capacity: int) -> list[np.ndarray] | None:
        """Both sides of a region that all of some records fall into, each in their order; None where it stays whole.

        What decides are the records that had come when the leaf was first too full, or had doubled since.
        """
        size = capacity + 1
        while rows.size >= size:
            cut = self._cut(rows[:size])
            if cut is not None:
                left = self.codes[rows, cut[0]] <= cut[1]
                return [rows[~left], rows[left]]
            size = 2 * size
        return None

    def _cut(self, rows: np.ndarray) -> tuple[int, int] | None:
        """Column and last value on the left of the best allowed split of some records."""
        codes, order = self.codes[rows], self.order[rows]
        work = Work(codes, np.empty_like(codes), order, np.empty_like(order), np.zeros(rows.size, dtype=np.uint8))
        starts = np.array([0, rows.size], dtype=np.int64)
        middle = int(cut_parts(work, starts, self.prices, self.judged, self.options, True, None, True)[0])
        if middle == 0:
            return None
        left, right = codes[:middle].max(axis=0), codes[middle:].min(axis=0)
        column = int(np.argmax(left < right))
        return column, int(left[column])
