"""Many nodes of a lattice side by side, for an expert to choose from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from shoal.algorithms.base import Problem
from shoal.algorithms.lattice.best_node import best_node
from shoal.algorithms.lattice.checker import Checker, NodeCheck, PriceTable
from shoal.algorithms.lattice.objective import Objective, Rank
from shoal.data.column import TREE, Column
from shoal.data.hierarchy import MISSING, ROOT
from shoal.data.rows import with_tuples
from shoal.results import Survey, SurveyNode
from shoal.utility.base import Measure

Levels = tuple[int, ...]

_ORDER = {"allowed": 0, "over": 1, "fails": 2}
# Minimal nodes are looked for among this many, the lowest first.
_CANDIDATES = 50_000
_ROUNDS = 8


def survey(problem: Problem, *, measure: Measure, limit: float, max_nodes: int, seconds: float | None = None) -> Survey:
    """Count and price nodes: all of a lattice of at most ``max_nodes``, otherwise those that matter and a sample.

    A large lattice is searched for its optimum first. Shown are then the optimum, the nodes within two steps of it,
    the lowest allowed nodes that the search met, bottom and top, and nodes drawn by the problem's keys, spread over
    all heights. Cost: the search, and one check a node.

    Parameters
    ----------
    measure
        What to price by; one that ``optimal`` can search for.
    limit
        Largest share of rows that may be suppressed.
    seconds
        Budget of the search in a large lattice.
    """
    checker = _Recorder(problem, int(limit * problem.domain.n + 1e-9))
    domain = with_tuples(problem.rows, measure.tuples(problem.domain))
    objective = Objective(measure.name, domain, problem.judge.k)
    prices = measure.prices(domain)
    if prices is not None:  # with the measure's own parameters, which its name does not tell
        objective.priced = PriceTable(prices, problem.domain.quasi)
    lattice = checker.lattice
    if lattice.size <= max_nodes:
        proven = True
        ids = np.arange(lattice.size)
        picked = {tuple(levels): "every node" for levels in lattice.decode(ids).tolist()}
    else:
        picked, proven = _select(checker, objective, max_nodes, seconds)
    nodes, best = _count(checker, objective, picked)
    return Survey(
        measure=measure.name,
        better=measure.better,
        rows=problem.domain.n,
        limit=limit,
        columns=[column.name for column in checker.columns],
        heights=list(lattice.heights),
        level_names=[_level_names(column) for column in checker.columns],
        lattice=lattice.size,
        chosen=Counter(picked.values()),
        nodes=nodes,
        optimum=None if best is None else next(i for i, node in enumerate(nodes) if node.levels == best.levels),
        proven=proven,
    )


class _Recorder(Checker):
    """A checker that remembers which nodes it found allowed."""

    def __init__(self, problem: Problem, allowed: int) -> None:
        super().__init__(problem)
        self.allowed = allowed
        self.met: set[Levels] = set()

    def check(self, levels: Sequence[int] | np.ndarray) -> NodeCheck:
        """Count a node, and remember it when it is allowed."""
        found = super().check(levels)
        if self.verdict(found) == "allowed":
            self.met.add(tuple(int(level) for level in levels))
        return found

    def verdict(self, check: NodeCheck) -> str:
        """How a node fares."""
        if not check.classes:
            return "fails"
        return "allowed" if check.suppressed <= self.allowed else "over"


def _count(checker: _Recorder, objective: Objective, picked: Iterable[Levels]) -> tuple[list[SurveyNode], Rank | None]:
    """Every node's figures, best first within each verdict, and the rank of the best allowed one."""
    best: Rank | None = None
    found: list[tuple[float, SurveyNode]] = []
    wanted = list(picked)
    for number, levels in enumerate(wanted):
        if number % 250 == 0:
            checker.problem.progress(f"counting nodes: {number:,} of {len(wanted):,}")
        vector = np.array(levels, dtype=np.int64)
        check = checker.check(vector)
        verdict = checker.verdict(check)
        smallest = _smallest(checker, check)
        cost = objective.cost(vector, check, checker)
        if verdict == "allowed":
            best = objective.better(vector, check, checker, best) or best
        node = SurveyNode(
            levels=levels,
            loss=objective.figure(cost) if check.classes or objective.name not in ("c-avg", "rv") else None,
            suppressed=check.suppressed,
            classes=check.classes,
            smallest=smallest,
            verdict=verdict,
        )
        found.append((cost, node))
    found.sort(key=lambda pair: (_ORDER[pair[1].verdict], pair[0], pair[1].suppressed, pair[1].levels))
    return [node for _, node in found], best


