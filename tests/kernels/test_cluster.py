"""Small kernels of clustering methods, compared with plain references, and arguments that do not fit each other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.kernels import _native
from shoal.kernels.cluster.bottom_up import merge_entries, roots
from shoal.kernels.cluster.polish import wake
from shoal.kernels.median_split import Found, Made, numbered
from shoal.kernels.prices import Prices


@pytest.mark.reference("count_far")
@settings(max_examples=50)
@given(st.lists(st.integers(0, 2), min_size=1, max_size=30).filter(any))
def test_distances_to_the_nearest_subspace_with_a_cluster(clusters: list[int]) -> None:
    far = np.empty(len(clusters), dtype=np.int64)
    _native.count_far(np.array(clusters, dtype=np.int64), far)
    with_cluster = [part for part, count in enumerate(clusters) if count]
    assert far.tolist() == [min(abs(part - other) for other in with_cluster) for part in range(len(clusters))]


def test_without_any_cluster_all_subspaces_are_further_than_there_are() -> None:
    far = np.empty(5, dtype=np.int64)
    _native.count_far(np.zeros(5, dtype=np.int64), far)
    assert far.min() >= 5


@pytest.mark.reference("find_roots")
@settings(max_examples=50)
@given(st.data())
def test_roots_are_the_ends_of_chains_of_parents(data: st.DataObject) -> None:
    parent = [data.draw(st.integers(0, i)) for i in range(data.draw(st.integers(0, 20)))]

    def root(i: int) -> int:
        return i if parent[i] == i else root(parent[i])

    assert roots(np.array(parent, dtype=np.int64)).tolist() == [root(i) for i in range(len(parent))]


@pytest.mark.reference("wake_records")
@settings(max_examples=50)
@given(seed=st.integers(0, 10_000), n=st.integers(1, 20))
def test_records_in_and_around_changed_groups_wake(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    near = np.sort(rng.integers(-1, n, (n, 3)).astype(np.int32), axis=1)[:, ::-1].copy()
    touched = rng.integers(0, 2, n).astype(np.uint8)
    quiet, calm = np.ones(n, dtype=np.uint8), np.full(n, 2, dtype=np.uint8)
    wake(near, touched, quiet, calm)
    awake = {r for r in range(n) if touched[r]}
    awake |= {int(j) for r in awake for j in near[r] if j >= 0}
    assert quiet.tolist() == [int(r not in awake) for r in range(n)]
    assert calm.tolist() == [2 * (r not in awake) for r in range(n)]


def test_clusters_are_numbered_without_gaps() -> None:
    empty = np.empty(0, dtype=np.int64)
    found = Found(np.array([3, -1, 0, 3], dtype=np.int32), empty, empty, empty)
    made = Made(None, None, np.array([1, 0, 0, 2], dtype=np.int32))
    assert numbered(found, made).tolist() == [1, -1, 0, 1]


def test_lengths_that_do_not_agree_are_refused() -> None:
    ints, reals = np.zeros(1, dtype=np.int64), np.zeros(1)
    starts = dict.fromkeys(("place_at", "tree_at", "size_at", "word_at"), np.zeros(2, dtype=np.int64))
    prices = Prices(1, ints, ints, ints, reals, reals, reals, reals, ints, ints.astype(np.int32), *[ints] * 7)
    prices = prices._replace(**starts)
    codes = np.zeros((1, 3), dtype=np.int32)
    with pytest.raises(TypeError, match="^merge_part: 'counts' .* 3"):
        merge_entries(prices, codes, np.ones(2, dtype=np.int64), np.array([0, 3]), 2)
    with pytest.raises(TypeError, match="^count_far: 'far' "):
        _native.count_far(ints, np.empty(2, dtype=np.int64))
