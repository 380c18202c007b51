"""Mondrian multidimensional partitioning (LeFevre, DeWitt & Ramakrishnan 2006), with any models as the condition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.algorithms.base import Problem, sensitive_codes, shuffled_codes
from shoal.algorithms.grouping import Grouper
from shoal.algorithms.partition.aim import AIMS, aim_of
from shoal.algorithms.prices import prices_of
from shoal.errors import ParameterError
from shoal.kernels.judge.rules import EXTENT, SIZE
from shoal.kernels.partition.mondrian import Judged, Options, Work, partition
from shoal.params import choice
from shoal.recoding.recodings import Grouping


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

    def group(self, problem: Problem) -> Grouping:
        """Partition all rows."""
        table = problem.table
        problem.progress("cutting the table")
        order, codes = shuffled_codes(problem)
        work = Work(
            codes, np.empty_like(codes), order, np.empty_like(order), np.zeros(table.n, dtype=np.uint8)
        )
        least, judged = condition(problem)
        options = Options(least, self.mode == "relaxed", self.fallback_lt)
        aim = aim_of(problem, self.cut, self.target)
        partition(work, prices_of(table.domain), judged, options, self.cut != "widest", aim)
        ids = np.empty(table.n, dtype=np.int32)
        ids[order] = np.cumsum(work.ends) - work.ends
        return Grouping(ids=ids, groups=int(work.ends.sum()))


def condition(problem: Problem) -> tuple[int, Judged]:
    """Fewest rows of a side, and what else it has to satisfy, None where the number of rows decides alone."""
    table, judge = problem.table, problem.judge
    rows_only = bool(np.isin(judge.rules.op, (SIZE, EXTENT)).all()) and table.subjects is None
    # Some models guide by a size that they do not ask for.
    least = max([judge.k, *judge.rules.limit[judge.rules.op == SIZE].astype(int).tolist()])
    return least, None if rows_only else (judge.rules, sensitive_codes(problem))
