"""Extents of groups: lowest and highest code."""

from __future__ import annotations

import numpy as np

from shoal.kernels import _native


def group_ranges(codes: np.ndarray, ids: np.ndarray, groups: int) -> tuple[np.ndarray, np.ndarray]:
    """Find the lowest and the highest of ``codes`` (int32) in each group, both int32, in O(rows + groups).

    ``ids`` is int32, one group number a row; rows with a negative one are left out. Of a group without rows the lowest
    is above the highest.
    """
    low, high = np.empty(groups, dtype=np.int32), np.empty(groups, dtype=np.int32)
    _native.group_ranges(codes, ids, low, high)
    return low, high
