"""Checking one node of a generalisation lattice on the frequency table.

Combinations of leaf codes are stored sorted, so that neighbours fall into the same class at most nodes and the
tables below are hit where they are warm.
"""

from __future__ import annotations

import math
from collections import namedtuple

import numpy as np

from shoal.kernels.compiled import kernel
from shoal.kernels.count.histograms import bucket_rows, sort_small

# codes: (levels of all attributes, combinations) int32, node of each combination; leaf: (attributes, combinations)
# int32 leaf codes; weight: rows of each combination; card_at: where an attribute's leaf codes start in a histogram.
Combinations = namedtuple("Combinations", "codes leaf weight card_at")
# table: int32 pairs of a stamp and a group; a slot belongs to the node whose number its stamp is. keys: for hashing.
Slots = namedtuple("Slots", "table keys")
# prices: (attributes, levels), all rows' prices less the full price; lost: (checks, attributes, levels), the same of
# the rows a check suppressed; an attribute's sum x gives weight * (offset + factor x), or weight * log of it, by mode.
# In mode STORED a check's bound is lost[check, 0, 0], and prices[0, 0] holds for every node.
Search = namedtuple("Search", "prices lost factor offset weight mode")
# By node: source, the check that bounds it best (-1: none); hopeless, 1 where no finer node can be allowed either.
Known = namedtuple("Known", "source hopeless")

# cards: (attributes, levels), labels of each level; row_at: where an attribute's rows of codes start.
Layout = namedtuple("Layout", "cards row_at")
# Scratch, one entry a combination: narrow and wide keys, class and size.
Room = namedtuple("Room", "narrow wide class_of sizes")

DENSE = 1 << 17
_SPACE = 1 << 62
SUM, LOG, STORED = range(3)
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


@kernel
def node_keys(codes: np.ndarray, rows: np.ndarray, cards: np.ndarray, keys: np.ndarray) -> None:
    """Mixed-radix key of every combination at a node whose attributes use the given rows of ``codes``.

    Keys of 32 bits where they fit: the compiler then handles several combinations at once, as long as it sees that no
    index is negative, which it does of those that count from 0.
    """
    n = keys.size
    for start in range(0, n, 2048):
        block = keys[start : min(n, start + 2048)]
        for i in range(block.size):
            block[i] = 0
        for j in range(rows.size):
            row = codes[rows[j]][start : start + block.size]
            card = cards[j]
            for i in range(block.size):
                block[i] = block[i] * card + row[i]


@kernel
def number_classes(
    keys: np.ndarray, space: int, node: int, slots: Slots, class_of: np.ndarray, weight: np.ndarray, sizes: np.ndarray
) -> int:
    """Number the classes by first appearance and add up their rows; returns how many there are."""
    found = 0
    dense = space <= DENSE
    mask = np.uint64(slots.keys.size - 1)
    for i in range(keys.size):
        key = np.uint64(keys[i])
        if dense:
            slot = key
        else:
            slot = ((key * _MULTIPLIER) >> np.uint64(20)) & mask
            while slots.table[slot, 0] == node and slots.keys[slot] != key:
                slot = (slot + np.uint64(1)) & mask
        if slots.table[slot, 0] != node:
            slots.table[slot, 0] = node
            if not dense:
                slots.keys[slot] = key
            slots.table[slot, 1] = found
            sizes[found] = 0
            found += 1
        group = slots.table[slot, 1]
        class_of[i] = group
        sizes[group] += weight[i]
    return found


@kernel
def count_node(
    codes: np.ndarray, weight: np.ndarray, layout: Layout, levels: np.ndarray, node: int, slots: Slots, room: Room
) -> int:
    """Number a node's classes; -1 when its keys do not fit into 64 bits."""
    rows = np.empty(levels.size, dtype=np.int64)
    cards = np.empty(levels.size, dtype=np.int64)
    used = 0
    space = 1
    for a in range(levels.size):
        card = layout.cards[a, levels[a]]
        if card > 1:
            rows[used] = layout.row_at[a] + levels[a]
            cards[used] = card
            used += 1
            if space > _SPACE // card:
                return -1
            space *= card
    n = weight.size
    if space < 1 << 31:
        narrow = room.narrow[:n]
        node_keys(codes, rows[:used], cards[:used].astype(np.int32), narrow)
        return number_classes(narrow, space, node, slots, room.class_of, weight, room.sizes)
    wide = room.wide[:n]
    node_keys(codes, rows[:used], cards[:used], wide)
    return number_classes(wide, space, node, slots, room.class_of, weight, room.sizes)


@kernel
def judge_sizes(sizes: np.ndarray, classes: int, k: int, bad: np.ndarray, out: np.ndarray) -> None:
    """Flag classes of fewer than k rows, and tally."""
    for c in range(classes):
        bad[c] = sizes[c] < k
    tally(sizes, classes, bad, out)


