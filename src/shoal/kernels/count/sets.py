"""Sets of codes as lists side by side: they take room for the codes that are in them, however many others there are."""

from __future__ import annotations

import numpy as np

from shoal.kernels import _native


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
