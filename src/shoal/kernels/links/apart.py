"""Pairs of alike records from different areas, for record swapping."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import kernel


@kernel
def pair_apart(
    members: np.ndarray, starts: np.ndarray, area: np.ndarray, wanted: np.ndarray, draws: np.ndarray,
    partner: np.ndarray,
) -> None:  # fmt: skip
    """Give every wanted record that has no partner one of its own group, from another area, that has none either.

    From a place drawn at random on, the first that is wanted too is taken, or else the first of all.

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
    for group in range(starts.size - 1):
        first, size = starts[group], starts[group + 1] - starts[group]
        for place in range(size):
            one = members[first + place]
            if wanted[one] == 0 or partner[one] != one:
                continue
            begin = min(int(draws[one] * size), size - 1)
            found = -1
            for step in range(size):
                other = members[first + (begin + step) % size]
                if partner[other] != other or area[other] == area[one]:
                    continue
                if wanted[other] != 0:
                    found = other
                    break
                if found < 0:
                    found = other
            if found >= 0:
                partner[one] = found
                partner[found] = one
