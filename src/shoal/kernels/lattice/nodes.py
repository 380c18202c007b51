"""Counting one node of a generalisation lattice on the frequency table.

Combinations of leaf codes are stored sorted, so that neighbours fall into the same class at most nodes and the
tables below are hit where they are warm.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from shoal.kernels.compiled import kernel

# table: int32 class in each of at least twice as many slots as there are combinations; keys: key of each class.
Slots = namedtuple("Slots", "table keys")
# cards: (attributes, levels), nodes of each level; row_at: where an attribute's rows of codes start, and where the last
# one's end; card_at: the same of its leaf codes in the list of all attributes'; labels: (levels, leaf codes), node of
# each leaf code.
Layout = namedtuple("Layout", "cards row_at card_at labels")
# Scratch, one entry a combination: narrow and wide keys, class, and size and first combination of a class.
Room = namedtuple("Room", "narrow wide class_of sizes first")

# Keys that are at most so many times as many as combinations are their own slots.
_DENSE = 4
_SPACE = 1 << 62
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
def number_classes(keys: np.ndarray, space: int, slots: Slots, weight: np.ndarray, room: Room) -> int:
    """Number the classes by first appearance and add up their rows; returns how many there are."""
    found = 0
    dense = space <= min(slots.table.size, _DENSE * keys.size)
    bits = 4
    while 1 << bits < 2 * keys.size:
        bits += 1
    table = slots.table[: space if dense else 1 << bits]
    table[:] = -1
    mask = np.uint64(table.size - 1)
    shift = np.uint64(64 - bits)
    class_of, sizes = room.class_of, room.sizes
    for i in range(keys.size):
        key = np.uint64(keys[i])
        slot = key if dense else (key * _MULTIPLIER) >> shift
        group = table[slot]
        if not dense:
            while group >= 0 and slots.keys[group] != key:
                slot = (slot + np.uint64(1)) & mask
                group = table[slot]
        if group < 0:
            group = found
            table[slot] = group
            slots.keys[group] = key
            sizes[group] = 0
            room.first[group] = i
            found += 1
        class_of[i] = group
        sizes[group] += weight[i]
    return found


@kernel
def count_rows(
    codes: np.ndarray, rows: np.ndarray, cards: np.ndarray, weight: np.ndarray, slots: Slots, room: Room
) -> int:
    """Number the classes that some rows of ``codes`` make; -1 when their keys do not fit into 64 bits."""
    space = 1
    for card in cards:
        if space > _SPACE // card:
            return -1
        space *= card
    n = weight.size
    if space < 1 << 31:
        narrow = room.narrow[:n]
        node_keys(codes, rows, cards.astype(np.int32), narrow)
        return number_classes(narrow, space, slots, weight, room)
    wide = room.wide[:n]
    node_keys(codes, rows, cards, wide)
    return number_classes(wide, space, slots, weight, room)


@kernel
def count_node(
    codes: np.ndarray, weight: np.ndarray, layout: Layout, levels: np.ndarray, slots: Slots, room: Room
) -> int:
    """Number a node's classes; -1 when its keys do not fit into 64 bits."""
    rows = np.empty(levels.size, dtype=np.int64)
    cards = np.empty(levels.size, dtype=np.int64)
    used = 0
    for a in range(levels.size):
        card = layout.cards[a, levels[a]]
        if card > 1:
            rows[used] = layout.row_at[a] + levels[a]
            cards[used] = card
            used += 1
    return count_rows(codes, rows[:used], cards[:used], weight, slots, room)


@kernel
def level_codes(leaf: np.ndarray, layout: Layout) -> np.ndarray:
    """(levels of all attributes, entries): node of each entry, from (attributes, entries) leaf codes."""
    codes = np.empty((layout.row_at[-1], leaf.shape[1]), dtype=np.int32)
    for a in range(leaf.shape[0]):
        mine = leaf[a]
        for row in range(layout.row_at[a], layout.row_at[a + 1]):
            labels = layout.labels[row - layout.row_at[a], layout.card_at[a] : layout.card_at[a + 1]]
            for i in range(mine.size):
                # Unsigned, so that no index is looked at whether it is negative.
                codes[row, i] = labels[np.uint64(mine[i])]
    return codes
