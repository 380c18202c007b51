"""Personalised anonymity: how likely a record is to lie under a node that its owner guards, and how to blur that.

A node is a run of leaves, ``first`` to before ``after``. Records of a class stand side by side; each has a released
node (negative: its value is unknown and it takes no part), a guarded node (negative: none) and, in ``times``, how many
records of its owner the class holds.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from shoal.kernels.compiled import kernel
from shoal.kernels.frozen.heap import pop

# Distinct nodes of a hierarchy: their leaves, and the next node above that is larger (-1: the root).
Nodes = namedtuple("Nodes", "first after parent")
# One class: the records at each node, the nodes in use, the most records of one owner behind each guard, guards in use.
Tally = namedtuple("Tally", "count used times guards")

TOLERANCE = 1e-12


@kernel
def share(nodes: Nodes, node: int, guard: int) -> float:
    """Chance that a value somewhere under ``node`` lies under ``guard``, every leaf being as likely."""
    if nodes.first[guard] <= nodes.first[node] and nodes.after[node] <= nodes.after[guard]:
        return 1.0
    if nodes.first[node] <= nodes.first[guard] and nodes.after[guard] <= nodes.after[node]:
        return (nodes.after[guard] - nodes.first[guard]) / (nodes.after[node] - nodes.first[node])
    return 0.0


@kernel
def breach(nodes: Nodes, tally: Tally, used: int, guard: int, times: int) -> float:
    """Chance that one of ``times`` records drawn from the class lies under ``guard``.

    ``none[j]`` is the chance that none of j records drawn so far does: node after node, the j records are split between
    those counted before and those of the node, whose every split is a hypergeometric term.
    """
    none = np.zeros(times + 1)
    none[0] = 1.0
    size = 0
    for place in range(used):
        own = tally.count[tally.used[place]]
        miss = 1.0 - share(nodes, tally.used[place], guard)
        for j in range(min(times, size + own), 0, -1):
            total = 0.0
            for mine in range(max(0, j - size), min(j, own) + 1):
                term = none[j - mine]
                for t in range(j):
                    left = own - t if t < mine else size - (t - mine)
                    term *= left / (size + own - t)
                for t in range(mine):
                    term *= miss * (j - t) / (t + 1)
                total += term
            none[j] = total
        size += own
    return 1.0 - none[times]


@kernel
def _tally(node: np.ndarray, guard: np.ndarray, times: np.ndarray, low: int, high: int, tally: Tally) -> tuple:
    """Count one class; returns how many nodes and how many guards it uses."""
    used = 0
    guards = 0
    for i in range(low, high):
        if node[i] < 0:
            continue
        if tally.count[node[i]] == 0:
            tally.used[used] = node[i]
            used += 1
        tally.count[node[i]] += 1
        if guard[i] >= 0:
            if tally.times[guard[i]] == 0:
                tally.guards[guards] = guard[i]
                guards += 1
            # More records of one owner are only likelier to contain one under the guard.
            tally.times[guard[i]] = max(tally.times[guard[i]], times[i])
    return used, guards


@kernel
def _clear(tally: Tally, used: int, guards: int) -> None:
    for place in range(used):
        tally.count[tally.used[place]] = 0
    for place in range(guards):
        tally.times[tally.guards[place]] = 0


@kernel
def _new_tally(nodes: Nodes) -> Tally:
    size = nodes.first.size
    return Tally(
        np.zeros(size, dtype=np.int64), np.empty(size, dtype=np.int64),
        np.zeros(size, dtype=np.int64), np.empty(size, dtype=np.int64),
    )  # fmt: skip


@kernel
def _worst(nodes: Nodes, tally: Tally, used: int, guards: int) -> tuple:
    """The guard most likely to be breached and how likely; the first met among equals."""
    worst = 0.0
    which = -1
    for place in range(guards):
        guard = tally.guards[place]
        chance = breach(nodes, tally, used, guard, tally.times[guard])
        if chance > worst + TOLERANCE or which < 0:
            worst = chance
            which = guard
    return worst, which


@kernel
def worst_breaches(
    nodes: Nodes, starts: np.ndarray, node: np.ndarray, guard: np.ndarray, times: np.ndarray
) -> np.ndarray:
    """Largest chance of a breach in every class; NaN for one without a known value, 0 for one without a guard."""
    found = np.empty(starts.size - 1)
    tally = _new_tally(nodes)
    for g in range(found.size):
        used, guards = _tally(node, guard, times, starts[g], starts[g + 1], tally)
        found[g] = _worst(nodes, tally, used, guards)[0] if used else np.nan
        _clear(tally, used, guards)
    return found


@kernel
def _choose(nodes: Nodes, tally: Tally, used: int, guard: int, heaps: np.ndarray, at: np.ndarray) -> int:
    """The node to lift a record from: largest share under the guard, then smallest loss, then earliest record."""
    best = -1
    most = 0.0
    for place in range(used):
        node = tally.used[place]
        if tally.count[node] == 0 or nodes.parent[node] < 0:
            continue
        mine = share(nodes, node, guard)
        if mine <= 0.0 or mine < most - TOLERANCE:
            continue
        if best >= 0 and mine <= most + TOLERANCE:
            loss = _lift_loss(nodes, node) - _lift_loss(nodes, best)
            if loss > 0 or (loss == 0 and heaps[at[node]] > heaps[at[best]]):
                continue
        best = node
        most = mine
    return best


@kernel
def _lift_loss(nodes: Nodes, node: int) -> int:
    up = nodes.parent[node]
    return (nodes.after[up] - nodes.first[up]) - (nodes.after[node] - nodes.first[node])


@kernel
def _push(keys: np.ndarray, at: int, size: int, key: int) -> None:
    place = size
    while place > 0:
        above = (place - 1) // 2
        if keys[at + above] <= key:
            break
        keys[at + place] = keys[at + above]
        place = above
    keys[at + place] = key


@kernel
def _lift_class(
    nodes: Nodes, tally: Tally, in_use: tuple, node: np.ndarray, low: int, high: int, p: float
) -> tuple:
    """Lift records of one class until no breach is likelier than p; returns whether that worked, and nodes in use."""
    used, guards = in_use
    # Room for each node's records: all that lie under it may come to stand on it. The records on a node are a heap,
    # so that the earliest is lifted first.
    room = np.zeros(nodes.first.size + 1, dtype=np.int64)
    for i in range(low, high):
        up = node[i]
        while up >= 0:
            room[up + 1] += 1
            up = nodes.parent[up]
    for u in range(nodes.first.size):
        room[u + 1] += room[u]
    heaps = np.empty(room[-1], dtype=np.int64)
    for place in range(used):
        tally.count[tally.used[place]] = 0
    for i in range(low, high):
        if node[i] >= 0:
            heaps[room[node[i]] + tally.count[node[i]]] = i  # ascending, so a heap already
            tally.count[node[i]] += 1
    while True:
        worst, guard = _worst(nodes, tally, used, guards)
        if worst <= p + TOLERANCE:
            return True, used
        while worst > p + TOLERANCE:
            u = _choose(nodes, tally, used, guard, heaps, room)
            if u < 0:
                return False, used
            i = pop(heaps[room[u] : room[u + 1]], tally.count[u])
            tally.count[u] -= 1
            up = nodes.parent[u]
            if tally.count[up] == 0 and not _in_use(tally, used, up):
                tally.used[used] = up
                used += 1
            _push(heaps, room[up], tally.count[up], i)
            tally.count[up] += 1
            node[i] = up
            worst = breach(nodes, tally, used, guard, tally.times[guard])


@kernel
def _in_use(tally: Tally, used: int, node: int) -> bool:
    for place in range(used):
        if tally.used[place] == node:
            return True
    return False


@kernel
def lift(
    nodes: Nodes, starts: np.ndarray, node: np.ndarray, guard: np.ndarray, times: np.ndarray, p: float
) -> np.ndarray:
    """Lift released nodes in place, class by class, until no breach is likelier than p; returns where that worked.

    Of the likeliest breach, a record that adds most to it goes one node up: of these the one that loses least, then
    the earliest. Where every record at the root is still too much, the class fails.
    """
    worked = np.ones(starts.size - 1, dtype=np.uint8)
    tally = _new_tally(nodes)
    for g in range(worked.size):
        used, guards = _tally(node, guard, times, starts[g], starts[g + 1], tally)
        if guards and _worst(nodes, tally, used, guards)[0] > p + TOLERANCE:
            ok, used = _lift_class(nodes, tally, (used, guards), node, starts[g], starts[g + 1], p)
            worked[g] = ok
        _clear(tally, used, guards)
    return worked
