"""Near records of every record: windows in several sorted orders, then the neighbours of neighbours."""

from __future__ import annotations

import numpy as np

from shoal.kernels import _native
from shoal.kernels.cores import share_rows
from shoal.kernels.price.cells import Prices

_LEAST = 256  # rows that are worth a thread


def offer_windows(
    codes: np.ndarray, p: Prices, order: np.ndarray, width: int, near: np.ndarray, distance: np.ndarray
) -> None:
    """Offer every record the ``width`` records on either side of it in a sorted order.

    Lists of neighbours are updated in place, nearest first. Cost: O(records times width times columns).

    Parameters
    ----------
    codes
        int32 (columns, records); copied unless each record's codes are next to each other in memory.
    order
        int32, records as sorted.
    near, distance
        int32 and int64 (records, neighbours): neighbours of each record, -1 for none, and the ticks that they cost.
    """
    records = np.ascontiguousarray(codes.T)
    share_rows(
        order.size,
        lambda first, last: _native.offer_windows(records, p, order, width, near, distance, first, last),
        _LEAST,
    )


def offer_neighbours(codes: np.ndarray, p: Prices, near: np.ndarray, distance: np.ndarray) -> None:
    """Offer every record the nearest neighbours of its nearest neighbours; arguments are those of `offer_windows`."""
    records, before = np.ascontiguousarray(codes.T), near.copy()
    share_rows(
        near.shape[0],
        lambda first, last: _native.offer_neighbours(records, p, before, near, distance, first, last),
        _LEAST,
    )
