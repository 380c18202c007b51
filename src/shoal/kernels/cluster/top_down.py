"""Top-down local recoding (Xu et al. 2006): part records around two that are far apart, again and again.

Groups that are too small in the end are filled from a large one or merged, whichever costs less.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels import _native
from shoal.kernels.cores import share
from shoal.kernels.prices import Prices


def partition_part(
    p: Prices,
    codes: np.ndarray,
    local: np.ndarray,
    values: np.ndarray,
    value_at: np.ndarray,
    key: np.ndarray,
    k: int,
    ids: np.ndarray,
    repaired: np.ndarray,
) -> int:
    """Group the records of one part: fill ids, count repairs, and return how many groups there are.

    Cost: O(columns times records) for each level of bisections, and O(groups) for each repair.

    Parameters
    ----------
    codes, local
        int32 (columns, records): code, and its number among the part's values.
    values, value_at
        int32 and int64 (columns + 1): the part's values, one column after another, and where those of each begin.
    key
        uint64, shape (3,): key of the random draws, and the part's first place.
    ids
        int32, group of each record, numbered from 0.
    repaired
        int64, shape (3,): groups merged, filled, and bisected after a merger are added to it.
    """
    return int(_native.partition_part(p, codes, local, values, value_at, key, k, ids, repaired))


def partition_parts(
    p: Prices,
    codes: np.ndarray,
    local: np.ndarray,
    values: np.ndarray,
    value_at: np.ndarray,
    starts: np.ndarray,
    key: np.ndarray,
    k: int,
    ids: np.ndarray,
    repaired: np.ndarray,
    counts: np.ndarray,
) -> None:
    """Group the records of every part as `partition_part` does; one core or several give the same groups.

    Parts begin at ``starts`` (int64, with the number of records at the end); ``value_at`` is int64
    (parts, columns + 1), ``repaired`` int64 (parts, 3), and ``counts`` (int64) gets the number of groups. The cost is
    that of every part.
    """

    def partition(q: int) -> None:
        first, last = starts[q], starts[q + 1]
        at, end = value_at[q, 0], value_at[q, value_at.shape[1] - 1]
        counts[q] = partition_part(
            p,
            np.ascontiguousarray(codes[:, first:last]),
            np.ascontiguousarray(local[:, first:last]),
            values[at:end],
            value_at[q] - at,
            np.array([key[0], key[1], np.uint64(first)]),
            k,
            ids[first:last],
            repaired[q],
        )

    share(counts.size, partition)
