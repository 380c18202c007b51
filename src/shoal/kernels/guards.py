"""Personalised anonymity: the chance that a record lies under a node that its owner guards, and lifting of nodes.

A node is a run of leaves, ``first`` to before ``after``. Records of a class are next to each other; each has a released
node (negative: its value is unknown and it is left out), a guarded node (negative: none) and, in ``times``, the number
of records of its owner in the class.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from shoal.kernels import _native

# Distinct nodes of a hierarchy, int64: their leaves, and the next node above that is larger (-1: the root).
Nodes = namedtuple("Nodes", "first after parent")


def worst_breaches(
    nodes: Nodes, starts: np.ndarray, node: np.ndarray, guard: np.ndarray, times: np.ndarray
) -> np.ndarray:
    """Compute the largest chance of a breach in every class; NaN without a known value, 0 without a guard.

    ``starts`` is int64 (classes + 1); the others are int64, one a record. Cost: O(records), and for each guard of a
    class its nodes times the cube of the records that one owner has.
    """
    chances = np.empty(starts.size - 1)
    _native.worst_breaches(nodes, starts, node, guard, times, chances)
    return chances


def lift(
    nodes: Nodes, starts: np.ndarray, node: np.ndarray, guard: np.ndarray, times: np.ndarray, p: float
) -> np.ndarray:
    """Lift released nodes in place, class by class, until no breach is likelier than p; uint8, 1 where that worked.

    Of the likeliest breach, a record that adds most to it goes one node up: of these the one that loses least, then
    the earliest. Where every record at the root is still too much, the class fails. Arguments are those of
    `worst_breaches`. Cost: that of `worst_breaches` for each step up.
    """
    worked = np.empty(starts.size - 1, dtype=np.uint8)
    _native.lift_nodes(nodes, starts, node, guard, times, p, worked)
    return worked
