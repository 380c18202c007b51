"""Searching a lattice from the top down for the best node, with proof.

A check tells more than its own node. Rows whose class is too small are in a class at least as small at every finer
node, so what a node suppresses for good bounds the cost of everything below it, and a node that suppresses too much
rules everything below it out. Coarse nodes come first, because they bound the most.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from shoal.algorithms.lattice.checker import Checker, NodeCheck
from shoal.algorithms.lattice.objective import TIE, Objective, Rank
from shoal.algorithms.lattice.verdicts import suppression_is_monotone
from shoal.kernels import lattice as kernel

# Lattices up to this size are swept height by height; larger ones are explored best first.
SWEEP_LIMIT = 4_000_000
# Up to this size, what is left when the time is up can be bounded in no time.
_HURRY = 500_000


@dataclass
class Found:
    """Outcome of a search.

    Attributes
    ----------
    best
        Rank of the best node, None when no node is allowed.
    proven
        Whether no node can be better.
    gap
        How much better an unseen node could be at most; 0 when proven.
    nodes, checked
        Nodes in the lattice, and nodes counted.
    pruned
        Nodes left out, by reason.
    """

    nodes: int
    best: Rank | None = None
    proven: bool = True
    gap: float = 0.0
    checked: int = 0
    pruned: dict[str, int] = field(default_factory=lambda: {"bound": 0, "infeasible": 0})


class Checks:
    """What the checks so far proved, growing, in one array for the kernels."""

    def __init__(self, objective: Objective) -> None:
        least = objective.least()
        self.search = kernel.Search(least, np.empty((64, *least.shape)))
        self.count = 0

    def add(self, terms: np.ndarray) -> int:
        """Store one check's proof; returns its number."""
        if self.count == len(self.search.checks):
            self.search = self.search._replace(checks=np.concatenate((self.search.checks, self.search.checks)))
        self.search.checks[self.count] = terms
        self.count += 1
        return self.count - 1


def hopeless_below(checker: Checker, check: NodeCheck, allowed: int) -> bool:
    """Whether no node below a checked one can stay within the suppression allowed.

    Rows lost for good already decide. Where every node above an allowed one is allowed, a node that is not allowed
    rules out all below it.
    """
    if check.inherited > allowed:
        return True
    return check.suppressed > allowed and suppression_is_monotone(checker.problem.judge, allowed)


def best_node(
    checker: Checker, objective: Objective, allowed: int, *, seconds: float | None, progress: Callable[[str], None]
) -> Found:
    """The best node that suppresses at most ``allowed`` rows."""
    deadline = None if seconds is None else time.monotonic() + seconds
    if checker.lattice.size <= SWEEP_LIMIT:
        return _sweep(checker, objective, allowed, deadline, progress)
    return _explore(checker, objective, allowed, deadline or time.monotonic() + 60.0, progress)


class _Sweep:
    """State of a sweep: what is known of every node, and the best so far."""

    def __init__(self, checker: Checker, objective: Objective, allowed: int) -> None:
        lattice = checker.lattice
        self.checker, self.objective, self.allowed = checker, objective, allowed
        heights = np.array(lattice.heights, dtype=np.int64)
        nodes, offsets, levels = kernel.list_nodes(heights)
        self.listed = kernel.Listed(nodes, offsets, levels, lattice.strides, heights)
        self.known = kernel.Known(np.full(lattice.size, -1, dtype=np.int32), np.zeros(lattice.size, dtype=np.uint8))
        self.done = np.zeros(lattice.size, dtype=bool)
        self._allowed_levels = np.empty((0, heights.size), dtype=np.int16)
        self.checks = Checks(objective)
        self.found = Found(nodes=lattice.size)

    def check(self, node: int) -> bool:
        """Check a node and learn from it; whether it is the best so far."""
        levels = self.listed.levels[node]
        check = self.checker.check(levels)
        self.found.checked += 1
        self.done[node] = True
        if hopeless_below(self.checker, check, self.allowed):
            self.known.hopeless[node] = 1
        rank = None
        if check.suppressed <= self.allowed and check.classes:
            self._allowed_levels = np.concatenate((self._allowed_levels, levels[None, :]))
            rank = self.objective.better(levels, check, self.checker, self.found.best)
        if check.inherited and not self.known.hopeless[node]:
            self.known.source[node] = self.checks.add(self.objective.inherited(check, self.checker))
        if rank is not None:
            self.found.best = rank
        return rank is not None

    def bounds(self, height: int) -> tuple[np.ndarray, np.ndarray]:
        """Nodes of one height, and what each costs at least."""
        bounds = kernel.inherit_bounds(height, self.listed, self.known, self.done, self.checks.search)
        return self.listed.nodes[slice(*self.listed.offsets[height : height + 2])], bounds

    def least(self, height: int) -> float:
        """What any node costs at least that is left at a height or below; in a hurry, what the bottom one would."""
        if self.checker.lattice.size > _HURRY:
            return float(kernel.node_cost(self.checks.search, self.listed.levels[0], -1))
        left = (self.bounds(below) for below in range(height, -1, -1))
        return min(float(bounds[~self.done[nodes]].min(initial=np.inf)) for nodes, bounds in left)

    def account(self) -> Found:
        """The outcome, with the nodes that were ruled out so far."""
        self.found.pruned["infeasible"] = int(((self.known.hopeless != 0) & ~self.done).sum())
        return self.found

    def chain(self, node: int) -> np.ndarray:
        """Nodes above one that may be ruled out as it may, the nearest first, along the cheapest steps."""
        return kernel.climb(node, self.listed, self.checks.search.plain, self.done, self._allowed_levels)

    def rule_out(self, height: int, above: int) -> None:
        """Make all nodes of one height hopeless that lie below a node."""
        kernel.rule_out(height, above, self.listed, self.known.hopeless)

    def beaten(self, bound: float) -> bool:
        """Whether a node of this bound cannot be as good as the best so far."""
        best = self.found.best
        return best is not None and bound > best.cost + TIE * max(1.0, abs(best.cost))


