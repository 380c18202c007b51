"""Chances of a breach against enumeration of every way to hand out cells and leaves."""

from __future__ import annotations

import math
from itertools import combinations, permutations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.kernels import _native
from shoal.kernels.guards import Nodes, lift, worst_breaches

# Leaves a b | c d e, under two nodes and a root: nodes 0..4 are the leaves, 5 = ab, 6 = cde, 7 = all.
NODES = Nodes(
    first=np.array([0, 1, 2, 3, 4, 0, 2, 0]),
    after=np.array([1, 2, 3, 4, 5, 2, 5, 5]),
    parent=np.array([5, 5, 6, 6, 6, 7, 7, -1]),
)
LEAVES = [set(range(low, high)) for low, high in zip(NODES.first.tolist(), NODES.after.tolist(), strict=True)]


def enumerated(nodes: list[int], guard: int, mine: int) -> float:
    """Share of all equally likely worlds in which one of a person's records (the first few) lies under the guard."""
    total = hit = 0.0
    for order in permutations(range(len(nodes))):
        cells = [nodes[place] for place in order[:mine]]
        for leaves in product(*(LEAVES[node] for node in cells)):
            weight = 1.0
            for node in cells:
                weight /= len(LEAVES[node])
            total += weight
            hit += weight * any(leaf in LEAVES[guard] for leaf in leaves)
    return hit / total


@pytest.mark.reference("probe_guard_share")
@pytest.mark.parametrize("node", range(8))
@pytest.mark.parametrize("guard", range(8))
def test_shares(node: int, guard: int) -> None:
    assert _native.probe_guard_share(NODES, node, guard) == len(LEAVES[node] & LEAVES[guard]) / len(LEAVES[node])


@pytest.mark.reference("worst_breaches")
@settings(max_examples=20)
@given(st.lists(st.integers(0, 7), min_size=1, max_size=5), st.integers(0, 7), st.data())
def test_breaches_are_the_enumerated_ones(nodes: list[int], guard: int, data: Any) -> None:
    mine = data.draw(st.integers(1, len(nodes)))
    guards = np.full(len(nodes), -1)
    guards[0] = guard
    times = np.full(len(nodes), 1)
    times[:mine] = mine
    (found,) = worst_breaches(NODES, np.array([0, len(nodes)]), np.array(nodes), guards, times)
    assert found == pytest.approx(enumerated(nodes, guard, mine), abs=1e-12)


@settings(max_examples=40)
@given(st.data())
def test_lifting_ends_below_p_and_only_lifts(data: Any) -> None:
    n = data.draw(st.integers(1, 12))
    leaf = np.array(data.draw(st.lists(st.integers(-1, 4), min_size=n, max_size=n)))
    above = [[-1, value, int(NODES.parent[value]), 7] if value >= 0 else [-1] for value in leaf.tolist()]
    guard = np.array([data.draw(st.sampled_from(options)) for options in above])
    times = np.array(data.draw(st.lists(st.integers(1, 2), min_size=n, max_size=n)))
    cut = data.draw(st.integers(0, n))
    p = data.draw(st.sampled_from([0.2, 0.4, 0.5, 0.7, 1.0]))
    starts = np.array([0, cut, n])
    # A person has no more records in a class than there are known ones.
    for low, high in ((0, cut), (cut, n)):
        times[low:high] = np.minimum(times[low:high], max(1, (leaf[low:high] >= 0).sum()))
    node = leaf.copy()
    worked = lift(NODES, starts, node, guard, times, p)
    worst = worst_breaches(NODES, starts, node, guard, times)
    for g in range(2):
        assert worked[g] == (np.isnan(worst[g]) or worst[g] <= p + 1e-9)
        mine = slice(starts[g], starts[g + 1])
        asks = (guard[mine] >= 0) & (leaf[mine] >= 0)
        wanted = zip(guard[mine][asks], times[mine][asks], strict=True)
        if max((1 - (1 - len(LEAVES[one]) / 5) ** often for one, often in wanted), default=0.0) <= p:
            assert worked[g]
    for before, after in zip(leaf.tolist(), node.tolist(), strict=True):
        assert before == after if before < 0 else LEAVES[before] <= LEAVES[after]


def test_a_class_without_breach_is_left_alone() -> None:
    node = np.array([0, 1, 2, 3])
    assert lift(NODES, np.array([0, 4]), node, np.array([0, 1, 2, 3]), np.ones(4, dtype=np.int64), 0.25).tolist() == [1]
    assert node.tolist() == [0, 1, 2, 3]


def chance_of(nodes: list[int], guard: int, mine: int) -> float:
    """Compute the chance that one of a person's records lies under the guard; each choice of cells is as likely."""
    shares = [len(LEAVES[node] & LEAVES[guard]) / len(LEAVES[node]) for node in nodes]
    ways = [math.prod(1.0 - shares[place] for place in places) for places in combinations(range(len(nodes)), mine)]
    return 1.0 - sum(ways) / len(ways)


def lifted(node: list[int], guard: list[int], times: list[int], p: float) -> bool:
    """Lift the nodes of one class in place, as `lift` says."""
    known = [i for i, one in enumerate(node) if one >= 0]
    asked: dict[int, int] = {}
    for i in known:
        if guard[i] >= 0:
            asked[guard[i]] = max(asked.get(guard[i], 0), times[i])
    while True:
        chances = {one: round(chance_of([node[i] for i in known], one, often), 9) for one, often in asked.items()}
        worst = max(chances, key=lambda one: chances[one], default=-1)
        if worst < 0 or chances[worst] <= p:
            return True
        while chance_of([node[i] for i in known], worst, asked[worst]) > p + 1e-9:
            options = []
            for i in known:
                inside, up = LEAVES[node[i]] & LEAVES[worst], int(NODES.parent[node[i]])
                if inside and up >= 0:
                    loss = len(LEAVES[up]) - len(LEAVES[node[i]])
                    options.append((-len(inside) / len(LEAVES[node[i]]), loss, i))
            if not options:
                return False
            record = min(options)[2]
            node[record] = int(NODES.parent[node[record]])


@pytest.mark.reference("lift_nodes")
@given(st.data())
def test_the_likeliest_breach_is_lifted_first(data: Any) -> None:
    n = data.draw(st.integers(1, 7))
    leaf = data.draw(st.lists(st.integers(-1, 4), min_size=n, max_size=n))
    above = [[-1, value, int(NODES.parent[value]), 7] if value >= 0 else [-1] for value in leaf]
    guard = [data.draw(st.sampled_from(options)) for options in above]
    most = max(1, sum(value >= 0 for value in leaf))
    times = data.draw(st.lists(st.integers(1, min(2, most)), min_size=n, max_size=n))
    p = data.draw(st.sampled_from([0.15, 0.35, 0.45, 0.55, 0.75]))
    node = np.array(leaf)
    (worked,) = lift(NODES, np.array([0, n]), node, np.array(guard), np.array(times), p)
    assert lifted(leaf, guard, times, p) == bool(worked)
    assert node.tolist() == leaf


def test_the_record_that_adds_most_is_lifted_and_loses_least() -> None:
    """Of three records under cde, the two at e alone weigh as much as c; the earliest goes up."""
    node = np.array([4, 2, 4, 0])
    lift(NODES, np.array([0, 4]), node, np.array([4, -1, -1, -1]), np.ones(4, dtype=np.int64), 0.4)
    assert node.tolist() == [6, 2, 4, 0]
