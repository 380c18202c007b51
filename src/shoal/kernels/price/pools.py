"""Records in subspaces, and what clustering a subspace leaves behind; shared by TOC and UPC."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from shoal.kernels.compiled import kernel
from shoal.kernels.price.geometry import Geometry

# codes: (n, columns), rows subspace after subspace; subjects: int32 a row, empty when rows are people; turn: int32 a
# row, the lowest is the next seed, empty for rows as they stand.
Pool = namedtuple("Pool", "codes subjects turn")
# ids: slot of each row's cluster, -1 for a leftover; queue: from the start of each subspace on, its leftovers in order
# of appearance; clusters, left: how many of both each subspace has.
Found = namedtuple("Found", "ids queue clusters left")
# One row a slot: extent, columns' prices and rows of a cluster. The slots of a subspace that begins at row i begin at
# i // k, where there is always room because clusters have k rows or more. Slots that are not used have no rows.
Made = namedtuple("Made", "low high bits now size")
# Of the cluster that grows: its extent, the columns' prices, and those it would have with one more record.
Extent = namedtuple("Extent", "low high bits now then")

# Subspaces that one core takes at a time, and within which leftovers keep their order.
BLOCK = 64


@kernel
def nothing_found(n: int, parts: int) -> Found:
    """Room for what is found in ``parts`` subspaces of ``n`` rows."""
    return Found(
        np.empty(n, dtype=np.int32),
        np.empty(n, dtype=np.int32),
        np.zeros(parts, dtype=np.int64),
        np.zeros(parts, dtype=np.int64),
    )


@kernel
def nothing_made(n: int, columns: int, geo: Geometry, k: int) -> Made:
    """Room for the clusters of ``n`` rows."""
    slots = n // k
    return Made(
        np.empty((slots, columns), dtype=np.int32),
        np.empty((slots, columns), dtype=np.int32),
        np.empty((slots, geo.word_at[-1]), dtype=np.uint64),
        np.empty((slots, columns)),
        np.zeros(slots, dtype=np.int32),
    )


@kernel
def empty_extent(columns: int, geo: Geometry) -> Extent:
    """Room for one cluster."""
    return Extent(
        np.empty(columns, dtype=np.int32),
        np.empty(columns, dtype=np.int32),
        np.empty(geo.word_at[-1], dtype=np.uint64),
        np.empty(columns),
        np.empty(columns),
    )


@kernel
def keep_cluster(made: Made, slot: int, e: Extent, rows: int) -> None:
    """Note a cluster that is done growing."""
    for a in range(e.low.size):
        made.low[slot, a] = e.low[a]
        made.high[slot, a] = e.high[a]
        made.now[slot, a] = e.now[a]
    for w in range(e.bits.size):
        made.bits[slot, w] = e.bits[w]
    made.size[slot] = rows


@kernel
def by_column(codes: np.ndarray, lo: int, hi: int) -> np.ndarray:
    """The codes of some rows, a column after another."""
    turned = np.empty((codes.shape[1], hi - lo), dtype=codes.dtype)
    for i in range(lo, hi):
        for a in range(codes.shape[1]):
            turned[a, i - lo] = codes[i, a]
    return turned


@kernel
def take_seed(turn: np.ndarray, lo: int, rest: np.ndarray, count: int) -> int:
    """Remove the next seed from the first ``count`` places, keeping the order of the others."""
    at = 0
    if turn.size:
        for i in range(1, count):
            if turn[lo + rest[i]] < turn[lo + rest[at]]:
                at = i
    seed = rest[at]
    for i in range(at, count - 1):
        rest[i] = rest[i + 1]
    return seed


@kernel
def is_new(subjects: np.ndarray, members: np.ndarray, size: int, row: int) -> bool:
    """Whether a row is about somebody who is not among the members yet."""
    if subjects.size:
        for i in range(size):
            if subjects[members[i]] == subjects[row]:
                return False
    return True


def numbered(found: Found, made: Made) -> np.ndarray:
    """Clusters of all rows, numbered without gaps; -1 for a row in none."""
    number = np.cumsum(made.size > 0, dtype=np.int32) - 1
    return np.where(found.ids >= 0, number[found.ids], -1).astype(np.int32)
