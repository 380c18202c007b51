"""Records in subspaces, and the clusters and leftovers of each subspace; shared by TOC and UPC."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from shoal.kernels.price.cells import Prices
from shoal.kernels.price.extents import make_group_extents

# codes: int16 or int32 (n, columns), rows subspace after subspace; subjects: int32 a row, empty when rows are people;
# turn: int32 a row, the lowest is the next seed, empty for rows as they stand.
Pool = namedtuple("Pool", "codes subjects turn")
# ids: int32, slot of each row's cluster, -1 for a leftover; queue: int32, from the start of each subspace on, its
# leftovers in order of appearance; clusters, left: int64, how many of both each subspace has.
Found = namedtuple("Found", "ids queue clusters left")
# One a slot: cells (see `shoal.kernels.price.extents`), int64 ticks (slots, columns) and int32 rows of a cluster. The
# slots of a subspace that begins at row i begin at i // k, where there is always room because clusters have k rows or
# more. Slots not used have no rows.
Made = namedtuple("Made", "cells now size")

# Subspaces that one core takes at a time, and within which leftovers keep their order.
BLOCK = 64


def nothing_found(n: int, parts: int) -> Found:
    """Make room for the clusters and leftovers of ``parts`` subspaces of ``n`` rows, in O(n)."""
    return Found(
        np.empty(n, dtype=np.int32),
        np.empty(n, dtype=np.int32),
        np.zeros(parts, dtype=np.int64),
        np.zeros(parts, dtype=np.int64),
    )


def nothing_made(n: int, p: Prices, k: int) -> Made:
    """Make room for the clusters of ``n`` rows, in O(n / k times columns)."""
    slots = n // k
    now = np.empty((slots, p.kind.size), dtype=np.int64)
    return Made(make_group_extents(p, slots), now, np.zeros(slots, dtype=np.int32))


def numbered(found: Found, made: Made) -> np.ndarray:
    """Number the clusters of all rows without gaps, int32, in O(n); -1 for a row in none."""
    number = np.cumsum(made.size > 0, dtype=np.int32) - 1
    return np.where(found.ids >= 0, number[found.ids], -1).astype(np.int32)
