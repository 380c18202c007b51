"""k-Optimize: the best cuts of ordered domains, proven (Bayardo & Agrawal 2005)."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.algorithms.base import Algorithm, Problem
from shoal.algorithms.blocks.board import MEASURES, Board, Cuts, State, cuts_of
from shoal.algorithms.lattice.verdicts import infeasible
from shoal.errors import ParameterError
from shoal.models.base import Model
from shoal.params import choice, real, whole
from shoal.recoding.recodings import Blocks
from shoal.registry import load

# ----------------------------------------
# Set enumeration over cuts with bounds on cost (Bayardo & Agrawal 2005).
#
# A node is a head, the cuts in use, and a tail, the cuts that it may still take. Whatever lies between the head
# alone and the head with its whole tail can be no finer than the latter, and suppresses what already fails in the
# former: both together bound the cost of all of them. A cut of the tail goes where its own bound says that nothing
# with it is better, or where it would only part classes into parts that fail.


# Costs this near are equal: sums of the same prices in another order differ by less.
TIE = 1e-9


@dataclass(frozen=True, eq=False)
class Node:
    """A head, its tail in order, and what no set below costs less than, as far as known."""

    head: np.ndarray
    tail: list[int]
    bound: float


@dataclass(frozen=True, eq=False)
class Best:
    """What a search found.

    Attributes
    ----------
    head, state
        The best cuts, None when no allowed ones were met.
    bound
        What no cuts cost less than.
    nodes
        Heads looked into.
    """

    head: np.ndarray | None
    state: State | None
    bound: float
    nodes: int

    @property
    def proven(self) -> bool:
        """Whether nothing is better."""
        return self.state is not None and self.bound >= self.state.cost - _slack(self.state.cost)


class Search:
    """One table's cuts, and the best of them so far."""

    def __init__(
        self, board: Board, cuts: Cuts, progress: Callable[[str], None], *, seconds: float | None, nodes: int | None
    ) -> None:
        self.board, self.cuts, self.progress = board, cuts, progress
        self.most = np.inf if nodes is None else nodes
        self.until = None if seconds is None else time.monotonic() + seconds
        self.head: np.ndarray | None = None
        self.state: State | None = None
        self.nodes = 0

    @property
    def late(self) -> bool:
        """Whether time is up."""
        return self.until is not None and time.monotonic() >= self.until

    @property
    def limit(self) -> float:
        """Whatever costs this much is no better."""
        return np.inf if self.state is None else self.state.cost - _slack(self.state.cost)

    def run(self) -> Best:
        """The best of all sets of cuts, or of those that there was time for."""
        self.climb()
        everything = list(range(self.cuts.size))
        waiting = [Node(np.zeros(self.cuts.size, dtype=bool), everything, -np.inf)]
        while waiting and not self.late and self.nodes < self.most:
            node = waiting.pop()
            if node.bound < self.limit:
                waiting += self._open(node)
        if self.head is not None and self.state is not None:
            self._tighten()
        left = min((node.bound for node in waiting), default=np.inf)
        cost = np.inf if self.state is None else self.state.cost
        return Best(self.head, self.state, min(left, cost), self.nodes)

    def climb(self) -> None:
        """From no cuts, the one whose taking or giving up lowers the cost most, again and again: something to beat."""
        head = np.zeros(self.cuts.size, dtype=bool)
        self._offer(head, self.board.state(self.cuts.blocks(head)))
        while self.state is not None and self.head is not None and not self.late:
            head, before = self.head.copy(), self.state.cost
            for item in np.flatnonzero(self._reachable(head) & ~self._leaned_on(head)).tolist():
                if self.late:
                    return
                head[item] ^= True
                self._offer(head, self.board.state(self.cuts.blocks(head)))
                head[item] ^= True
            if self.state.cost >= before - _slack(before):
                return
            self.progress(f"climbing, {self._told()}")

    def _open(self, node: Node) -> list[Node]:
        """The nodes below one, those that promise most last, where they are taken from; none where none is better."""
        self.nodes += 1
        state = self.board.state(self.cuts.blocks(node.head))
        self._offer(node.head, state)
        if self.board.monotone and state.suppressed > self.board.allowed:
            return []
        pruned = self._prune(node, state)
        if pruned is None:
            return [node]
        tail, bounds = pruned
        if self.nodes % 16 == 0:
            self.progress(f"{self.nodes} sets of cuts, {self._told()}")
        order = self._ordered(tail, bounds)
        found = []
        for place, item in enumerate(order):
            above = self.cuts.parent[item]
            if above >= 0 and not node.head[above]:
                continue  # comes below the node that takes its parent
            head = node.head.copy()
            head[item] = True
            found.append(Node(head, order[place + 1 :], max(node.bound, bounds[item])))
        return found

    def _prune(self, node: Node, state: State) -> tuple[list[int], dict[int, float]] | None:
        """The tail without what cannot help, and the bound of each cut left; again while the bounds rise by it.

        None where time is up before that is known.
        """
        tail = node.tail
        while True:
            tail = self._rooted(node.head, tail)
            whole = node.head.copy()
            whole[tail] = True
            finest = self.board.state(self.cuts.blocks(whole))
            if self.board.least(finest, state.bad) >= self.limit:
                return [], {}
            bounds: dict[int, float] = {}
            # A cut that helps nobody may still be asked for by one below it that does.
            asked = {int(self.cuts.parent[item]) for item in tail}
            for item in tail:
                if self.late:
                    return None
                bound = self._bound(state, finest, item, last=item not in asked)
                if bound < self.limit:
                    bounds[item] = bound
            if len(bounds) == len(tail):
                return tail, bounds
            tail = [item for item in tail if item in bounds]

    def _bound(self, state: State, finest: State, item: int, *, last: bool) -> float:
        """What nothing with one more cut costs less than; infinite where a cut that no other asks for is of no use."""
        board, place = self.board, int(self.cuts.column[item])
        begins = np.diff(state.blocks[place], prepend=state.blocks[place][0])
        while item >= 0:  # whatever has the cut has those that it asks for
            begins[self.cuts.after[item] + 1] = 1
            item = int(self.cuts.parent[item])
        blocks = np.cumsum(begins, dtype=np.int32)
        classes, count, bad = board.finer(state, place, blocks)
        if board.monotone and board.rows[bad].sum() > board.allowed:
            return np.inf
        if last and board.stays and board.measure != "lm" and _of_no_use(state, classes, count, bad):
            return np.inf
        return board.least(finest, bad)

    def _rooted(self, head: np.ndarray, tail: list[int]) -> list[int]:
        """Cuts of the tail whose parents are in head or tail."""
        there = head.copy()
        there[tail] = True
        there = self.cuts.closed(there)
        return [item for item in tail if there[item]]

    def _ordered(self, tail: list[int], bounds: dict[int, float]) -> list[int]:
        """The worst bounds first, where most sets lie below them; parents before their children."""
        order: list[int] = []
        placed: set[int] = set()

        def place(item: int) -> None:
            above = int(self.cuts.parent[item])
            if above in bounds and above not in placed:
                place(above)
            if item not in placed:
                placed.add(item)
                order.append(item)

        for item in sorted(tail, key=lambda one: (-bounds[one], one)):
            place(item)
        return order

    def _reachable(self, head: np.ndarray) -> np.ndarray:
        above = self.cuts.parent
        return np.where(above >= 0, head[np.maximum(above, 0)], True)

    def _leaned_on(self, head: np.ndarray) -> np.ndarray:
        """Cuts that others in use ask for."""
        above = self.cuts.parent[head]
        return np.bincount(above[above >= 0], minlength=self.cuts.size)[: self.cuts.size] > 0

    def _offer(self, head: np.ndarray, state: State) -> None:
        if state.suppressed <= self.board.allowed and state.cost < self.limit:
            self.head, self.state = head.copy(), state

    def _tighten(self) -> None:
        """Cuts that cost nothing more are taken where they make cells narrower."""
        assert self.head is not None
        assert self.state is not None
        head, state = self.head.copy(), self.state
        loss = self.board.loss(state)
        for item in range(self.cuts.size):
            if head[item] or not self._reachable(head)[item]:
                continue
            head[item] = True
            found = self.board.state(self.cuts.blocks(head))
            narrower = self.board.loss(found) if found.suppressed <= self.board.allowed else np.inf
            if found.cost <= state.cost + _slack(state.cost) and narrower < loss - TIE:
                state, loss = found, narrower
            else:
                head[item] = False
        self.head, self.state = head, state

    def _told(self) -> str:
        if self.state is None:
            return "none allowed yet"
        return f"{self.board.measure} {self.board.figure(self.state.cost):.6g}"


