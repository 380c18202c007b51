"""Bottom-up local recoding (Xu et al. 2006): groups that are too small join the group with which they cost least."""

from __future__ import annotations

import numpy as np

from shoal.kernels import _native
from shoal.kernels.cores import share
from shoal.kernels.price.cells import Prices


def merge_entries(
    p: Prices, codes: np.ndarray, counts: np.ndarray, starts: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Merge entries (equal records) until no group has fewer than k records; one core or several do the same.

    Cost: O(entries squared times columns) in each part.

    Parameters
    ----------
    codes
        int32 (columns, entries), in the order of their first records within each part.
    counts
        int64, records of each entry.
    starts
        int64, first entry of each part, and their number.

    Returns
    -------
    parent, passes
        int64: an earlier entry of the same group, or itself; passes over the groups of each part.
    """
    parent = np.empty(counts.size, dtype=np.int64)
    passes = np.empty(starts.size - 1, dtype=np.int64)

    def merge(part: int) -> None:
        passes[part] = _native.merge_part(p, codes, counts, starts[part], starts[part + 1], k, parent)

    share(passes.size, merge)
    return parent, passes


def roots(parent: np.ndarray) -> np.ndarray:
    """Find the first entry of each entry's group in O(entries); parents (int64) come before their children."""
    out = np.empty(parent.size, dtype=np.int64)
    _native.find_roots(parent, out)
    return out
