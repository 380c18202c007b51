"""Bounds handed down a lattice, against plain loops over all nodes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels import lattice as kernel
from shoal.recoding.lattice import Lattice

HEIGHTS = st.lists(st.integers(0, 3), min_size=1, max_size=4)
SEEDS = st.integers(0, 2**32 - 1)


def listed(heights: list[int]) -> kernel.Listed:
    given_heights = np.array(heights, dtype=np.int64)
    return kernel.Listed(*kernel.list_nodes(given_heights), Lattice(tuple(heights)).strides, given_heights)


@pytest.mark.reference("list_nodes")
@given(HEIGHTS)
def test_nodes_are_listed_by_height(heights: list[int]) -> None:
    lattice, found = Lattice(tuple(heights)), listed(heights)
    assert found.levels.tolist() == lattice.decode(np.arange(lattice.size)).tolist()
    for height in range(lattice.max_height + 1):
        mine = found.nodes[found.offsets[height] : found.offsets[height + 1]]
        assert mine.tolist() == lattice.nodes_at_height(height).tolist()


def costs_of(heights: list[int], rng: np.random.Generator, ties: bool) -> np.ndarray:
    """Costs that rise with the level; with ties, whole numbers of which the last ones may be infinite."""
    shape = len(heights), max(heights) + 1
    if not ties:
        return rng.random(shape).cumsum(axis=1)
    costs = rng.integers(0, 2, shape).cumsum(axis=1).astype(np.float64)
    costs[np.arange(shape[1]) > rng.integers(0, 2 * shape[1], (shape[0], 1))] = np.inf
    return costs


@pytest.mark.reference("inherit_bounds", "node_cost")
@given(HEIGHTS, SEEDS, st.booleans())
def test_a_node_is_bounded_by_the_best_check_that_its_parents_know(heights: list[int], seed: int, ties: bool) -> None:
    rng = np.random.default_rng(seed)
    lattice, nodes = Lattice(tuple(heights)), listed(heights)
    plain = costs_of(heights, rng, ties)
    more = rng.random((4, *plain.shape))
    search = kernel.Search(plain, plain + (np.round(more) if ties else more))
    source = rng.integers(-1, 4, lattice.size).astype(np.int32)
    hopeless = (rng.random(lattice.size) < 0.1).astype(np.uint8)
    done = rng.random(lattice.size) < 0.3
    height = int(rng.integers(0, lattice.max_height + 1))
    known = kernel.Known(source.copy(), hopeless.copy())
    bounds = kernel.inherit_bounds(height, nodes, known, done, search)

    def cost(node: int, check: int) -> float:
        terms = search.plain if check < 0 else search.checks[check]
        return float(sum(terms[a, level] for a, level in enumerate(lattice.decode(node))))

    for node, bound in zip(lattice.nodes_at_height(height).tolist(), bounds, strict=True):
        parents = lattice.successors(np.array([node]))[1].tolist()
        if hopeless[node] or any(hopeless[parent] for parent in parents):
            assert (bound, known.hopeless[node]) == (np.inf, 1)
            continue
        assert kernel.node_cost(search, nodes.levels[node], 2) == pytest.approx(cost(node, 2))
        costs = {check: cost(node, check) for check in (source[parent] for parent in parents) if check >= 0}
        assert bound == pytest.approx(max([cost(node, -1), *costs.values()]))
        kept = done[node] and source[node] >= 0
        assert known.source[node] == (source[node] if kept else max(costs, key=lambda one: costs[one], default=-1))


@pytest.mark.reference("children", "climb")
@given(HEIGHTS, SEEDS, st.booleans())
def test_steps_up_and_down_go_by_what_they_cost(heights: list[int], seed: int, ties: bool) -> None:
    """Of equal costs, those of the first attribute; a step that costs infinitely much is not taken."""
    rng = np.random.default_rng(seed)
    lattice, nodes = Lattice(tuple(heights)), listed(heights)
    plain = costs_of(heights, rng, ties)
    costs = plain[np.arange(len(heights)), nodes.levels].sum(axis=1)
    start = int(rng.integers(0, lattice.size))
    below, found = kernel.children(start, nodes, plain)
    levels = nodes.levels[start]
    expected = np.array([start - lattice.strides[a] for a in range(len(heights)) if levels[a] > 0], dtype=np.int64)
    assert below.tolist() == expected[np.argsort(costs[expected], kind="stable")].tolist()
    assert found == pytest.approx(costs[below])
    done = rng.random(lattice.size) < 0.2
    allowed = nodes.levels[rng.random(lattice.size) < 0.1]
    chain, node = [], start
    while True:
        now = nodes.levels[node]
        steps = [
            (float(plain[a, now[a] + 1] - plain[a, now[a]]), a)
            for a in range(len(heights))
            if now[a] < heights[a] and plain[a, now[a] + 1] < np.inf
        ]
        if not steps:
            break
        node += int(lattice.strides[min(steps)[1]])
        if done[node] or (allowed <= nodes.levels[node]).all(axis=1).any():
            break
        chain.append(node)
    assert kernel.climb(start, nodes, plain, done, allowed).tolist() == chain


def test_a_step_whose_cost_is_no_number_is_not_taken() -> None:
    """Infinite costs on both sides of a step differ by what is no number."""
    nodes, plain = listed([1, 1]), np.array([[0.0, 1.0], [-np.inf, -np.inf]])
    chain = kernel.climb(0, nodes, plain, np.zeros(4, dtype=bool), np.empty((0, 2), dtype=np.int16))
    assert chain.tolist() == [2]


def test_a_bound_that_is_no_number_is_not_the_best() -> None:
    """Of the checks above the bottom, the first costs 2 there, and the second what is no number."""
    nodes, plain = listed([1, 1]), np.zeros((2, 2))
    checks = np.ones((2, 2, 2))
    checks[1] = [[np.inf, 0.0], [-np.inf, 0.0]]
    known = kernel.Known(np.array([-1, 1, 0, -1], dtype=np.int32), np.zeros(4, dtype=np.uint8))
    found = kernel.inherit_bounds(0, nodes, known, np.zeros(4, dtype=bool), kernel.Search(plain, checks))
    assert (found.tolist(), known.source[0]) == ([2.0], 0)


@pytest.mark.reference("rule_out")
@given(HEIGHTS, SEEDS)
def test_what_lies_below_a_node_is_ruled_out_with_it(heights: list[int], seed: int) -> None:
    rng, found = np.random.default_rng(seed), listed(heights)
    above, height = int(rng.integers(0, len(found.levels))), int(rng.integers(0, sum(heights) + 1))
    hopeless = np.zeros(len(found.levels), dtype=np.uint8)
    kernel.rule_out(height, above, found, hopeless)
    for node, levels in enumerate(found.levels.tolist()):
        below = all(a <= b for a, b in zip(levels, found.levels[above].tolist(), strict=True))
        assert bool(hopeless[node]) == (below and sum(levels) == height)
