"""Count one node of a generalisation lattice on the frequency table.

Combinations of leaf codes are stored sorted, so that neighbours fall into the same class at most nodes, and the slots
of hash tables are in the cache.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from shoal.kernels import _native

# A hash table of classes. table: int32 class in each of at least twice as many slots as there are combinations; keys:
# uint64 key of each class.
Slots = namedtuple("Slots", "table keys")
# Levels of the attributes. cards: int64 (attributes, levels), nodes of each level; row_at: int64, where an attribute's
# rows of codes start, and where the last one's end; card_at: int64, where its leaf codes start in the list of all
# attributes'; labels: int32 (levels, leaf codes), node of each leaf code.
Layout = namedtuple("Layout", "cards row_at card_at labels")
# Buffers, one entry a combination: int32 and int64 keys, int32 class, and int64 size and int32 first combination of a
# class.
Room = namedtuple("Room", "narrow wide class_of sizes first")


def count_rows(
    codes: np.ndarray, rows: np.ndarray, cards: np.ndarray, weight: np.ndarray, slots: Slots, room: Room
) -> int:
    """Number the classes that some rows of ``codes`` make, in O(entries times rows); -1 if keys pass 64 bits.

    Parameters
    ----------
    codes
        int32 (levels of all attributes, entries).
    rows, cards
        int64: the rows that are used, and how many codes each has, at least one.
    weight
        int64, rows of each entry.
    slots, room
        Buffers. ``room`` gets the class of each entry, and size and first entry of each class.
    """
    return _native.count_rows(codes, rows, cards, weight, slots, room)


def count_node(
    codes: np.ndarray, weight: np.ndarray, layout: Layout, levels: np.ndarray, slots: Slots, room: Room
) -> int:
    """Number the classes of the node at ``levels``, int64, one an attribute; see `count_rows`.

    Cost: O(entries times attributes).
    """
    return _native.count_node(codes, weight, layout, levels, slots, room)


def level_codes(leaf: np.ndarray, layout: Layout) -> np.ndarray:
    """Look up the node of each entry at each level: int32 (levels of all attributes, entries).

    ``leaf`` is int32 (attributes, entries), leaf codes. Cost: O(entries times levels of all attributes).
    """
    codes = np.empty((layout.row_at[-1], leaf.shape[1]), dtype=np.int32)
    _native.level_codes(leaf, layout, codes)
    return codes