@kernel
def tally(sizes: np.ndarray, classes: int, bad: np.ndarray, out: np.ndarray) -> None:
    """Suppressed rows, good classes, their squared sizes, all classes' squared sizes."""
    out[:] = 0
    for c in range(classes):
        square = float(sizes[c]) * sizes[c]
        out[3] += square
        if bad[c]:
            out[0] += sizes[c]
        else:
            out[1] += 1
            out[2] += square


@kernel
def lost_codes(table: Combinations, class_of: np.ndarray, bad: np.ndarray, lost: np.ndarray) -> None:
    """Rows of suppressed classes by leaf code, one attribute after another."""
    lost[:] = 0.0
    m = table.leaf.shape[0]
    for i in range(class_of.size):
        if bad[class_of[i]]:
            for a in range(m):
                lost[table.card_at[a] + table.leaf[a, i]] += table.weight[i]


@kernel
def lost_prices(lost: np.ndarray, prices: np.ndarray, card_at: np.ndarray, out: np.ndarray) -> None:
    """``out[a, level]``: what the suppressed rows would cost in attribute a at a level."""
    for a in range(out.shape[0]):
        for level in range(out.shape[1]):
            total = 0.0
            for place in range(card_at[a], card_at[a + 1]):
                if lost[place] != 0.0:
                    total += lost[place] * prices[level, place]
            out[a, level] = total


@kernel
def class_histograms(class_of: np.ndarray, classes: int, histogram: tuple, flags: np.ndarray) -> tuple:
    """Compressed histograms of classes from those of combinations, and each class's records of known value."""
    indptr, codes, counts = histogram
    rows, offsets = bucket_rows(class_of, classes)
    dense = np.zeros(flags.size, dtype=np.int64)
    touched = np.empty(flags.size, dtype=np.int32)
    out_ptr = np.zeros(classes + 1, dtype=np.int64)
    out_codes = np.empty(codes.size, dtype=np.int32)
    out_counts = np.empty(codes.size, dtype=np.int64)
    known = np.zeros(classes, dtype=np.int64)
    at = 0
    for c in range(classes):
        found = 0
        for place in range(offsets[c], offsets[c + 1]):
            i = rows[place]
            for entry in range(indptr[i], indptr[i + 1]):
                if dense[codes[entry]] == 0:
                    touched[found] = codes[entry]
                    found += 1
                dense[codes[entry]] += counts[entry]
        sort_small(touched[:found])
        for j in range(found):
            code = touched[j]
            out_codes[at] = code
            out_counts[at] = dense[code]
            if flags[code] == 0:
                known[c] += dense[code]
            dense[code] = 0
            at += 1
        out_ptr[c + 1] = at
    return out_ptr, out_codes[:at], out_counts[:at], known


@kernel
def inherit_bounds(
    nodes: np.ndarray,
    levels: np.ndarray,
    strides: np.ndarray,
    heights: np.ndarray,
    known: Known,
    done: np.ndarray,
    search: Search,
) -> np.ndarray:
    """Lower bounds on the cost of all nodes of one height, from checks of coarser nodes.

    What a check at a coarser node suppresses for good is suppressed here too. ``known.source`` gets the check that
    bounds a node best and ``known.hopeless`` is handed down; a hopeless node's bound is infinite.
    """
    bounds = np.empty(nodes.size)
    for i in range(nodes.size):
        best = -1
        most = node_cost(search, levels[i], -1)
        for a in range(strides.size):
            if levels[i, a] < heights[a]:
                parent = nodes[i] + strides[a]
                if known.hopeless[parent]:
                    known.hopeless[nodes[i]] = 1
                    break
                w = known.source[parent]
                if w >= 0 and w != best:
                    value = node_cost(search, levels[i], w)
                    if best < 0 or value > most:
                        most = max(most, value)
                        best = w
        # A check of the node itself knows more than any above it.
        if not done[nodes[i]] or known.source[nodes[i]] < 0:
            known.source[nodes[i]] = best
        bounds[i] = np.inf if known.hopeless[nodes[i]] else most
    return bounds


@kernel
def node_cost(search: Search, levels: np.ndarray, w: int) -> float:
    """Cost of a node if just the rows that check ``w`` suppressed are lost (-1: none)."""
    if search.mode == STORED:
        return search.lost[w, 0, 0] if w >= 0 else search.prices[0, 0]
    total = 0.0
    for a in range(levels.size):
        x = search.prices[a, levels[a]]
        if w >= 0:
            x -= search.lost[w, a, levels[a]]
        term = search.offset[a] + search.factor[a] * x
        total += search.weight[a] * (math.log(term) if search.mode == LOG else term)
    return total
