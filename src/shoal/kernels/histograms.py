"""Count the values of each group: sparse histograms in compressed rows, sorted by code.

Groups are given as ``rows`` (int32, rows of group 0, then of group 1, ...) and ``offsets`` (int64, groups + 1: where
each group begins), as `bucket_rows` makes them.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels import _native


def bucket_rows(ids: np.ndarray, groups: int) -> tuple[np.ndarray, np.ndarray]:
    """Order rows by group in O(rows + groups), keeping their order within each: int32 rows, int64 offsets (groups + 1).

    ``ids`` is int32, one group number a row; rows with a negative one are left out.
    """
    offsets = np.empty(groups + 1, dtype=np.int64)
    return _native.bucket_rows(ids, offsets), offsets


def histograms(
    rows: np.ndarray, offsets: np.ndarray, values: np.ndarray, card: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Count each value among the rows of each group.

    Cost: O(rows log rows of a group), or O(rows + groups of more than card rows times card).

    Parameters
    ----------
    rows, offsets
        int32 and int64, as from `bucket_rows`.
    values
        int32, one a row of the table, from 0 to ``card`` - 1.

    Returns
    -------
    tuple
        int64 indptr (groups + 1): where each group's entries begin; int32 codes; int64 counts.
    """
    indptr = np.empty(offsets.size, dtype=np.int64)
    return indptr, *_native.histograms(rows, offsets, values, card, indptr)


def subject_histograms(
    rows: np.ndarray, offsets: np.ndarray, values: np.ndarray, subjects: np.ndarray, n_subjects: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Count the distinct subjects with each value among the rows of each group, in O(rows log rows); see `histograms`.

    ``subjects`` is int32, one a row of the table, from 0 to ``n_subjects`` - 1.
    """
    indptr = np.empty(offsets.size, dtype=np.int64)
    return indptr, *_native.subject_histograms(rows, offsets, values, subjects, n_subjects, indptr)


def known_sizes(
    rows: np.ndarray, offsets: np.ndarray, subjects: np.ndarray, flags: np.ndarray, values: np.ndarray
) -> np.ndarray:
    """Count the records of each group (people, where ``subjects`` is not empty) whose value is not flagged.

    ``rows`` and ``offsets`` are those of `bucket_rows`, ``subjects`` is int32, one a row of the table. ``flags`` is
    uint8, one a value of ``values`` (int32, one a row); where it is empty, all records are counted. The result is
    int64, one a group. Cost: O(rows), with subjects O(rows log rows of a group).
    """
    sizes = np.empty(offsets.size - 1, dtype=np.int64)
    _native.known_sizes(rows, offsets, subjects, flags, values, sizes)
    return sizes


# ----------------------------------------
# Sets of codes as lists side by side: they take room for the codes that are in them, however many others there are.


def group_sets(codes: np.ndarray, ids: np.ndarray, groups: int, card: int) -> tuple[np.ndarray, np.ndarray]:
    """List the different codes of each group in ascending order, in O(rows + groups + card).

    Parameters
    ----------
    codes
        int32, one a row, below ``card``.
    ids
        int32, one group number a row; rows with a negative one are left out.

    Returns
    -------
    tuple
        int64 start of every group's codes, one more at the end, and int32 codes.
    """
    starts = np.empty(groups + 1, dtype=np.int64)
    return starts, _native.group_sets(codes, ids, card, starts)


def number_sets(starts: np.ndarray, members: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number sets by first appearance, in O(members): int32 number of every set, int64 first set of every number.

    ``starts`` (int64, sets + 1) tells where the codes of each set begin in ``members`` (int32); see `group_sets`.
    """
    numbers = np.empty(starts.size - 1, dtype=np.int32)
    return numbers, _native.number_sets(starts, members, numbers)