def _dive(sweep: _Sweep) -> None:
    """Walk down from the top while a child improves: a good node early prunes most of the rest."""
    node = sweep.checker.lattice.top
    sweep.check(node)
    while not sweep.known.hopeless[node]:
        below, bounds = kernel.children(node, sweep.listed, sweep.checks.search.plain)
        for child, bound in zip(below.tolist(), bounds.tolist(), strict=True):
            if not sweep.done[child] and not sweep.beaten(bound) and sweep.check(child):
                node = child
                break
        else:
            return


def _sweep(
    checker: Checker, objective: Objective, allowed: int, deadline: float | None, progress: Callable[[str], None]
) -> Found:
    lattice = checker.lattice
    sweep = _Sweep(checker, objective, allowed)
    found = sweep.found
    climb = allowed == 0 and suppression_is_monotone(checker.problem.judge, allowed)
    _dive(sweep)
    for height in range(lattice.max_height, -1, -1):
        nodes, bounds = sweep.bounds(height)
        progress(f"searching the lattice: height {height}, {found.checked} nodes checked")
        order = np.argsort(bounds, kind="stable")
        order = order[~sweep.done[nodes[order]] & ~np.isinf(bounds[order])]
        for place, (node, bound) in enumerate(zip(nodes[order].tolist(), bounds[order].tolist(), strict=True)):
            if sweep.beaten(bound):
                found.pruned["bound"] += order.size - place
                break
            if deadline is not None and time.monotonic() > deadline and found.best is not None:
                least = sweep.least(height)
                return _out_of_time(sweep.account(), objective, least)
            if sweep.done[node] or sweep.known.hopeless[node]:
                continue
            # Without suppression every cheaper node will be ruled out, so looking higher first saves its own check.
            if climb:
                _climb(sweep, node, height)
            if not sweep.known.hopeless[node]:
                sweep.check(node)
    sweep.account()
    found.pruned["bound"] = found.nodes - found.checked - found.pruned["infeasible"]
    return found


def _climb(sweep: _Sweep, node: int, height: int) -> None:
    """Look for a coarser node that is ruled out too: the higher it is, the more it rules out below.

    Follows the cheapest parents up to a node known to be allowed, and halves the chain between.
    """
    chain = sweep.chain(node)
    low, high = 0, chain.size - 1
    while low <= high:
        middle = (low + high + 1) // 2
        above = int(chain[middle])
        sweep.check(above)
        if sweep.known.hopeless[above]:
            sweep.rule_out(height, above)
            low = middle + 1
        else:
            high = middle - 1


def _out_of_time(found: Found, objective: Objective, least: float) -> Found:
    """The best so far, when no unseen node is cheaper than ``least``."""
    assert found.best is not None
    found.proven = least >= found.best.cost
    found.gap = 0.0 if found.proven else abs(objective.figure(found.best.cost) - objective.figure(least))
    return found


def _explore(
    checker: Checker, objective: Objective, allowed: int, deadline: float, progress: Callable[[str], None]
) -> Found:
    """Best first from the top: always open the node whose children could be cheapest."""
    lattice = checker.lattice
    found = Found(nodes=lattice.size)
    checks = Checks(objective)
    top = tuple(lattice.heights)
    bottom = np.zeros(len(top), dtype=np.int16)
    heap: list[tuple[float, tuple[int, ...], int]] = [(-np.inf, top, -1)]
    seen = {top}
    while heap:
        if time.monotonic() > deadline and found.best is not None:
            left = min(float(kernel.node_cost(checks.search, bottom, one[2])) for one in heap)
            return _out_of_time(found, objective, left)
        _, levels, source = heapq.heappop(heap)
        if found.best is not None and _least(checks, bottom, source) > found.best.cost + TIE:
            found.pruned["bound"] += 1
            continue
        vector = np.array(levels, dtype=np.int64)
        check = checker.check(vector)
        found.checked += 1
        progress(f"searching the lattice: {found.checked} nodes checked")
        if check.suppressed <= allowed and check.classes:
            found.best = objective.better(vector, check, checker, found.best) or found.best
        if hopeless_below(checker, check, allowed):
            found.pruned["infeasible"] += 1
            continue
        mine = checks.add(objective.inherited(check, checker)) if check.inherited else source
        for a, level in enumerate(levels):
            child = (*levels[:a], level - 1, *levels[a + 1 :])
            if level > 0 and child not in seen:
                seen.add(child)
                bound = float(kernel.node_cost(checks.search, np.array(child, dtype=np.int16), mine))
                heapq.heappush(heap, (bound, child, mine))
    return found


def _least(checks: Checks, bottom: np.ndarray, source: int) -> float:
    return -np.inf if not checks.count else float(kernel.node_cost(checks.search, bottom, source))
