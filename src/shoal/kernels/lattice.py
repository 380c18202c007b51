"""Count one node of a generalisation lattice on the frequency table.

Combinations of leaf codes are stored sorted, so that neighbours fall into the same class at most nodes, and the slots
of hash tables are in the cache.
"""

from __future__ import annotations

import math
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


# ----------------------------------------
# Bounds that checks of coarser nodes prove for finer ones, for lattices whose nodes can all be listed.


# nodes: int64 ids by height, those of one height ascending; offsets: int64 (heights + 1), where each height's begin;
# levels: int16 (nodes, attributes) of each id; strides: int64 (attributes), what one level of each adds to an id;
# heights: int64 (attributes).
Listed = namedtuple("Listed", "nodes offsets levels strides heights")
# plain: float64 (attributes, levels), what each attribute adds to the cost if nothing is suppressed; checks: float64
# (checks, attributes, levels), the same if the rows are that a check proves lost.
Search = namedtuple("Search", "plain checks")
# By node: source (int32), the check that bounds it best (-1: none); hopeless (uint8), 1 where no finer node can be
# allowed either.
Known = namedtuple("Known", "source hopeless")


def list_nodes(heights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """List ids by height (int64), where each height's begin (int64), and the levels of each id (int16); in O(nodes)."""
    size = math.prod(height + 1 for height in heights.tolist())
    nodes = np.empty(size, dtype=np.int64)
    offsets = np.empty(int(heights.sum()) + 2, dtype=np.int64)
    levels = np.empty((size, heights.size), dtype=np.int16)
    _native.list_nodes(heights, nodes, offsets, levels)
    return nodes, offsets, levels


def inherit_bounds(height: int, listed: Listed, known: Known, done: np.ndarray, search: Search) -> np.ndarray:
    """Compute lower bounds (float64) on the cost of all nodes of one height, from checks of coarser nodes.

    Rows that a check at a coarser node suppresses for good are suppressed here too. ``known.source`` gets the check
    that bounds a node best and ``known.hopeless`` is handed down; a hopeless node's bound is infinite. ``done`` is
    bool, by node: it was checked. Cost: O(nodes times attributes squared).
    """
    bounds = np.empty(listed.offsets[height + 1] - listed.offsets[height])
    _native.inherit_bounds(height, listed, known, done, search, bounds)
    return bounds


def node_cost(search: Search, levels: np.ndarray, w: int) -> float:
    """Compute the cost of a node, int16 (attributes), if just the rows that check ``w`` suppressed are lost (-1: none).

    Cost: O(attributes).
    """
    return _native.node_cost(search, levels, w)


def children(node: int, listed: Listed, plain: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """List the nodes one level below in one attribute, cheapest first, and what each costs if nothing is suppressed.

    ``plain`` is that of `Search`; the results are int64 and float64. Cost: O(attributes squared).
    """
    below, costs = _native.children(node, listed, plain)
    return below, costs


def climb(node: int, listed: Listed, plain: np.ndarray, done: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """List the nodes above one along the cheapest steps, up to the first that is checked or above an allowed one.

    ``plain`` is that of `Search`, ``done`` bool by node, and ``allowed`` the levels of allowed nodes, int16 (nodes,
    attributes); the result is int64. Cost: O(attributes times allowed nodes) for each step.
    """
    return _native.climb(node, listed, plain, done, allowed)


def rule_out(height: int, above: int, listed: Listed, hopeless: np.ndarray) -> None:
    """Mark all nodes of one height hopeless (uint8, by node) that lie below a node, in O(nodes times attributes)."""
    _native.rule_out(height, above, listed, hopeless)