def _of_no_use(state: State, classes: np.ndarray, count: int, bad: np.ndarray) -> bool:
    """Whether every class that is parted falls into parts that all fail."""
    old = np.empty(count, dtype=np.int64)
    old[classes] = state.classes
    parted = np.bincount(old, minlength=state.count) > 1
    return bool(bad[parted[state.classes]].all())


def _slack(cost: float) -> float:
    return TIE * max(1.0, abs(cost))


# What a search without a limit of its own stops after.
_SECONDS = 60.0


@dataclass(frozen=True, kw_only=True)
class ByBlocks(Algorithm):
    """A method that puts the values of every column in blocks, guided by a measure.

    Parameters
    ----------
    measure
        ``dm`` (discernibility), ``cm`` (classification) or ``lm`` (loss); suppressed rows count at their full price.
    target
        Label of ``cm``, the first sensitive attribute when not given.
    seconds
        Stop after so long with the best so far.
    k
        Shorthand that adds the model ``k``.
    """

    shorthand: ClassVar[tuple[str, ...]] = ("k",)
    measure: str = "lm"
    target: str | None = None
    seconds: float | None = None
    k: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        name = type(self).__name__
        choice(name, "measure", self.measure, MEASURES)
        if self.target is not None and self.measure != "cm":
            raise ParameterError(f"The target of {name} is for the measure 'cm': leave it out.")
        if self.seconds is not None:
            real(name, "seconds", self.seconds, low=0.0, open_low=True)

    def models(self) -> list[Model]:
        """The model that ``k`` stands for."""
        return [] if self.k is None else [load("model", "k")(k=self.k)]

    @property
    def from_cells(self) -> bool:
        """The frequency table is all that blocks are tried on."""
        return True

    def board(self, problem: Problem) -> Board:
        """The table that blocks are tried on."""
        return Board(problem, self.measure, self.target, self.rows_allowed(problem.domain.n))


