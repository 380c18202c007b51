"""The last few records of K-Members, fewer than k: each joins the cluster that it costs least."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from shoal.kernels.cluster.protection import PAIRS, SPREAD, TIE, Guide, is_known, mean_closeness
from shoal.kernels.frozen.price.cells import Prices, helper, whole_of, wide
from shoal.kernels.frozen.price.extents import Extents, clear, extend, own_cell
from shoal.kernels.frozen.price.many import joint_column

# members: (clusters, k) entries; late: (leftovers, 2) cluster and entry. cells: extents, with one more for a record
# that looks for its cluster. By column and cluster: now: ticks of the cell; people, near: known values and the
# closeness of all ordered pairs of them, for range diversity. raised: (2, clusters) scratch.
Clusters = namedtuple("Clusters", "members late cells now people near raised")


@helper
def make_clusters(cells: Extents, count: int, k: int, left: int) -> Clusters:
    """Room for so many clusters, all empty."""
    m = cells.low.shape[0]
    return Clusters(
        np.empty((count, k), dtype=np.int64),
        np.empty((left, 2), dtype=np.int64),
        cells,
        np.zeros((m, count), dtype=np.int64),
        np.zeros((m, count), dtype=np.int64),
        np.zeros((m, count), dtype=np.int64),
        np.zeros((2, count + 1), dtype=np.int64),
    )


@helper
def _nearness(cl: Clusters, c: int, placed: int, local: np.ndarray, close: np.ndarray) -> int:
    """Closeness of a value to all members of a cluster, given its closeness to every value."""
    total = wide(0)
    for i in range(cl.members.shape[1]):
        total += close[local[cl.members[c, i]]]
    for i in range(placed):
        if cl.late[i, 0] == c:
            total += close[local[cl.late[i, 1]]]
    return total


@helper
def raise_column(p: Prices, guide: Guide, cl: Clusters, sizes: np.ndarray, a: int, x: int, grown: np.ndarray) -> None:
    """Add to ``raised`` what a value would change in every cluster; unknown values change nothing."""
    count = sizes.size
    role = guide.role[a]
    clear(cl.cells, count)
    extend(p, cl.cells, count, a, x)
    for c in range(count):
        grown[c] = 0
    joint_column(p, cl.cells, count, a, wide(0), count, grown)
    now = cl.now[a]
    deciding = cl.raised[1 if role == TIE else 0]
    for c in range(count):
        if role == SPREAD:
            deciding[c] -= grown[c] - now[c]
        else:
            deciding[c] += (sizes[c] + 1) * grown[c] - sizes[c] * now[c]


@helper
def raise_pairs(p: Prices, cl: Clusters, placed: int, a: int, local: np.ndarray, close: np.ndarray) -> None:
    """The same for range diversity; ``close``: the value's closeness to every value, ``local``: values by entry."""
    whole = whole_of(p, a)
    for c in range(cl.now.shape[1]):
        near, people = cl.near[a, c], cl.people[a, c]
        more = whole + _nearness(cl, wide(c), placed, local, close)
        cl.raised[0, c] += mean_closeness(near + more, people + 1) - mean_closeness(near, people)


@helper
def least_raised(cl: Clusters) -> int:
    """The cluster that is raised least, of equals the first."""
    best = wide(0)
    for c in range(1, cl.now.shape[1]):
        if cl.raised[0, c] < cl.raised[0, best] or (
            cl.raised[0, c] == cl.raised[0, best] and cl.raised[1, c] < cl.raised[1, best]
        ):
            best = wide(c)
    return best


@helper
def admit(
    p: Prices, guide: Guide, cl: Clusters, c: int, placed: int, a: int, x: int, local: np.ndarray, close: np.ndarray
) -> None:
    """Put a value into a cluster."""
    if not is_known(guide, a, x):
        return
    if guide.role[a] == PAIRS:
        cl.near[a, c] += whole_of(p, a) + _nearness(cl, c, placed, local, close)
        cl.people[a, c] += 1
    extend(p, cl.cells, c, a, x)
    cl.now[a, c] = own_cell(p, cl.cells, c, a)
