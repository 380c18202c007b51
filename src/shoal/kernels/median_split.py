"""Median-based pre-partitioning (Loukides 2008, Algorithm 2): halve rows along their widest column, again and again.

Rows are moved, and parts shared out among cores, as in Mondrian. Columns that cost nothing are moved along.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from shoal.kernels import _native
from shoal.kernels.cores import share
from shoal.kernels.mondrian import PARALLEL_FROM, TASKS, Work
from shoal.kernels.prices import Prices, make_group_extents


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


# ----------------------------------------
# Records in subspaces, and the clusters and leftovers of each subspace; shared by TOC and UPC.


# codes: int16 or int32 (n, columns), rows subspace after subspace; subjects: int32 a row, empty when rows are people;
# turn: int32 a row, the lowest is the next seed, empty for rows as they stand.
Pool = namedtuple("Pool", "codes subjects turn")
# ids: int32, slot of each row's cluster, -1 for a leftover; queue: int32, from the start of each subspace on, its
# leftovers in order of appearance; clusters, left: int64, how many of both each subspace has.
Found = namedtuple("Found", "ids queue clusters left")
# One a slot: cells (see `shoal.kernels.prices`), int64 ticks (slots, columns) and int32 rows of a cluster. The
# slots of a subspace that begins at row i begin at i // k, where there is always room because clusters have k rows or
# more. Slots not used have no rows.
Made = namedtuple("Made", "cells now size")

# Subspaces that one core takes at a time, and within which leftovers keep their order.
BLOCK = 64


def nothing_found(n: int, parts: int) -> Found:
    """Make room for the clusters and leftovers of ``parts`` subspaces of ``n`` rows, in O(n)."""
    return Found(
        np.empty(n, dtype=np.int32),
        np.empty(n, dtype=np.int32),
        np.zeros(parts, dtype=np.int64),
        np.zeros(parts, dtype=np.int64),
    )


def nothing_made(n: int, p: Prices, k: int) -> Made:
    """Make room for the clusters of ``n`` rows, in O(n / k times columns)."""
    slots = n // k
    now = np.empty((slots, p.kind.size), dtype=np.int64)
    return Made(make_group_extents(p, slots), now, np.zeros(slots, dtype=np.int32))


def numbered(found: Found, made: Made) -> np.ndarray:
    """Number the clusters of all rows without gaps, int32, in O(n); -1 for a row in none."""
    number = np.cumsum(made.size > 0, dtype=np.int32) - 1
    return np.where(found.ids >= 0, number[found.ids], -1).astype(np.int32)
