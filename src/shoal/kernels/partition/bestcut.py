"""All cuts of a set of rows between two values of a column, each priced by the loss of both sides."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import kernel
from shoal.kernels.price.geometry import FLAT, Geometry, group_price


@kernel
def _distinct_values(codes: np.ndarray, lo: int, hi: int, a: int) -> tuple:
    """Sorted distinct codes of a column and each row's place among them."""
    n = hi - lo
    first = codes[lo, a]
    last = first
    for i in range(lo, hi):
        first = min(first, codes[i, a])
        last = max(last, codes[i, a])
    places = np.empty(n, dtype=np.int32)
    if last - first < 4 * n + 64:
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
    ordered = np.empty(n, dtype=np.int32)
    for i in range(n):
        ordered[i] = codes[lo + i, a]
    ordered.sort()
    found = 1
    for i in range(1, n):
        if ordered[i] != ordered[found - 1]:
            ordered[found] = ordered[i]
            found += 1
    values = ordered[:found]
    for i in range(n):
        places[i] = np.searchsorted(values, codes[lo + i, a])
    return values, places


@kernel
def _bucket_extents(codes: np.ndarray, lo: int, places: np.ndarray, buckets: int, geo: Geometry) -> tuple:
    """Count, lowest and highest code a column, and sets of flat columns, for every value of the cut column."""
    m = codes.shape[1]
    count = np.zeros(buckets, dtype=np.int64)
    low = np.full((buckets, m), np.iinfo(np.int32).max, dtype=np.int32)
    high = np.full((buckets, m), -1, dtype=np.int32)
    bits = np.zeros((buckets, geo.word_at[m]), dtype=np.uint64)
    for i in range(places.size):
        b = places[i]
        count[b] += 1
        for a in range(m):
            x = codes[lo + i, a]
            if geo.kind[a] == FLAT:
                bits[b, geo.word_at[a] + (x >> 6)] |= np.uint64(1) << np.uint64(x & 63)
            else:
                low[b, a] = min(low[b, a], x)
                high[b, a] = max(high[b, a], x)
    return count, low, high, bits


@kernel
def _running_losses(
    count: np.ndarray, low: np.ndarray, high: np.ndarray, bits: np.ndarray, geo: Geometry, forward: bool
) -> np.ndarray:
    """Loss of the first 1, 2, ... buckets together, or of the last ones."""
    buckets = count.size
    losses = np.empty(buckets)
    now_low = np.full(low.shape[1], np.iinfo(np.int32).max, dtype=np.int32)
    now_high = np.full(low.shape[1], -1, dtype=np.int32)
    now_bits = np.zeros(bits.shape[1], dtype=np.uint64)
    rows = 0
    for step in range(buckets):
        b = step if forward else buckets - 1 - step
        rows += count[b]
        for a in range(low.shape[1]):
            now_low[a] = min(now_low[a], low[b, a])
            now_high[a] = max(now_high[a], high[b, a])
        for w in range(bits.shape[1]):
            now_bits[w] |= bits[b, w]
        losses[b] = rows * group_price(geo, now_low, now_high, now_bits)
    return losses


@kernel
def best_cuts(codes: np.ndarray, lo: int, hi: int, geo: Geometry, k: int) -> tuple:
    """Loss, column and last left value of every cut that leaves k rows on both sides."""
    m = codes.shape[1]
    room = 0
    for a in range(m):
        room += min(hi - lo, geo.card[a])
    losses = np.empty(room)
    columns = np.empty(room, dtype=np.int64)
    values = np.empty(room, dtype=np.int64)
    found = 0
    for a in range(m):
        distinct, places = _distinct_values(codes, lo, hi, a)
        if distinct.size < 2:
            continue
        count, low, high, bits = _bucket_extents(codes, lo, places, distinct.size, geo)
        left = _running_losses(count, low, high, bits, geo, True)
        right = _running_losses(count, low, high, bits, geo, False)
        rows = 0
        for b in range(distinct.size - 1):
            rows += count[b]
            if rows >= k and hi - lo - rows >= k:
                losses[found] = left[b] + right[b + 1]
                columns[found] = a
                values[found] = distinct[b]
                found += 1
    return losses[:found], columns[:found], values[:found]
