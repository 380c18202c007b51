"""All cuts of a set of rows between two values of a column, each priced by the loss of both sides."""

from __future__ import annotations

import numpy as np

from shoal.kernels.heap import make_heap, pop
from shoal.kernels.partition.weights import times, total
from shoal.kernels.price.cells import Prices, helper, wide
from shoal.kernels.price.extents import Extents, clear, extend_each, join, make_records, own_cells

_ROW = 1 << 32


@helper
def _sorted_places(codes: np.ndarray, lo: int, hi: int, a: int, places: np.ndarray) -> np.ndarray:
    """Sorted distinct codes of a column of many codes; fills in each row's place among them."""
    n = hi - lo
    heap = np.empty(n, dtype=np.int64)
    for i in range(n):
        heap[i] = codes[lo + i, a] * _ROW + i
    make_heap(heap, n)
    values = np.empty(n, dtype=np.int32)
    found = 0
    for size in range(n, 0, -1):
        key = pop(heap, size)
        value = key // _ROW
        if found == 0 or values[found - 1] != value:
            values[found] = value
            found += 1
        places[key % _ROW] = found - 1
    return values[:found]


@helper
def _distinct_values(codes: np.ndarray, lo: int, hi: int, a: int) -> tuple:
    """Sorted distinct codes of a column and each row's place among them."""
    n = hi - lo
    first = codes[lo, a]
    last = first
    for i in range(lo, hi):
        first = min(first, codes[i, a])
        last = max(last, codes[i, a])
    places = np.empty(n, dtype=np.int32)
    if last - first >= 4 * n + 64:
        return _sorted_places(codes, lo, hi, a, places), places
    slot = np.full(last - first + 1, -1, dtype=np.int32)
    for i in range(lo, hi):
        slot[codes[i, a] - first] = 0
    found = 0
    for v in range(slot.size):
        if slot[v] == 0:
            slot[v] = found
            found += 1
    values = np.empty(found, dtype=np.int32)
    for v in range(slot.size):
        if slot[v] >= 0:
            values[slot[v]] = v + first
    for i in range(n):
        places[i] = slot[codes[lo + i, a] - first]
    return values, places


@helper
def _running_losses(count: np.ndarray, ext: Extents, p: Prices, forward: bool) -> np.ndarray:
    """Loss of the first 1, 2, ... buckets together, or of the last ones; the extents end with room for all of them."""
    buckets = wide(count.size)
    losses = np.empty(buckets, dtype=np.int64)
    clear(ext, buckets)
    rows, cells = wide(0), np.empty(p.kind.size, dtype=np.int64)
    for step in range(buckets):
        b = wide(step) if forward else buckets - 1 - step
        rows += count[b]
        join(ext, buckets, b)
        losses[b] = rows * own_cells(p, ext, buckets, cells)
    return losses


@helper
def best_cuts(codes: np.ndarray, lo: int, hi: int, p: Prices, k: int, weights: np.ndarray | None) -> tuple:
    """Loss, column and last left value of every cut that leaves k rows on both sides."""
    m = codes.shape[1]
    n = total(weights, lo, hi)
    room = 0
    for a in range(m):
        room += min(hi - lo, p.card[a])
    losses = np.empty(room, dtype=np.int64)
    columns = np.empty(room, dtype=np.int64)
    values = np.empty(room, dtype=np.int64)
    found = 0
    for a in range(m):
        distinct, places = _distinct_values(codes, lo, hi, wide(a))
        if distinct.size < 2:
            continue
        count = np.zeros(distinct.size, dtype=np.int64)
        ext = make_records(p, wide(distinct.size + 1))
        for i in range(places.size):
            count[places[i]] += times(weights, lo + i)
        extend_each(p, ext, codes, lo, places)
        left = _running_losses(count, ext, p, True)
        right = _running_losses(count, ext, p, False)
        rows = 0
        for b in range(distinct.size - 1):
            rows += count[b]
            if rows >= k and n - rows >= k:
                losses[found] = left[b] + right[b + 1]
                columns[found] = a
                values[found] = distinct[b]
                found += 1
    return losses[:found], columns[:found], values[:found]
