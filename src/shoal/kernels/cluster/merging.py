"""Bottom-up local recoding (Xu et al. 2006): groups too small join the group with which they cost least."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import kernel
from shoal.kernels.cores import share
from shoal.kernels.frozen.price.cells import Prices, helper, wide
from shoal.kernels.frozen.price.extents import Extents, copy_cells, extend_all, join, make_extents
from shoal.kernels.frozen.price.many import joint_costs


@helper
def _nearest(size: np.ndarray, cost: np.ndarray, g: int, count: int) -> int:
    """The group that costs least as a whole together with ``g``, of equals the first; -1 when there is no other."""
    best = wide(-1)
    least = wide(0)
    for h in range(count):
        whole = (size[g] + size[h]) * cost[h]
        if size[h] > 0 and h != g and (best < 0 or whole < least):
            best, least = wide(h), whole
    return best


@helper
def _compact(ext: Extents, size: np.ndarray, entry: np.ndarray, count: int) -> int:
    """Move the groups that are left together, in their order; returns how many there are."""
    alive = wide(0)
    for g in range(count):
        if size[g] == 0:
            continue
        if alive != g:
            size[alive] = size[g]
            entry[alive] = entry[g]
            copy_cells(ext, wide(g), ext, alive)
        alive += 1
    return alive


@kernel
def _merge_part(
    p: Prices, codes: np.ndarray, counts: np.ndarray, first: int, last: int, k: int, parent: np.ndarray
) -> int:
    """Merge the entries ``first`` to ``last`` until none has fewer than k records; returns the passes it took.

    Groups stay in the order of their first records, because a merged one keeps the lower place.
    """
    count = wide(last - first)
    ext = make_extents(p, count)
    size = np.empty(count, dtype=np.int64)
    entry = np.empty(count, dtype=np.int64)
    cost = np.empty(count, dtype=np.int64)
    met = np.empty(count, dtype=np.uint8)
    for g in range(count):
        extend_all(p, ext, wide(g), codes, first + g)
        size[g] = counts[first + g]
        entry[g] = first + g
        parent[first + g] = first + g
    passes = 0
    merged = True
    while merged and count > 1:
        merged = False
        for g in range(count):
            met[g] = 0
        for g in range(count):
            if size[g] == 0 or size[g] >= k or met[g] == 1:
                continue
            joint_costs(p, ext, wide(g), wide(0), count, cost)
            h = _nearest(size, cost, wide(g), count)
            if h < 0:
                break
            keep, gone = min(wide(g), h), max(wide(g), h)
            join(ext, keep, gone)
            size[keep] += size[gone]
            size[gone] = 0
            parent[entry[gone]] = entry[keep]
            met[keep] = 1
            merged = True
        passes += merged
        count = _compact(ext, size, entry, count)
    return passes


def merge_entries(
    p: Prices, codes: np.ndarray, counts: np.ndarray, starts: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Merge entries (equal records) until no group has fewer than k records; one core or several do the same.

    Parameters
    ----------
    codes
        int32 (columns, entries), in the order of their first records within each part.
    counts
        Records of each entry.
    starts
        First entry of each part, and their number.

    Returns
    -------
    parent, passes
        An earlier entry of the same group, or itself; passes over the groups of each part.
    """
    parent = np.empty(counts.size, dtype=np.int64)
    passes = np.empty(starts.size - 1, dtype=np.int64)

    def merge(part: int) -> None:
        passes[part] = _merge_part(p, codes, counts, starts[part], starts[part + 1], k, parent)

    share(passes.size, merge)
    return parent, passes


@kernel
def roots(parent: np.ndarray) -> np.ndarray:
    """The first entry of each entry's group; parents always come before their children."""
    out = np.empty(parent.size, dtype=np.int64)
    for i in range(parent.size):
        out[i] = i if parent[i] == i else out[parent[i]]
    return out
