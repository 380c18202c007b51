"""What checks of coarser nodes prove of finer ones, for all nodes of a lattice that can be listed."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from shoal.kernels.compiled import kernel

# nodes: ids by height, those of one height ascending; offsets: where each height's begin; levels: (nodes, attributes)
# of each id; strides: what one level of each attribute adds to an id; heights: that of each attribute.
Listed = namedtuple("Listed", "nodes offsets levels strides heights")
# plain: (attributes, levels), what each attribute adds to the cost if nothing is suppressed; checks: (checks,
# attributes, levels), the same if the rows are that a check proves lost.
Search = namedtuple("Search", "plain checks")
# By node: source, the check that bounds it best (-1: none); hopeless, 1 where no finer node can be allowed either.
Known = namedtuple("Known", "source hopeless")


@kernel
def list_nodes(heights: np.ndarray) -> tuple:
    """Ids by height, where each height's begin, and the levels of each id."""
    size = 1
    for height in heights:
        size *= height + 1
    levels = np.empty((size, heights.size), dtype=np.int16)
    now = np.zeros(heights.size, dtype=np.int16)
    offsets = np.zeros(heights.sum() + 2, dtype=np.int64)
    for node in range(size):
        total = 0
        for a in range(heights.size):
            levels[node, a] = now[a]
            total += now[a]
        offsets[total + 1] += 1
        a = heights.size - 1
        while a >= 0 and now[a] == heights[a]:
            now[a] = 0
            a -= 1
        if a >= 0:
            now[a] += 1
    for height in range(offsets.size - 1):
        offsets[height + 1] += offsets[height]
    at = offsets.copy()
    nodes = np.empty(size, dtype=np.int64)
    for node in range(size):
        total = 0
        for a in range(heights.size):
            total += levels[node, a]
        nodes[at[total]] = node
        at[total] += 1
    return nodes, offsets, levels


@kernel
def inherit_bounds(height: int, listed: Listed, known: Known, done: np.ndarray, search: Search) -> np.ndarray:
    """Lower bounds on the cost of all nodes of one height, from checks of coarser nodes.

    What a check at a coarser node suppresses for good is suppressed here too. ``known.source`` gets the check that
    bounds a node best and ``known.hopeless`` is handed down; a hopeless node's bound is infinite.
    """
    nodes = listed.nodes[listed.offsets[height] : listed.offsets[height + 1]]
    bounds = np.empty(nodes.size)
    for i in range(nodes.size):
        node = nodes[i]
        for a in range(listed.heights.size):
            if listed.levels[node, a] < listed.heights[a] and known.hopeless[node + listed.strides[a]]:
                known.hopeless[node] = 1
                break
        if known.hopeless[node]:
            bounds[i] = np.inf
            continue
        best = -1
        most = node_cost(search, listed.levels[node], -1)
        for a in range(listed.heights.size):
            if listed.levels[node, a] < listed.heights[a]:
                w = known.source[node + listed.strides[a]]
                if w >= 0 and w != best:
                    value = node_cost(search, listed.levels[node], w)
                    if best < 0 or value > most:
                        most = max(most, value)
                        best = w
        # A check of the node itself knows more than any above it.
        if not done[node] or known.source[node] < 0:
            known.source[node] = best
        bounds[i] = most
    return bounds


@kernel
def node_cost(search: Search, levels: np.ndarray, w: int) -> float:
    """Cost of a node if just the rows that check ``w`` suppressed are lost (-1: none)."""
    total = 0.0
    for a in range(levels.size):
        total += search.plain[a, levels[a]] if w < 0 else search.checks[w, a, levels[a]]
    return total


@kernel
def children(node: int, listed: Listed, plain: np.ndarray) -> tuple:
    """Nodes one level below in one attribute, the cheapest first, and what each costs if nothing is suppressed."""
    below = np.empty(listed.heights.size, dtype=np.int64)
    costs = np.empty(listed.heights.size)
    found = 0
    for a in range(listed.heights.size):
        if listed.levels[node, a] > 0:
            below[found] = node - listed.strides[a]
            costs[found] = 0.0
            for b in range(listed.heights.size):
                costs[found] += plain[b, listed.levels[below[found], b]]
            found += 1
    order = np.argsort(costs[:found], kind="mergesort")
    return below[:found][order], costs[:found][order]


@kernel
def climb(node: int, listed: Listed, plain: np.ndarray, done: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """The nodes above one along the cheapest steps, up to the first that is checked or above an allowed one.

    ``allowed`` are the levels of nodes found allowed.
    """
    chain = np.empty(listed.heights.sum(), dtype=np.int64)
    found = 0
    while True:
        pick = -1
        least = np.inf
        for a in range(listed.heights.size):
            level = listed.levels[node, a]
            if level < listed.heights[a] and plain[a, level + 1] - plain[a, level] < least:
                least = plain[a, level + 1] - plain[a, level]
                pick = a
        if pick < 0:
            return chain[:found]
        node += listed.strides[pick]
        if done[node]:
            return chain[:found]
        for i in range(allowed.shape[0]):
            if (allowed[i] <= listed.levels[node]).all():
                return chain[:found]
        chain[found] = node
        found += 1


@kernel
def rule_out(height: int, above: int, listed: Listed, hopeless: np.ndarray) -> None:
    """Make all nodes of one height hopeless that lie below a node."""
    for place in range(listed.offsets[height], listed.offsets[height + 1]):
        node = listed.nodes[place]
        below = True
        for a in range(listed.heights.size):
            below &= listed.levels[node, a] <= listed.levels[above, a]
        if below:
            hopeless[node] = 1
