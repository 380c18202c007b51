"""Anatomy's groups: one record each from the l largest buckets, again and again (Xiao & Tao 2006)."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import kernel
from shoal.kernels.frozen.heap import make_heap, pop

# A bucket's key: its records left, most first, then where its next record stands in the keyed order.
_PLACES = np.int64(1) << 32


@kernel
def _push(keys: np.ndarray, size: int, key: int) -> None:
    at = size
    while at > 0:
        parent = (at - 1) // 2
        if keys[parent] <= key:
            break
        keys[at] = keys[parent]
        at = parent
    keys[at] = key


@kernel
def draw_groups(codes: np.ndarray, card: int, l: int) -> np.ndarray:  # noqa: E741
    """Group of every record, -1 for those left when fewer than l buckets are; O(n log card).

    ``codes`` is a value a record, in keyed order: which record of a bucket is drawn, and which of equally large
    buckets, is then as random as that order.
    """
    n = codes.size
    start = np.zeros(card + 1, dtype=np.int64)
    for i in range(n):
        start[codes[i] + 1] += 1
    for value in range(card):
        start[value + 1] += start[value]
    fill = start.copy()
    bucket = np.empty(n, dtype=np.int64)
    for i in range(n):
        bucket[fill[codes[i]]] = i
        fill[codes[i]] += 1
    heap = np.empty(card, dtype=np.int64)
    full = 0
    for value in range(card):
        if start[value + 1] > start[value]:
            heap[full] = bucket[start[value]] - (start[value + 1] - start[value]) * _PLACES
            full += 1
    make_heap(heap, full)
    ids = np.full(n, -1, dtype=np.int32)
    drawn = np.empty(l, dtype=np.int64)
    group = 0
    while full >= l:
        for j in range(l):
            drawn[j] = pop(heap, full) & (_PLACES - 1)
            full -= 1
            ids[drawn[j]] = group
        for j in range(l):
            value = codes[drawn[j]]
            start[value] += 1
            left = fill[value] - start[value]  # every bucket is filled to its end
            if left > 0:
                _push(heap, full, bucket[start[value]] - left * _PLACES)
                full += 1
        group += 1
    return ids
