"""Anatomy's groups: one record each from the l largest buckets, again and again (Xiao & Tao 2006)."""

from __future__ import annotations

import numpy as np

from shoal.kernels import _native


def draw_groups(codes: np.ndarray, card: int, l: int) -> np.ndarray:  # noqa: E741
    """Draw groups of l records with different values, in O(n log card): int32 group of every record, -1 for none.

    Records are left when fewer than l buckets are.

    Parameters
    ----------
    codes
        int32, value of each record from 0 to ``card`` - 1, in keyed order: which record of a bucket is drawn, and which
        of equally large buckets, is then as random as that order.
    """
    ids = np.empty(codes.size, dtype=np.int32)
    _native.draw_groups(codes, card, l, ids)
    return ids
