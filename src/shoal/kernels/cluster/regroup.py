"""Dealing a small pool of records into groups of k: a seed, then always the record that costs least."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import kernel
from shoal.kernels.price.clusters import extend, open_group, price_with, prices
from shoal.kernels.price.geometry import Geometry


@kernel
def shuffle(out: np.ndarray, seed: np.uint64) -> None:
    """A permutation of 0, 1, ... that the seed decides."""
    state = seed
    for i in range(out.size):
        out[i] = i
    for i in range(out.size - 1, 0, -1):
        state += np.uint64(0x9E3779B97F4A7C15)
        x = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        x ^= x >> np.uint64(31)
        j = int((x >> np.uint64(11)) % np.uint64(i + 1))
        out[i], out[j] = out[j], out[i]


@kernel
def grow(
    geo: Geometry, codes: np.ndarray, pool: np.ndarray, turn: np.ndarray, k: int, most: float, words: int,
    labels: np.ndarray,
) -> float:  # fmt: skip
    """Label the records of a pool with groups 0, 1, ...; returns the price of all.

    Seeds come in the order of ``turn``; records left over join the group that they raise least. Gives up with an
    infinite price as soon as ``most`` is reached.
    """
    n = pool.size
    m = codes.shape[1]
    room = n // k
    low, high = np.empty((room, m), dtype=np.int32), np.empty((room, m), dtype=np.int32)
    bits, now = np.zeros((room, words), dtype=np.uint64), np.empty((room, m))
    cost, size = np.zeros(room), np.zeros(room, dtype=np.int64)
    out, value = np.empty(m), np.empty(n)
    for i in range(n):
        labels[i] = -1
    left = n
    total = 0.0
    at = 0
    found = 0
    while left >= k:
        while labels[turn[at]] >= 0:
            at += 1
        g = found
        found += 1
        labels[turn[at]] = g
        open_group(geo, codes[pool[turn[at]]], low[g], high[g], bits[g])
        prices(geo, low[g], high[g], bits[g], now[g])
        for a in range(m):
            cost[g] += geo.weight[a] * now[g, a]
        stale = True
        for _ in range(k - 1):
            best = -1
            least = np.inf
            for i in range(n):
                if labels[i] >= 0:
                    continue
                if stale:
                    value[i] = price_with(geo, codes[pool[i]], low[g], high[g], bits[g], now[g], out)
                if value[i] < least:
                    least = value[i]
                    best = i
            labels[best] = g
            # A record that costs no more than the group leaves its extent as it is, and all prices with it.
            stale = least > cost[g]
            if stale:
                extend(geo, codes[pool[best]], low[g], high[g], bits[g])
                prices(geo, low[g], high[g], bits[g], now[g])
                cost[g] = least
        size[g] = k
        left -= k
        total += k * cost[g]
        if total >= most:
            return np.inf
    for i in range(n):
        if labels[i] >= 0:
            continue
        best = -1
        least = np.inf
        for g in range(found):
            joined = price_with(geo, codes[pool[i]], low[g], high[g], bits[g], now[g], out)
            rise = (size[g] + 1) * joined - size[g] * cost[g]
            if rise < least:
                least = rise
                best = g
        labels[i] = best
        extend(geo, codes[pool[i]], low[best], high[best], bits[best])
        prices(geo, low[best], high[best], bits[best], now[best])
        total += least
        size[best] += 1
        cost[best] = (least + (size[best] - 1) * cost[best]) / size[best]
    return total
