"""Pairs of alike records from different areas, for record swapping."""

from __future__ import annotations

import numpy as np

from shoal.kernels import _native


def pair_apart(
    members: np.ndarray,
    starts: np.ndarray,
    area: np.ndarray,
    wanted: np.ndarray,
    draws: np.ndarray,
    partner: np.ndarray,
) -> None:
    """Give every wanted record that has no partner one of its own group, from another area, that has none either.

    From a place drawn at random on, the first that is wanted too is taken, or else the first of all. Cost: O(wanted
    records times records of a group) at worst.

    Parameters
    ----------
    members, starts
        int64, records group after group, and where each group begins, with the number of records at the end.
    area
        int32 area of each record.
    wanted
        uint8 flag a record.
    draws
        float64 from 0 to 1, one a record.
    partner
        int64 partner of each record, itself where it has none; changed in place.
    """
    _native.pair_apart(members, starts, area, wanted, draws, partner)
