"""MDAV: clusters of k around the records that lie furthest out (Domingo-Ferrer & Torra 2005).

Records that are left stay side by side in memory, so that a scan reads only them; O(n^2 / k) distances.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from shoal.kernels.compiled import kernel

# spots: (a, n) float64 coordinates; codes: (b, n) int32 categories, card of each column; tree, cost: level x code
# matrices of its ancestors and of the squared distance of two categories that share that node first, from tree_at on.
Records = namedtuple("Records", "spots codes tree cost tree_at card")
# The records left: their places in the input, coordinates and categories, and room for distances.
Left = namedtuple("Left", "rows spots codes far")


@kernel
def _price_codes(data: Records, b: int, code: int, prices: np.ndarray) -> None:
    """Squared distance of one category to every other of its column: the cost of the lowest node they share."""
    card = data.card[b]
    for other in range(card):
        at = data.tree_at[b]
        while data.tree[at + code] != data.tree[at + other]:
            at += card
        prices[other] = data.cost[at + code]


@kernel
def _measure(data: Records, left: Left, size: int, spot: np.ndarray, kinds: np.ndarray) -> None:
    """Squared distances of the records left to a point, into ``left.far``."""
    far = left.far
    for i in range(size):
        far[i] = 0.0
    for a in range(spot.size):
        mine = left.spots[a]
        middle = spot[a]
        for i in range(size):
            gap = mine[i] - middle
            far[i] += gap * gap
    for b in range(kinds.size):
        prices = np.empty(data.card[b])
        _price_codes(data, b, kinds[b], prices)
        own = left.codes[b]
        for i in range(size):
            far[i] += prices[own[i]]


@kernel
def _furthest(left: Left, size: int) -> int:
    """Place of the record furthest away, of the first in the input among equals."""
    most = 0.0
    for i in range(size):
        most = max(most, left.far[i])
    at = -1
    for i in range(size):
        if left.far[i] == most and (at < 0 or left.rows[i] < left.rows[at]):
            at = i
    return at


@kernel
def _nearest(left: Left, size: int, skip: int, places: np.ndarray) -> None:
    """Places of the nearest records but one, of the first in the input among equals, nearest first."""
    found = 0
    worst = np.inf
    for i in range(size):
        d = left.far[i]
        if d > worst or i == skip:
            continue
        if found == places.size:
            last = places[found - 1]
            if d == left.far[last] and left.rows[i] > left.rows[last]:
                continue
            found -= 1
        at = found
        while at > 0:
            before = places[at - 1]
            if left.far[before] < d or (left.far[before] == d and left.rows[before] < left.rows[i]):
                break
            places[at] = before
            at -= 1
        places[at] = i
        found += 1
        if found == places.size:
            worst = left.far[places[found - 1]]


@kernel
def _take(left: Left, size: int, places: np.ndarray, totals: np.ndarray, counts: tuple, ids: np.ndarray, g: int) -> int:
    """Move some records out of those left into group ``g``; returns how many are left."""
    table, start = counts
    for _ in range(places.size):
        # The last place first, so that no record moves to where another is yet to be taken from.
        i = places.max()
        places[np.argmax(places)] = -1
        size -= 1
        ids[left.rows[i]] = g
        left.rows[i] = left.rows[size]
        left.far[i] = left.far[size]
        for a in range(totals.size):
            totals[a] -= left.spots[a, i]
            left.spots[a, i] = left.spots[a, size]
        for b in range(start.size):
            table[start[b] + left.codes[b, i]] -= 1
            left.codes[b, i] = left.codes[b, size]
    return size


@kernel
def _point(left: Left, i: int, spot: np.ndarray, kinds: np.ndarray) -> None:
    for a in range(spot.size):
        spot[a] = left.spots[a, i]
    for b in range(kinds.size):
        kinds[b] = left.codes[b, i]


@kernel
def _centroid(data: Records, size: int, totals: np.ndarray, counts: tuple, spot: np.ndarray, kinds: np.ndarray) -> None:
    """Means, and the commonest category of every column."""
    table, start = counts
    for a in range(spot.size):
        spot[a] = totals[a] / size
    for b in range(kinds.size):
        kinds[b] = 0
        for code in range(1, data.card[b]):
            if table[start[b] + code] > table[start[b] + kinds[b]]:
                kinds[b] = code


@kernel
def mdav(data: Records, k: int) -> np.ndarray:
    """Group of every record: sizes from k to 2k - 1, or one group where there are fewer than 2k records.

    While at least 3k are left: r is furthest from the centroid and takes the k - 1 nearest to it, then s, furthest
    from r among the rest, takes the k - 1 nearest to it. Of 2k to 3k - 1, r takes its k - 1 nearest; the rest is one.
    """
    n = max(data.spots.shape[1], data.codes.shape[1])
    left = Left(np.arange(n), data.spots.copy(), data.codes.copy(), np.zeros(n))
    start = np.zeros(data.card.size, dtype=np.int64)
    for b in range(1, data.card.size):
        start[b] = start[b - 1] + data.card[b - 1]
    table = np.zeros(data.card.sum(), dtype=np.int64)
    totals = np.zeros(data.spots.shape[0])
    for a in range(totals.size):
        for i in range(n):
            totals[a] += left.spots[a, i]
    for b in range(data.card.size):
        for i in range(n):
            table[start[b] + left.codes[b, i]] += 1
    counts = (table, start)
    ids = np.empty(n, dtype=np.int32)
    spot = np.empty(totals.size)
    kinds = np.empty(data.card.size, dtype=np.int64)
    places = np.empty(k, dtype=np.int64)
    size = n
    g = 0
    while size >= 2 * k:
        _centroid(data, size, totals, counts, spot, kinds)
        _measure(data, left, size, spot, kinds)
        pick = _furthest(left, size)
        for turn in range(2 if size >= 3 * k else 1):
            if turn == 1:
                pick = _furthest(left, size)  # distances are still those from r
            _point(left, pick, spot, kinds)
            _measure(data, left, size, spot, kinds)
            _nearest(left, size, pick, places[1:])
            places[0] = pick
            size = _take(left, size, places, totals, counts, ids, g)
            g += 1
    for i in range(size):
        ids[left.rows[i]] = g
    return ids
