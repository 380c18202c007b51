"""Sensitive ranges class by class against plain loops: many classes, large ones among them, and pairs in parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shoal.verify.facts import Sample
from shoal.verify.manifest import read_claims
from shoal.verify.terms import ranges
from tests.verify.cases import sensitive_case
from tests.verify.whole import facts_of

NUMERIC = {"type": "numeric"}


def sample(classes: list[list[Any]], column: dict[str, Any], others: tuple[Any, ...] = ()) -> Sample:
    """What a model looks at, for classes in the order that they are given in."""
    case = sensitive_case(classes, {"name": "range-diversity", "p": 1.0}, column=column, others=others)
    claims = read_claims(case.manifest)
    facts = facts_of(case.released, claims, original=case.original, origin=case.source)
    return Sample(facts, ("s",), "")


def close_pairs(group: list[int], own: dict[int, tuple[int, int]], width: float) -> float:
    """Mean closeness over ordered pairs, 0 outside the first one's range."""
    near = [1 - abs(u - x) / width for u in group for x in group if own[u][0] <= x <= own[u][1]]
    return sum(near) / len(group) ** 2


@pytest.fixture
def drawn() -> tuple[list[list[int]], dict[int, tuple[int, int]], dict[str, Any]]:
    """Five classes, the second and the fourth with more values than are looked at pair by pair."""
    rng = np.random.default_rng(11)
    sizes = (5, 90, 7, 140, 64)
    classes = [(100 + rng.choice(900, size, replace=False)).tolist() for size in sizes]
    classes = [group + group[: len(group) // 3] for group in classes]
    values = sorted({value for group in classes for value in group})
    own = {u: (u - int(rng.integers(0, 300)), u + int(rng.integers(0, 300))) for u in values}
    entries = [[str(u), str(low), str(high)] for u, (low, high) in own.items()]
    return classes, own, NUMERIC | {"policy": {"each": entries, "else": "error"}}


def test_every_class_equals_plain_loops(drawn: Any) -> None:
    classes, own, column = drawn
    everything = [value for group in classes for value in group]
    width = max(everything) - min(everything)
    found = ranges.RangeDiversity().judge({"p": 1.0}, sample(classes, column)).value
    assert found == pytest.approx([close_pairs(group, own, width) for group in classes], abs=1e-12)


@pytest.mark.parametrize("pairs", [1, 7, 100])
def test_pairs_in_small_parts_add_up_to_the_same(drawn: Any, pairs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    classes, own, column = drawn
    whole = ranges.RangeDiversity().judge({"p": 1.0}, sample(classes, column)).value
    monkeypatch.setattr(ranges, "_PAIRS", pairs)
    assert ranges.RangeDiversity().judge({"p": 1.0}, sample(classes, column)).value == pytest.approx(whole, abs=1e-12)
    monkeypatch.setattr(ranges, "_LARGE", 10**6)
    assert ranges.RangeDiversity().judge({"p": 1.0}, sample(classes, column)).value == pytest.approx(whole, abs=1e-12)


def test_the_width_is_that_of_the_input() -> None:
    column = NUMERIC | {"policy": {"intervals": [["0", "100"]], "else": "error"}}
    found = ranges.RangeDiversity().judge({"p": 1.0}, sample([[10, 20]], column, others=(60, 50))).value
    assert found == pytest.approx([(2 + 2 * (1 - 10 / 50)) / 4])
    same = ranges.RangeDiversity().judge({"p": 1.0}, sample([[10, 10]], column)).value
    assert same == pytest.approx([1.0])


def test_the_share_in_one_range_equals_plain_loops(drawn: Any) -> None:
    classes, own, column = drawn
    found = ranges.RangeConfidence().judge({"p": 1.0}, sample(classes, column)).value
    expected = [
        max(sum(low <= x <= high for x in group) for low, high in own.values()) / len(group) for group in classes
    ]
    assert found == pytest.approx(expected, abs=1e-12)


def test_classes_of_more_than_64_entries_are_large() -> None:
    group = np.repeat([0, 1, 2, 4], [65, 64, 66, 3])
    assert ranges._large_classes(group) == [(0, 65), (129, 195)]
    assert ranges._large_classes(np.repeat([7], [65])) == [(0, 65)]
    assert ranges._large_classes(np.repeat([0, 1], [65, 65])) == [(0, 65), (65, 130)]


@pytest.mark.parametrize(
    "sizes, parts",
    [
        ([3, 3, 3, 20, 1, 1], [(0, 3), (3, 4), (4, 6)]),
        ([5, 5, 5], [(0, 2), (2, 3)]),
        ([5, 6], [(0, 1), (1, 2)]),
        ([11, 10, 1], [(0, 1), (1, 2), (2, 3)]),
        ([0, 0, 10, 0], [(0, 4)]),
        ([], []),
    ],
)
def test_parts_hold_at_most_so_many_pairs(
    sizes: list[int], parts: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranges, "_PAIRS", 10)
    assert ranges._slices(np.array(sizes, dtype=np.int64)) == parts


def test_closeness_along_a_line_equals_plain_loops() -> None:
    place, count = np.array([0.25, 0.5, 0.5625, 0.75]), np.array([1, 3, 2, 5])
    first, after = np.array([0, 0, 1, 3]), np.array([1, 3, 4, 4])
    expected = [
        sum(count[j] * (1 - abs(place[i] - place[j])) for j in range(first[i], after[i])) for i in range(len(place))
    ]
    assert ranges._along_the_line(place, count, first, after) == pytest.approx(expected, abs=1e-12)


def test_large_classes_of_an_order_count_by_ranks() -> None:
    order = [f"r{place:03}" for place in range(101)]
    column = {"type": "ordinal", "order": order, "policy": {"intervals": [["r000", "r100"]], "else": "error"}}
    classes = [order[:3], order[10:90]]
    found = ranges.RangeDiversity().judge({"p": 1.0}, sample(classes, column)).value
    places = [range(3), range(10, 90)]
    expected = [sum(1 - abs(u - x) / 100 for u in group for x in group) / len(group) ** 2 for group in places]
    assert found == pytest.approx(expected, abs=1e-12)


def test_trees_are_measured_by_leaves_under_the_lowest_common_node() -> None:
    rows = [["a", "ab", "*"], ["b", "ab", "*"], ["c", "cde", "*"], ["d", "cde", "*"], ["e", "cde", "*"]]
    column = {"hierarchy": rows, "policy": {"level": 2}}
    classes = [["a", "b"], ["c", "d"], ["a", "e"], ["e", "e"]]
    found = ranges.RangeDiversity().judge({"p": 1.0}, sample(classes, column)).value
    apart = [1 / 4, 2 / 4, 4 / 4, 0]
    assert found == pytest.approx([(2 + 2 * (1 - distance)) / 4 for distance in apart])
    single = {"hierarchy": [["a", "*"]], "policy": {"level": 1}}
    assert ranges.RangeDiversity().judge({"p": 1.0}, sample([["a", "a"]], single)).value == pytest.approx([1.0])


def test_classes_without_an_answer_are_not_judged() -> None:
    column = NUMERIC | {"policy": {"intervals": [["0", "9"]], "else": "error"}}
    for model in (ranges.RangeDiversity().judge, ranges.RangeConfidence().judge):
        outcome = model({"p": 0.6}, sample([[1, 1, 5, 50], [None, None], [2, 2], [1, 9]], column))
        assert outcome.judged.tolist() == [True, False, True, True]
        assert outcome.value[[0, 2]].tolist() == [1.0, 1.0]
        assert outcome.passes[:3].tolist() == [False, True, False]
    lost = ranges.RangeConfidence().judge({"p": 1.0}, sample([[50], [1]], column))
    assert (lost.value.tolist(), lost.passes.tolist()) == ([1.0, 1.0], [False, True])


def test_large_classes_of_a_tree_are_looked_at_pair_by_pair() -> None:
    rows = [[f"v{place:02}", f"h{place % 2}", "*"] for place in range(80)]
    column = {"hierarchy": rows, "policy": {"level": 2}}
    found = ranges.RangeDiversity().judge({"p": 1.0}, sample([[row[0] for row in rows], ["v00"]], column)).value
    near = [1.0 if u == x else 1 - (39 if u % 2 == x % 2 else 79) / 79 for u in range(80) for x in range(80)]
    assert found == pytest.approx([sum(near) / 80**2, 1.0])


@pytest.mark.parametrize(
    "column",
    [
        {"policy": {"sets": [["a", "b"]], "else": "value"}},
        {"hierarchy": [["a", "*"], ["b", "*"]], "policy": {"level": 1}},
        {"type": "ordinal", "order": ["a", "b"], "policy": {"intervals": [["a", "b"]], "else": "error"}},
    ],
)
def test_two_values_of_two_are_as_far_apart_as_can_be(column: dict[str, Any]) -> None:
    found = ranges.RangeDiversity().judge({"p": 1.0}, sample([["a", "b"], ["a", "b", None], ["a"]], column)).value
    assert found == pytest.approx([0.5, 0.5, 1.0])