def _smallest(checker: Checker, check: NodeCheck) -> int:
    """Rows of the smallest class that holds, at the node just checked."""
    sizes = np.bincount(checker.class_of, weights=checker.weight, minlength=check.all_classes)
    held = sizes[~checker.failing[: check.all_classes]]
    return int(held.min(initial=np.inf)) if held.size else 0


def _select(
    checker: _Recorder, objective: Objective, max_nodes: int, seconds: float | None
) -> tuple[dict[Levels, str], bool]:
    """Nodes of a lattice too large to show, each with why it is among them; and whether the optimum is proven."""
    problem, heights = checker.problem, checker.lattice.heights
    found = best_node(checker, objective, checker.allowed, seconds=seconds, progress=problem.progress)
    picked: dict[Levels, str] = {}

    def pick(nodes: Iterable[Levels], why: str, most: int = max_nodes) -> None:
        room = min(most, max_nodes - len(picked))
        for levels in nodes:
            if room <= 0:
                return
            if levels not in picked:
                picked[levels] = why
                room -= 1

    if found.best is not None:
        pick([found.best.levels], "the optimum")
        pick(_around(found.best.levels, heights), "within two steps of it", max_nodes // 4)
    pick([(0,) * len(heights), tuple(heights)], "bottom and top")
    pick(_minimal(checker.met), "lowest allowed nodes that the search met", max_nodes // 2)
    pick(_sample(problem.keys.generator("survey"), heights, max_nodes), "a sample")
    return picked, found.proven


def _around(levels: Levels, heights: Sequence[int]) -> Iterator[Levels]:
    """Nodes one step away, then those two steps away."""
    near = list(_steps(levels, heights))
    yield from near
    for one in near:
        yield from _steps(one, heights)


def _steps(levels: Levels, heights: Sequence[int]) -> Iterator[Levels]:
    for a, height in enumerate(heights):
        for level in (levels[a] - 1, levels[a] + 1):
            if 0 <= level <= height:
                yield (*levels[:a], level, *levels[a + 1 :])


def _minimal(nodes: Iterable[Levels]) -> Iterator[Levels]:
    """Nodes that no other of them lies below, the lowest first."""
    lowest = sorted(nodes, key=lambda levels: (sum(levels), levels))[:_CANDIDATES]
    kept = np.empty((len(lowest), len(lowest[0]) if lowest else 0), dtype=np.int64)
    count = 0
    for levels in lowest:
        if not (kept[:count] <= np.array(levels)).all(axis=1).any():
            kept[count] = levels
            count += 1
            yield levels


def _sample(generator: np.random.Generator, heights: Sequence[int], wanted: int) -> Iterator[Levels]:
    """Random nodes, repeats among them; a share of its height for each, so that low and high ones are as likely."""
    for _ in range(_ROUNDS):
        share = generator.random((wanted, 1))
        yield from map(tuple, generator.binomial(np.array(heights), share).tolist())


def _level_names(column: Column) -> list[str]:
    """What each level of a column's hierarchy means, in a few words."""
    tree = column.hierarchy
    if tree is None or column.kind != TREE:
        count = column.card - (column.missing >= 0)
        return [f"as it is, {count:,} value{'s' if count != 1 else ''}", f"everything is {ROOT}"]
    names = []
    for level, labels in enumerate(tree.labels):
        count = len(labels) - (MISSING in labels)
        # The first that stands for several values, if any does.
        example = labels[int(np.argmax(np.bincount(tree.ancestors[level]) > 1))]
        if level == 0:
            names.append(f"as it is, {count:,} value{'s' if count != 1 else ''}")
        elif len(labels) == 1:
            names.append(f"everything is {example}")
        else:
            names.append(f"{count:,} group{'s' if count != 1 else ''} such as {example}")
    return names