@dataclass(frozen=True, kw_only=True)
class KOptimize(ByBlocks):
    """Of all ways to cut the ordered values of every column into runs, the one with the best measure, proven.

    Columns with a hierarchy are cut into its nodes. Without ``seconds`` or ``nodes`` the search stops after a minute;
    the notes say how far from the best its result can be at most.

    Parameters
    ----------
    nodes
        Stop after so many sets of cuts, which, unlike time, gives the same result on every machine.

    Examples
    --------
    >>> KOptimize(k=5, suppression_limit=0.02).parameters()
    {'name': 'k-optimize', 'suppression_limit': 0.02, 'measure': 'dm'}
    """

    name: ClassVar[str] = "k-optimize"
    measure: str = "dm"
    nodes: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.nodes is not None:
            whole("KOptimize", "nodes", self.nodes, least=0)

    def run(self, problem: Problem) -> Blocks:
        """Search the sets of cuts."""
        board, cuts = self.board(problem), cuts_of(problem.domain.quasi)
        seconds = _SECONDS if self.seconds is None and self.nodes is None else self.seconds
        found = Search(board, cuts, problem.progress, seconds=seconds, nodes=self.nodes).run()
        if found.head is None or found.state is None:
            raise infeasible(problem, self.rows_allowed(problem.domain.n))
        cost, bound = (board.figure(value) for value in (found.state.cost, found.bound))
        notes = {
            "proven": found.proven, "gap": 0.0 if found.proven else (cost - max(bound, 0.0)) / (cost or 1.0),
            "figure": cost, "nodes": found.nodes, "looked_at": board.looked_at, "cuts": cuts.size,
            "suppressed": found.state.suppressed,
        }  # fmt: skip
        return recoded(problem, cuts, found.head, notes)


def recoded(problem: Problem, cuts: Cuts, chosen: np.ndarray, notes: dict[str, Any]) -> Blocks:
    """The recoding that some cuts make."""
    names = problem.domain.schema.quasi
    blocks = dict(zip(names, cuts.blocks(chosen), strict=True))
    return Blocks(blocks=blocks, notes={**notes, "blocks": {name: int(of[-1]) + 1 for name, of in blocks.items()}})
