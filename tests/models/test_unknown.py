"""Several attributes, tuples, unknown values and people: what is counted, and what never counts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from shoal import registry
from shoal.registry import make
from tests.models.judging import ALL, NAMES_A_VALUE, NUMERIC, judge_groups, judged, of_classes

PETS = [["cat", "mammal", "*"], ["dog", "mammal", "*"], ["carp", "fish", "*"]]


def figures(classes: list[list[Any]], model: dict[str, Any], **options: Any) -> list[float]:
    return judged(classes, model, **options).values.tolist()


def test_without_on_every_attribute_is_judged_by_itself() -> None:
    table, ids = of_classes([[("flu", "x"), ("cold", "x")], [("flu", "x"), ("flu", "y")]])
    found = judge_groups(table, ids, make("model", {"name": "distinct-l", "l": 2}))
    assert {judgement.on: judgement.ok.tolist() for judgement in found} == {
        ("s0",): [True, False], ("s1",): [False, True],
    }  # fmt: skip


def test_a_tuple_is_one_attribute() -> None:
    table, ids = of_classes([[("flu", "x"), ("cold", "x")], [("flu", "x"), ("flu", "x")]])
    (found,) = judge_groups(table, ids, make("model", {"name": "distinct-l", "l": 2, "on": ["s0", "s1"]}))
    assert (found.on, found.values.tolist()) == (("s0", "s1"), [2.0, 1.0])


def test_a_tuple_is_unknown_where_any_part_is() -> None:
    classes = [[("flu", "x"), ("flu", None), ("cold", None)], [("flu", "x"), ("cold", "y")]]
    table, ids = of_classes(classes)
    (found,) = judge_groups(table, ids, make("model", {"name": "distinct-l", "l": 2, "on": ["s0", "s1"]}))
    assert found.values.tolist() == [1.0, 2.0]


def test_max_range_averages_the_attributes_it_is_set_on() -> None:
    table, ids = of_classes([[(0, "a"), (10, "a")], [(0, "a"), (0, "b")]])
    (found,) = judge_groups(table, ids, make("model", {"name": "max-range", "limit": 0.5}))
    assert found.on == ("s0", "s1")
    assert found.values.tolist() == [0.5, 0.5]
    (alone,) = judge_groups(table, ids, make("model", {"name": "max-range", "limit": 0.5, "on": "s0"}))
    assert alone.values.tolist() == [0.0, 1.0]


def test_max_range_leaves_out_an_attribute_that_a_class_says_nothing_about() -> None:
    """The first class gives its only known value away; the unknown one beside it must not hide that."""
    classes = [[("flu", None), ("flu", None)], [("flu", "x"), ("cold", "y")]]
    table, ids = of_classes(classes)
    (found,) = judge_groups(table, ids, make("model", {"name": "max-range", "limit": 0.5}))
    assert found.values.tolist() == [1.0, 0.0]
    assert found.ok.tolist() == [False, True]


@pytest.mark.parametrize("spec", [s for s in ALL if s["name"] not in ("k", "k-map")], ids=lambda spec: spec["name"])
def test_a_class_without_a_known_value_passes(spec: dict[str, Any]) -> None:
    if spec["name"] in NUMERIC:
        classes: list[list[Any]] = [[None] * 4, [1, 5, 9, 30]]
    else:
        classes = [[None] * 4, ["a", "b", "c", "d"]]
    found = judged(classes, spec)
    assert found.ok[0]
    # The figure of a release is that of its worst class with anything known; max-range shows 0 here.
    assert math.isnan(found.values[0]) or spec["name"] == "max-range"


UNKNOWNS = [["a", "a", "*", "refused", None, "b"], ["a", "b", "c", "a"]]


def test_stars_missing_and_non_answers_are_no_diversity() -> None:
    found = figures(UNKNOWNS, {"name": "distinct-l", "l": 2}, non_answers=["refused"])
    assert found == [2.0, 3.0]
    assert figures(UNKNOWNS, {"name": "distinct-l", "l": 2}) == [3.0, 3.0]


def test_shares_are_of_known_values() -> None:
    found = figures(UNKNOWNS, {"name": "alpha-k-general", "alpha": 1, "k": 2}, non_answers=["refused"])
    assert found == pytest.approx([2 / 3, 1 / 2])


def test_entropy_is_the_worse_of_both_readings() -> None:
    # Removed: two equally likely values. Present: one value of five, so the unknown one dominates.
    assert figures([["a", "b", None]], {"name": "entropy-l", "l": 2}) == pytest.approx([2.0])
    crowded = ["a", "b", *[None] * 8]
    shares = np.array([0.1, 0.1, 0.8])
    assert figures([crowded], {"name": "entropy-l", "l": 2}) == pytest.approx(
        [math.exp(-(shares * np.log(shares)).sum())]
    )


def test_recursive_is_the_worse_of_both_readings() -> None:
    assert figures([["a", "a", "b", *[None] * 4]], {"name": "recursive-cl", "c": 3, "l": 2}) == pytest.approx(
        [2.0]
    )
    assert figures([["a", "b", *[None] * 4]], {"name": "recursive-cl", "c": 3, "l": 2}) == pytest.approx(
        [2.0]
    )


def test_closeness_compares_like_with_like() -> None:
    """Known values spread as in the table; with unknown ones present the second class differs from it."""
    classes = [["a", "b"], ["a", "b", None, None]]
    found = figures(classes, {"name": "t-closeness", "t": 1})
    assert found == pytest.approx([1 / 3, 1 / 6])


def test_ordered_distance_puts_missing_after_the_largest() -> None:
    # Values 1, 2 and missing at places 0, 1, 2; a class of missing and 1 against all of them.
    found = figures([[1, None], [2, 2]], {"name": "t-closeness", "t": 1})
    # Present: cumulative 1/2, 1/2 against 1/4, 3/4 gives 1/4. Removed: 1 against 1/3 gives 2/3.
    assert found[0] == pytest.approx(2 / 3)
    # The second class is missing from the first places altogether: (1/4 + 1/4) / 2 and 1/3.
    assert found[1] == pytest.approx(1 / 3)


def test_hierarchical_distance_is_the_default_of_a_tree() -> None:
    classes = [["cat", "cat"], ["dog", "carp"]]
    table, ids = of_classes(classes, hierarchies={"s": PETS})
    (found,) = judge_groups(table, ids, make("model", {"name": "t-closeness", "t": 1}))
    # Extra of cat 1/2, dog -1/4, carp -1/4: 1/4 moves within mammals at half price, 1/4 over the root.
    assert found.values.tolist() == pytest.approx([1 / 4 / 2 + 1 / 4, 1 / 4 / 2 + 1 / 4])
    assert make("model", {"name": "t-closeness", "t": 1}).resolved(table.domain)[0].distance == "hierarchical"


def test_max_range_of_a_tree_with_missing_cells_stays_within_0_and_1() -> None:
    table, ids = of_classes([["cat", "carp", None]], hierarchies={"s": PETS})
    (found,) = judge_groups(table, ids, make("model", {"name": "max-range", "limit": 0.5}))
    assert found.values.tolist() == [0.0]


def test_max_range_is_measured_against_known_numbers_only() -> None:
    found = figures([[1, 3], [1, 5, 99]], {"name": "max-range", "limit": 1}, non_answers=["99"])
    assert found == pytest.approx([1 / 2, 0.0])


@pytest.mark.parametrize("written", ["999", "999.0", "9.99e2"])
def test_non_answers_are_found_however_they_are_written(written: str) -> None:
    assert figures([[1, 999]], {"name": "distinct-l", "l": 2}, non_answers=[written]) == [1.0]


def test_max_range_of_an_order_is_measured_against_all_of_it() -> None:
    """The declared order is the domain, non-answers included, as the verifier reads it."""
    settings = {"type": "ordinal", "order": ["refused", "low", "middle", "high"], "non_answers": ["refused"]}
    found = figures([["low", "middle", "refused"]], {"name": "max-range", "limit": 1}, **settings)
    assert found == pytest.approx([2 / 3])


def test_sizes_and_shares_count_people() -> None:
    # Three people, five rows; two of the people have flu.
    values = [["flu", "flu", "cold", "cold", "cold"]]
    people = {"subjects": [["ann", "bob", "ann", "cid", "cid"]]}
    assert figures(values, {"name": "k", "k": 2}, **people) == [3.0]
    assert figures(values, {"name": "alpha-k-general", "alpha": 1, "k": 2}, **people) == pytest.approx(
        [2 / 3]
    )
    # Entropy over two and two person-values, although three of five rows say cold.
    assert figures(values, {"name": "entropy-l", "l": 2}, **people) == pytest.approx([2.0])


def test_variance_and_proximity_count_rows() -> None:
    values, people = [[0, 0, 0, 4]], {"subjects": [["ann", "ann", "ann", "bob"]]}
    assert figures(values, {"name": "variance", "v": 1}, **people) == pytest.approx([3.0])
    assert figures(values, {"name": "eps-m", "eps": 1, "m": 2}, **people) == pytest.approx([0.75])


# Models of spread or proximity are of values and rows by definition: one person may well satisfy them.
OF_PEOPLE = [
    spec for spec in ALL
    if spec["name"] not in NUMERIC | {
        "max-range", "t-closeness", "distinct-l", "entropy-l", "recursive-cl", "range-diversity", "worst-group-utility",
        "beta-likeness", "delta-disclosure",
    }
]  # fmt: skip


@pytest.mark.parametrize("spec", OF_PEOPLE, ids=lambda spec: spec["name"])
def test_one_person_with_a_hundred_rows_never_makes_a_class_pass(spec: dict[str, Any]) -> None:
    values = [[f"v{row}" for row in range(100)], ["b", "c", "d", "e", "b", "c"]]
    people = [["ann"] * 100, ["p1", "p2", "p3", "p4", "p5", "p6"]]
    found = judged(values, spec, subjects=people)
    assert not found.ok[0]
    assert found.ok[1]
    # The same rows, were they a hundred people's, would do.
    assert judged(values, spec).ok.all()


@pytest.mark.parametrize(
    "names",
    [
        {"name": "entropy-l", "l": 3}, {"name": "recursive-cl", "c": 1, "l": 2},
        {"name": "range-diversity", "p": 0.8}, {"name": "range-confidence", "p": 0.8},
    ],
)  # fmt: skip
def test_one_person_cannot_outweigh_the_others(names: dict[str, Any]) -> None:
    """Ninety rows of one person's rare value do not hide that the other nine people share theirs."""
    values = [["flu"] * 9 + ["cold"] * 90]
    people = {"subjects": [[f"p{number}" for number in range(9)] + ["ann"] * 90]}
    found = judged(values, names, **people)
    expected = {"entropy-l": math.exp(-(0.9 * math.log(0.9) + 0.1 * math.log(0.1))), "recursive-cl": 9.0}
    expected |= {"range-diversity": 0.81 + 0.01, "range-confidence": 0.9}
    assert found.values.tolist() == pytest.approx([expected[names["name"]]])
    assert not found.ok.all()


def test_names_a_value_is_what_it_says() -> None:
    assert {spec["name"] for spec in ALL if "value" in spec or isinstance(spec.get("alpha"), dict)} == NAMES_A_VALUE
    # By that they are refused where the values are published as codes.
    assert {name for name in registry.names("model") if registry.load("model", name).names_values} == NAMES_A_VALUE
