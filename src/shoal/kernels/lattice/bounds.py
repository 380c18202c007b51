"""Bounds that checks of coarser nodes prove for finer ones, for lattices whose nodes can all be listed."""

from __future__ import annotations

import math
from collections import namedtuple

import numpy as np

from shoal.kernels import _native

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
