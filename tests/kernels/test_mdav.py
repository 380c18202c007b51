"""MDAV and the shortest path against plain references and brute force."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.kernels.microaggregation import Records, mdav, shortest_path

# Three categories, two of which meet under a node.
TREE = np.array([[0, 1, 2], [0, 0, 1], [0, 0, 0]], dtype=np.int32)
COST = np.array([[0.0, 0.0, 0.0], [0.25, 0.25, 0.0], [1.0, 1.0, 1.0]])


def records(spots: np.ndarray, codes: np.ndarray) -> Records:
    """Coordinates, and categories of the small tree above."""
    columns = codes.shape[0]
    return Records(
        spots=np.ascontiguousarray(spots, dtype=np.float64),
        codes=np.ascontiguousarray(codes, dtype=np.int32),
        tree=np.tile(TREE.ravel(), columns).astype(np.int32),
        cost=np.tile(COST.ravel(), columns).astype(np.float64),
        tree_at=np.arange(columns + 1) * TREE.size,
        card=np.full(columns, 3),
    )


def reference(data: Records, k: int) -> list[int]:
    """The method as its description says it, one record at a time."""
    spots, codes = data.spots.tolist(), data.codes.tolist()
    n = max(data.spots.shape[1], data.codes.shape[1])
    totals = [_sum(column) for column in spots]
    left, ids, group = list(range(n)), [0] * n, 0

    def distance(row: int, point: list[float], kinds: list[int]) -> float:
        d = 0.0
        for column, middle in zip(spots, point, strict=True):
            gap = column[row] - middle
            d += gap * gap
        for column, kind in zip(codes, kinds, strict=True):
            level = next(at for at in range(3) if TREE[at, column[row]] == TREE[at, kind])
            d += float(COST[level, kind])
        return d

    def cluster(pick: int) -> None:
        nonlocal group
        point, kinds = [column[pick] for column in spots], [column[pick] for column in codes]
        far = {row: distance(row, point, kinds) for row in left}
        nearest = sorted((row for row in left if row != pick), key=lambda row: (far[row], row))[: k - 1]
        # Taken out in an order that depends on where the kernel keeps them; sums of whole numbers are exact anyway.
        for row in (pick, *nearest):
            ids[row] = group
            left.remove(row)
            for a, column in enumerate(spots):
                totals[a] -= column[row]
        distances.clear()
        distances.update(far)
        group += 1

    distances: dict[int, float] = {}
    while len(left) >= 2 * k:
        twice = len(left) >= 3 * k
        centre = [total / len(left) for total in totals]
        modes = [_mode([column[row] for row in left]) for column in codes]
        cluster(max(left, key=lambda row: (distance(row, centre, modes), -row)))
        if twice:
            cluster(max(left, key=lambda row: (distances[row], -row)))
    for row in left:
        ids[row] = group
    return ids


def _sum(values: list[float]) -> float:
    total = 0.0
    for value in values:
        total += value
    return total


def _mode(values: list[int]) -> int:
    return min(set(values), key=lambda value: (-values.count(value), value))


@pytest.mark.reference("mdav")
@settings(max_examples=40)
@given(st.data())
def test_mdav_is_the_reference(data: st.DataObject) -> None:
    """On whole numbers, whose sums and differences are exact, so that both see the same ties."""
    n = data.draw(st.integers(1, 40))
    k = data.draw(st.integers(2, 6))
    a, b = data.draw(st.integers(0, 3)), data.draw(st.integers(0, 2))
    if a + b == 0:
        a = 1
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    made = records(rng.integers(-4, 5, (a, n)), rng.integers(0, 3, (b, n)))
    ids = mdav(made, k)
    assert ids.tolist() == reference(made, k)
    sizes = np.bincount(ids)
    assert sizes.min() >= min(k, n)
    assert sizes.max() <= max(2 * k - 1, n if n < 2 * k else 0)


@pytest.mark.parametrize("n", [9, 10, 11, 14, 15, 29, 30, 31, 44, 45, 400])
def test_sizes(n: int) -> None:
    spots = np.random.default_rng(n).normal(size=(3, n))
    sizes = np.bincount(mdav(records(spots, np.empty((0, n))), 5))
    assert set(sizes.tolist()) <= set(range(5, 10))
    assert sizes.sum() == n


def test_records_far_apart_are_kept_apart() -> None:
    spots = np.concatenate([np.arange(5) * 0.01 + centre for centre in (0, 100, 200, 300)])[None]
    order = np.random.default_rng(3).permutation(20)
    ids = mdav(records(spots[:, order], np.empty((0, 20))), 5)
    assert {frozenset((order[ids == g] // 5).tolist()) for g in range(4)} == {frozenset([place]) for place in range(4)}


def best_partition(values: list[float], k: int) -> float:
    """Least sum of squared deviations over all partitions of sorted values into runs of at least k, by trying."""

    @cache
    def rest(start: int) -> float:
        if start == len(values):
            return 0.0
        ends = range(start + k, len(values) + 1)
        return min((_deviation(values[start:end]) + rest(end) for end in ends), default=np.inf)

    return rest(0)


def _deviation(values: Any) -> float:
    return float(((np.array(values) - np.mean(values)) ** 2).sum())


@pytest.mark.reference("shortest_path")
@settings(max_examples=40)
@given(st.lists(st.integers(0, 30), min_size=2, max_size=16), st.integers(2, 4))
def test_the_shortest_path_is_optimal(values: list[int], k: int) -> None:
    ascending = np.sort(np.array(values, dtype=np.float64))
    if ascending.size < k:
        return
    ids = shortest_path(ascending, k)
    sizes = np.bincount(ids)
    assert sizes.min() >= k
    assert sizes.max() <= 2 * k - 1 or ascending.size < 2 * k
    assert (np.diff(ids) <= 0).all()
    found = sum(_deviation(ascending[ids == g]) for g in range(sizes.size))
    assert found == pytest.approx(best_partition(ascending.tolist(), k), abs=1e-9)
