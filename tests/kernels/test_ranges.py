"""Range kernels against their definitions, one pair of records after another."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.data.hierarchy import Hierarchy
from shoal.kernels import _native
from shoal.kernels import rules as kernel
from shoal.kernels.rules import EQUAL, LEAVES, POSITIONS
from tests.kernels.test_rules import CARD, Counts, histograms, one_rule, value
from tests.table.random_tables import hierarchy_rows

PLACES = [0.0, 1.0, 1.5, 4.0, 10.0, 11.0]
NO_TREE = np.empty(0, dtype=np.int32)
Ranges = list[tuple[int, int]]


@st.composite
def axes(draw: st.DrawFn, *, shuffled: bool) -> tuple[list[int], Ranges]:
    """A place for every code, and a stretch around each; not symmetric in general."""
    axis = draw(st.permutations(range(CARD))) if shuffled else list(range(CARD))
    ranges = [(draw(st.integers(0, axis[code])), draw(st.integers(axis[code], CARD - 1))) for code in range(CARD)]
    return list(axis), ranges


def arrays(group: Counts) -> tuple[np.ndarray, np.ndarray]:
    codes = sorted(group)
    return np.array(codes, dtype=np.int32), np.array([group[code] for code in codes], dtype=np.int64)


def naive_pairs(group: Counts, axis: list[int], ranges: Ranges, close: Callable[[int, int], float]) -> float:
    records = [code for code, count in group.items() for _ in range(count)]
    total = sum(
        close(one, other) for one in records for other in records if ranges[one][0] <= axis[other] <= ranges[one][1]
    )
    return total / len(records) ** 2


def pairs(
    group: Counts,
    axis: list[int],
    ranges: Ranges,
    kind: int,
    scale: float,
    ref: Sequence[float],
    tree: np.ndarray = NO_TREE,
) -> float:
    codes, counts = arrays(group)
    low, high = zip(*ranges, strict=True)
    full = np.array([*axis, *low, *high, *ref], dtype=np.float64)
    return _native.probe_pair_share(codes, counts, float(counts.sum()), kind, scale, full, tree, CARD)


@pytest.mark.reference("probe_pair_share")
@settings(max_examples=75)
@given(histograms(), axes(shuffled=False), st.sampled_from([11.0, 20.0, 0.0]))
def test_pairs_by_position(group: Counts, drawn: tuple[list[int], Ranges], width: float) -> None:
    expected = naive_pairs(group, *drawn, lambda a, b: 1 - abs(PLACES[a] - PLACES[b]) / width if width else 1.0)
    assert pairs(group, *drawn, POSITIONS, width, PLACES) == pytest.approx(expected, abs=1e-12)


@settings(max_examples=75)
@given(histograms(), axes(shuffled=False), hierarchy_rows())
def test_pairs_in_a_tree(group: Counts, drawn: tuple[list[int], Ranges], rows: list[list[str]]) -> None:
    tree = Hierarchy.from_rows("s", rows)

    def close(a: int, b: int) -> float:
        level = next(level for level in range(tree.height + 1) if tree.ancestors[level, a] == tree.ancestors[level, b])
        leaves = int((tree.ancestors[level] == tree.ancestors[level, a]).sum())
        return 1 - (leaves - 1) / (CARD - 1)

    found = pairs(group, *drawn, LEAVES, CARD - 1.0, tree.leaf_counts.ravel().tolist(), tree.ancestors.ravel())
    assert found == pytest.approx(naive_pairs(group, *drawn, close), abs=1e-12)


@settings(max_examples=75)
@given(histograms(), axes(shuffled=True), st.sampled_from([5.0, 1.0, 0.0]))
def test_pairs_of_categories(group: Counts, drawn: tuple[list[int], Ranges], scale: float) -> None:
    expected = naive_pairs(group, *drawn, lambda a, b: 1.0 if a == b or not scale else 1 - 1 / scale)
    assert pairs(group, *drawn, EQUAL, scale, []) == pytest.approx(expected, abs=1e-12)


@pytest.mark.reference("probe_range_share")
@settings(max_examples=75)
@given(histograms(), axes(shuffled=True), st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=3))
def test_share_in_one_range(group: Counts, drawn: tuple[list[int], Ranges], more: Ranges) -> None:
    """The largest share is over all ranges of the policy, whether or not a value in the group owns it."""
    axis, ranges = drawn
    every = [*ranges, *(pair for pair in more if pair[0] <= pair[1])]
    codes, counts = arrays(group)
    total = sum(group.values())
    expected = max(
        sum(count for code, count in group.items() if low <= axis[code] <= high) / total for low, high in every
    )
    reach = [max(high for low, high in every if low <= axis[code]) for code in range(CARD)]
    ref = np.array([*axis, *reach], dtype=np.float64)
    assert _native.probe_range_share(codes, counts, float(total), True, ref, CARD) == pytest.approx(expected)


def test_people_with_two_values_in_a_range_leave_a_share_at_one() -> None:
    """Two people, both with both values: four counts, all in one range."""
    ref = np.array([0, 1, 2, 3, 4, 5, 5, 5, 5, 5, 5, 5], dtype=np.float64)
    codes, counts = arrays({0: 2, 1: 2})
    assert _native.probe_range_share(codes, counts, 2.0, False, ref, CARD) == 1.0


@given(histograms())
def test_ranges_of_one_value_give_simpsons_index(group: Counts) -> None:
    own = [(code, code) for code in range(CARD)]
    total = sum(group.values())
    expected = sum(count**2 for count in group.values()) / total**2
    assert pairs(group, list(range(CARD)), own, POSITIONS, 20.0, PLACES) == pytest.approx(expected)
    assert expected >= 1 / len(group) - 1e-12


def test_unknown_values_are_in_no_range() -> None:
    everything = [0.0] * CARD, [CARD - 1.0] * CARD
    axis = [float(code) for code in range(CARD)]
    unknown = [0, 1, 0, 0, 0, 0]
    rule = one_rule(
        kernel.RANGE_PAIRS,
        kernel.AT_MOST,
        ref=[*axis, *everything[0], *everything[1], *PLACES],
        p0=11.0,
        unknown=unknown,
    )
    assert value(rule, {0: 1, 1: 7, 5: 1}) == pytest.approx((1 + 1 + 0 + 0) / 4)
    assert np.isnan(value(rule, {1: 3}))
    share = one_rule(kernel.RANGE_SHARE, kernel.AT_MOST, ref=[*axis, 2, 2, 2, 5, 5, 5], unknown=unknown)
    assert value(share, {0: 1, 1: 7, 5: 1}) == 0.5
    assert np.isnan(value(share, {1: 3}))


def test_large_groups_of_far_apart_numbers_keep_their_digits() -> None:
    """Running sums must not lose what the plain double sum has: a million to the right of where they began."""
    rng = np.random.default_rng(3)
    numbers = np.sort(rng.choice(10**9, 800, replace=False)).astype(float) + 1e9
    counts = rng.integers(1, 9, 800)
    width = 3e9
    low = np.maximum(np.arange(800) - rng.integers(0, 300, 800), 0)
    high = np.minimum(np.arange(800) + rng.integers(0, 300, 800), 799)
    codes = np.arange(800)
    inside = (low[:, None] <= codes) & (codes <= high[:, None])
    close = 1 - np.abs(numbers[:, None] - numbers) / width
    expected = (counts[:, None] * counts * close * inside).sum() / counts.sum() ** 2
    ref = np.concatenate([codes, low, high, numbers]).astype(np.float64)
    found = _native.probe_pair_share(
        codes.astype(np.int32), counts.astype(np.int64), float(counts.sum()), POSITIONS, width, ref, NO_TREE, 800
    )
    assert found == pytest.approx(expected, abs=1e-13)
