"""Top-down local recoding (Xu et al. 2006): part records around two that are far apart, again and again.

Costs of records are looked up in tables, one entry for each value that the subspace has in a column; only the tables
of columns in which a side's cell changed are made anew.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from shoal.kernels.frozen.price.cells import Prices, helper, wide
from shoal.kernels.frozen.price.extents import clear, extend
from shoal.kernels.frozen.price.many import cells_with
from shoal.kernels.frozen.random import threefry

# Records of a part are numbered from 0 in order. codes, local: (columns, records) code, and its number among the
# part's values; values: codes, column after column from value_at. key: of the random draws, and the part's first
# place. cells: two sides; table: (2, values) what a value makes a side's cell cost; cost: (2,) a record of each side.
Part = namedtuple("Part", "codes local values value_at key cells table cost")


@helper
def _retable(p: Prices, part: Part, side: int, a: int) -> None:
    at, end = part.value_at[a], part.value_at[a + 1]
    cells_with(p, part.cells, side, a, part.values[at:end], part.table[side, at:end])


@helper
def cost_of(local: np.ndarray, value_at: np.ndarray, table: np.ndarray, side: int, i: int) -> int:
    """Ticks a record of a side with one more record in it."""
    total = wide(0)
    for a in range(local.shape[0]):
        total += table[side, value_at[a] + local[a, i]]
    return total


@helper
def admit(p: Prices, part: Part, side: int, i: int, fresh: bool) -> None:
    """Put a record into a side, and price the side's cells with every value again where they changed."""
    for column in range(p.kind.size):
        a = wide(column)
        if extend(p, part.cells, side, a, wide(part.codes[a, i])) or fresh:
            _retable(p, part, side, a)
    part.cost[side] = cost_of(part.local, part.value_at, part.table, side, i)


@helper
def _furthest(p: Prices, part: Part, order: np.ndarray, lo: int, hi: int, u: int) -> int:
    """The record that costs most together with ``u``, of equals the first."""
    clear(part.cells, wide(0))
    admit(p, part, wide(0), u, True)
    local, value_at, table = part.local, part.value_at, part.table
    best = wide(-1)
    most = wide(-1)
    for i in range(lo, hi):
        cost = cost_of(local, value_at, table, wide(0), order[i])
        if order[i] != u and cost > most:
            best, most = order[i], cost
    return best


@helper
def bisect(p: Prices, part: Part, order: np.ndarray, spare: np.ndarray, lo: int, hi: int) -> int:
    """Part the records order[lo:hi], which stay in order on either side; returns where the second side starts."""
    draw = threefry(part.key[0], part.key[1], part.key[2] + np.uint64(order[lo]), np.uint64(hi - lo))
    u = order[lo + wide(draw % np.uint64(hi - lo))]
    v = u
    for _ in range(3):
        v = _furthest(p, part, order, lo, hi, u)
        u = _furthest(p, part, order, lo, hi, v)
    for side in range(2):
        clear(part.cells, wide(side))
        admit(p, part, wide(side), u if side == 0 else v, True)
    local, value_at, table, cost = part.local, part.value_at, part.table, part.cost
    first = wide(1)
    second = wide(1)
    at = lo
    other = wide(0)
    for i in range(lo, hi):
        one = order[i]
        left = one == u
        if one != u and one != v:
            raise0 = (first + 1) * cost_of(local, value_at, table, wide(0), one) - first * cost[0]
            raise1 = (second + 1) * cost_of(local, value_at, table, wide(1), one) - second * cost[1]
            # Records that do not matter to either side go where there are fewer.
            left = raise0 < raise1 or (raise0 == raise1 and first <= second)
            admit(p, part, wide(0 if left else 1), one, False)
            first += left
            second += not left
        if left:
            order[at] = one
            at += 1
        else:
            spare[other] = one
            other += 1
    for i in range(other):
        order[at + i] = spare[i]
    return at


@helper
def bisect_all(p: Prices, part: Part, order: np.ndarray, spare: np.ndarray, k: int, ends: np.ndarray) -> None:
    """Bisect until no group has more than k records; the smaller side goes first, which keeps the stack short."""
    stack = np.empty((128, 2), dtype=np.int64)
    stack[0, 0], stack[0, 1] = 0, order.size
    depth = 1
    while depth:
        depth -= 1
        lo, hi = stack[depth, 0], stack[depth, 1]
        if hi - lo <= k:
            ends[hi - 1] = 1
            continue
        middle = bisect(p, part, order, spare, lo, hi)
        small = middle - lo <= hi - middle
        stack[depth + small, 0], stack[depth + small, 1] = lo, middle
        stack[depth + 1 - small, 0], stack[depth + 1 - small, 1] = middle, hi
        depth += 2
