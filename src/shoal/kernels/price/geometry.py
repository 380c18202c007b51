"""Pricing extents of codes: width of an interval, leaves of a node, size of a set."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from shoal.kernels.compiled import kernel
from shoal.kernels.count.extents import popcount

INTERVAL, TREE, FLAT = range(3)

# One entry a column: kind, card, missing (its code or -1), scale (1 / domain width, 0 for a constant column), weight.
# place, top: lower and upper end of every code of the interval columns, one column after another from place_at; they
# differ where published bounds are snapped outward. tree, leaves: level x code matrices of tree columns from tree_at.
# word_at: where a flat column's words of bits start in a row of bits; its last entry counts all. pair: prices of all
# pairs of codes, low by high, of the interval and tree columns of few codes, from pair_at (-1: has none).
Geometry = namedtuple(
    "Geometry", "kind card missing scale weight place top place_at tree leaves tree_at word_at pair pair_at"
)


@kernel
def price(geo: Geometry, a: int, low: int, high: int) -> float:
    """Loss of an interval or tree cell between two codes, 0 for one value and 1 for everything."""
    if geo.pair_at[a] >= 0:
        return geo.pair[geo.pair_at[a] + low * geo.card[a] + high]
    return worked_price(geo, a, low, high)


@kernel
def worked_price(geo: Geometry, a: int, low: int, high: int) -> float:
    """The same from the ends or the tree, for columns of too many codes to list their pairs."""
    if geo.kind[a] == INTERVAL:
        if high == geo.missing[a]:
            return 0.0 if low == high else 1.0
        at = geo.place_at[a]
        return min(1.0, (geo.top[at + high] - geo.place[at + low]) * geo.scale[a])
    if low == high:
        return 0.0
    at = geo.tree_at[a]
    card = geo.card[a]
    while geo.tree[at + low] != geo.tree[at + high]:
        at += card
    return (geo.leaves[at + low] - 1.0) * geo.scale[a]


@kernel
def list_pairs(geo: Geometry, pair_at: np.ndarray, size: int) -> np.ndarray:
    """Price of every low and high code of the columns that have a place in the list."""
    pair = np.zeros(size)
    for a in range(pair_at.size):
        if pair_at[a] >= 0:
            card = geo.card[a]
            for low in range(card):
                for high in range(low, card):
                    pair[pair_at[a] + low * card + high] = worked_price(geo, a, low, high)
    return pair


@kernel
def price_set(geo: Geometry, a: int, bits: np.ndarray) -> float:
    """Loss of a flat column's cell; ``bits`` holds the words of all flat columns."""
    found = 0
    for w in range(geo.word_at[a], geo.word_at[a + 1]):
        found += popcount(bits[w])
    if found <= 1:
        return 0.0
    missing = geo.missing[a]
    if missing >= 0 and (bits[geo.word_at[a] + (missing >> 6)] >> np.uint64(missing & 63)) & np.uint64(1):
        return 1.0
    return (found - 1.0) * geo.scale[a]


@kernel
def group_price(geo: Geometry, low: np.ndarray, high: np.ndarray, bits: np.ndarray) -> float:
    """Weighted loss of one record of a group with the given extent."""
    total = 0.0
    for a in range(geo.kind.size):
        if geo.kind[a] == FLAT:
            total += geo.weight[a] * price_set(geo, a, bits)
        else:
            total += geo.weight[a] * price(geo, a, low[a], high[a])
    return total
