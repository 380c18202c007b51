"""Median-based pre-partitioning (Loukides 2008, Algorithm 2): halve rows along their widest column, again and again.

Rows are moved, and parts shared out among cores, as in Mondrian. Columns that cost nothing are moved along.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels import _native
from shoal.kernels.cores import share
from shoal.kernels.partition.mondrian import PARALLEL_FROM, TASKS, Work
from shoal.kernels.price.cells import Prices


def _finish_parallel(work: Work, starts: np.ndarray, p: Prices, size: int) -> None:
    """Level by level until there are enough parts to share out, then part by part."""
    step = starts.size - 1
    tasks = 1
    while tasks < TASKS and step > 1:

        def cut(task: int, step: int = step) -> None:
            at = task * step
            starts[at + step // 2] = _native.halve_part(work, starts[at], starts[at + step], p, size)

        share(tasks, cut)
        step //= 2
        tasks *= 2
    share(tasks, lambda task: _native.halve_parts(work, starts, task * step, (task + 1) * step, p, size))


def halve(codes: np.ndarray, p: Prices, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Split rows into subspaces of ``size`` to 2 ``size`` - 1 (all, when there are fewer), in O(m n log(n / size)).

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
        _native.halve_parts(work, starts, 0, parts, p, size)
    else:
        _finish_parallel(work, starts, p, size)
    # Halves of one level differ by a row, so that on the last one some parts are too small to be cut.
    return order, np.unique(starts)
