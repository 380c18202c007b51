"""Records in subspaces, and what clustering a subspace leaves behind; shared by TOC and UPC."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from shoal.kernels.compiled import kernel
from shoal.kernels.frozen.price.cells import Prices, helper, wide
from shoal.kernels.frozen.price.extents import copy_cells, extend_all, make_records, own_cells

# codes: (n, columns), rows subspace after subspace; subjects: int32 a row, empty when rows are people; turn: int32 a
# row, the lowest is the next seed, empty for rows as they stand.
Pool = namedtuple("Pool", "codes subjects turn")
# ids: slot of each row's cluster, -1 for a leftover; queue: from the start of each subspace on, its leftovers in order
# of appearance; clusters, left: how many of both each subspace has.
Found = namedtuple("Found", "ids queue clusters left")
# One a slot: cells, their ticks (slots, columns) and rows of a cluster. The slots of a subspace that begins at row i
# begin at i // k, where there is always room because clusters have k rows or more. Slots not used have no rows.
Made = namedtuple("Made", "cells now size")
# Of the cluster that grows: its cells, alone in their extents, their ticks, and those with one more record.
Grown = namedtuple("Grown", "cells now then")

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
def nothing_made(n: int, p: Prices, k: int) -> Made:
    """Room for the clusters of ``n`` rows."""
    slots = wide(n // k)
    return Made(make_records(p, slots), np.empty((slots, p.kind.size), dtype=np.int64), np.zeros(slots, dtype=np.int32))


@helper
def nothing_grown(p: Prices) -> Grown:
    """Room for one cluster."""
    m = p.kind.size
    return Grown(make_records(p, wide(1)), np.empty(m, dtype=np.int64), np.empty(m, dtype=np.int64))


@helper
def keep_cluster(made: Made, slot: int, e: Grown, rows: int) -> None:
    """Note a cluster that is done growing."""
    copy_cells(e.cells, wide(0), made.cells, slot)
    for a in range(e.now.size):
        made.now[slot, a] = e.now[a]
    made.size[slot] = rows


@helper
def take_row(p: Prices, made: Made, slot: int, codes: np.ndarray, row: int) -> None:
    """Put one more row into a cluster that is done growing."""
    extend_all(p, made.cells, slot, codes, row)
    own_cells(p, made.cells, slot, made.now[slot])
    made.size[slot] += 1


@helper
def by_column(codes: np.ndarray, lo: int, hi: int) -> np.ndarray:
    """The codes of some rows, a column after another."""
    turned = np.empty((codes.shape[1], hi - lo), dtype=codes.dtype)
    for i in range(lo, hi):
        for a in range(codes.shape[1]):
            turned[a, i - lo] = codes[i, a]
    return turned


@helper
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


@helper
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
