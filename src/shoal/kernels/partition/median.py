"""Median-based pre-partitioning (Loukides 2008, Algorithm 2): halve rows along their widest column, again and again.

Rows are moved, and parts shared out among cores, as Mondrian does it. Columns that cost nothing only move along.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import kernel
from shoal.kernels.cores import share
from shoal.kernels.frozen.price.cells import Prices
from shoal.kernels.partition.mondrian import PARALLEL_FROM, TASKS, Work, lower_median, move, ranges, widest, widths_of


@kernel
def _cut(work: Work, lo: int, hi: int, p: Prices, size: int) -> int:
    """Halve one part; of rows with the median value the first ones go left. Returns the middle, or lo if too small."""
    half = (hi - lo) // 2
    if half < size:
        return lo
    m = work.codes.shape[1]
    low = np.empty(m, dtype=np.int32)
    high = np.empty(m, dtype=np.int32)
    ranges(work.codes, lo, hi, low, high)
    a = widest(widths_of(work.codes, lo, hi, p, low, high))
    if low[a] == high[a]:
        return lo + half  # all rows are alike, and in order already
    value, below = lower_median(work.codes, lo, hi, a, (low[a], high[a]), None)
    return move(work, lo, hi, a, value, half - below)


@kernel
def _finish(work: Work, starts: np.ndarray, first: int, last: int, p: Prices, size: int) -> None:
    """Halve the part between two known starts to the end, filling in the starts between them."""
    step = last - first
    while step > 1:
        for at in range(first, last, step):
            starts[at + step // 2] = _cut(work, starts[at], starts[at + step], p, size)
        step //= 2


def _finish_parallel(work: Work, starts: np.ndarray, p: Prices, size: int) -> None:
    """Level by level until there are enough parts to share out, then part by part."""
    step = starts.size - 1
    tasks = 1
    while tasks < TASKS and step > 1:

        def cut(task: int, step: int = step) -> None:
            at = task * step
            starts[at + step // 2] = _cut(work, starts[at], starts[at + step], p, size)

        share(tasks, cut)
        step //= 2
        tasks *= 2
    share(tasks, lambda task: _finish(work, starts, task * step, (task + 1) * step, p, size))


def halve(codes: np.ndarray, p: Prices, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Subspaces of ``size`` to 2 ``size`` - 1 rows (all rows, when there are fewer); O(m n log(n / size)).

    The column is the one whose cell costs most; of equals the first. Rows equal to the median are shared out in the
    given order.

    Parameters
    ----------
    codes
        int16 or int32, shape (n, m): **moved in place**, so that afterwards ``codes[i]`` is given row ``order[i]``.
    size
        Fewest rows of a subspace (s).

    Returns
    -------
    order, starts
        int32 (n,): the given rows, subspace after subspace, in the given order within each; int64
        (subspaces + 1,): where each begins, and n.
    """
    n = codes.shape[0]
    order = np.arange(n, dtype=np.int32)
    parts, largest = 1, n
    while largest >= 2 * size:
        parts, largest = 2 * parts, largest - largest // 2
    starts = np.zeros(parts + 1, dtype=np.int64)
    starts[parts] = n
    work = Work(codes, np.empty_like(codes), order, np.empty_like(order), np.empty(0, dtype=np.uint8))
    if n < PARALLEL_FROM:
        _finish(work, starts, 0, parts, p, size)
    else:
        _finish_parallel(work, starts, p, size)
    # Halves of one level differ by a row, so that on the last one some parts are too small to be cut.
    return order, np.unique(starts)
