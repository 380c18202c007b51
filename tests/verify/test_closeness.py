"""t-closeness: published values, and every distance against plain dense code."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import VerificationError
from shoal.verify.gate import gate
from tests.verify.cases import judged, sensitive_case

NUMERIC = {"type": "numeric"}
SALARIES = [[3, 4, 5], [6, 8, 11], [7, 9, 10]]
DISEASES = [
    ["gastric ulcer", "gastritis", "stomach cancer"],
    ["gastritis", "flu", "bronchitis"],
    ["bronchitis", "pneumonia", "stomach cancer"],
]


def close(t: float = 1.0, **parameters: Any) -> dict[str, Any]:
    return {"name": "t-closeness", "t": t} | parameters


@pytest.mark.parametrize("place, distance", [(0, 3 / 8), (1, 1 / 6), (2, 17 / 72)])
def test_ordered_distances_of_the_salaries(place: int, distance: float) -> None:
    # One class at a time: the other rows are suppressed, so the input side compares it with the whole table.
    others = [value for other, group in enumerate(SALARIES) if other != place for value in group]
    case = [SALARIES[place]]
    (released,) = gate(sensitive_case(case, close(reference="released"), column=NUMERIC, others=others)).verdicts
    (original,) = gate(sensitive_case(case, close(), column=NUMERIC, others=others)).verdicts
    assert (released.by, original.by) == ("rechecked", "attested")
    assert released.value == pytest.approx(0, abs=1e-12)
    assert original.value == pytest.approx(distance, abs=1e-12)


def test_the_worst_class_is_the_value_and_equality_passes() -> None:
    assert judged(SALARIES, close(0.375), column=NUMERIC).holds
    verdict = judged(SALARIES, close(0.374), column=NUMERIC)
    assert (verdict.holds, verdict.classes, verdict.smallest) == (False, 1, 3)
    assert verdict.value == pytest.approx(3 / 8)


@pytest.mark.parametrize("distance", [None, "equal", "variational"])
def test_equal_distance_of_the_diseases(distance: str | None) -> None:
    others = [value for group in DISEASES[1:] for value in group]
    parameters = {} if distance is None else {"distance": distance}
    report = gate(sensitive_case([DISEASES[0]], close(**parameters), others=others))
    assert report.verdicts[0].value == pytest.approx(4 / 9)


def test_kullback_leibler() -> None:
    classes = [["HIV"] * 10 + ["flu"] * 90, ["HIV"] * 50 + ["flu"] * 50]
    assert judged(classes, close(distance="kl")).value == pytest.approx(0.1163217, abs=1e-6)
    second = gate(sensitive_case([classes[1]], close(distance="kl"), others=classes[0])).verdicts[0]
    assert second.value == pytest.approx(0.5 * math.log(0.5 / 0.3) + 0.5 * math.log(0.5 / 0.7))


TREE = [
    ["flu", "lung", "*"],
    ["asthma", "lung", "*"],
    ["gastritis", "stomach", "*"],
    ["ulcer", "stomach", "*"],
]


def test_hierarchical_distance() -> None:
    # Table: a quarter each. {flu, asthma} moves half its mass across the root: 1/2 * 2/2.
    column = {"hierarchy": TREE}
    across = judged([["flu", "asthma"], ["gastritis", "ulcer"]], close(), column=column)
    assert across.value == pytest.approx(1 / 2)
    # {flu, gastritis} moves a quarter inside each branch: 2 * 1/4 * 1/2.
    inside = judged([["flu", "gastritis"], ["asthma", "ulcer"]], close(), column=column)
    assert inside.value == pytest.approx(1 / 4)


def test_a_hierarchy_with_the_missing_leaf() -> None:
    column = {"hierarchy": [*TREE, ["<missing>", "<missing>", "*"]]}
    classes = [["flu", None], ["asthma", "ulcer"]]
    assert (
        judged(classes, close(), column=column).value
        == judged(classes, close(), column={"hierarchy": TREE}).value
    )


def test_a_value_outside_the_hierarchy_fails() -> None:
    report = gate(sensitive_case([["flu", "gout"]], close(), column={"hierarchy": TREE}))
    assert [check.name for check in report.checks if not check.passed] == ["sensitive values"]


def test_numbers_are_ordered_and_categories_are_not() -> None:
    order = {"type": "ordinal", "order": ["low", "mid", "high"]}
    classes = [["low", "low"], ["mid", "high"]]
    # Cumulative shares: (1, 1) against (1/2, 3/4), over two steps.
    assert judged(classes, close(), column=order).value == pytest.approx((1 / 2 + 1 / 4) / 2)
    assert judged(classes, close()).value == pytest.approx(1 / 2)
    assert judged([["1", "1"], ["10", "9"]], close(), column=NUMERIC).value == pytest.approx(
        (1 / 2 + 1 / 4) / 2
    )


def test_dates_are_ordered() -> None:
    classes = [["2020-01-01", "2020-01-01"], ["2021-06-01", "2020-02-01"]]
    assert judged(classes, close(), column={"type": "date"}).value == pytest.approx((1 / 2 + 1 / 4) / 2)


def test_missing_is_placed_after_the_largest() -> None:
    # Present: places 1, 2, missing; {1, 1} against (1/2, 1/4, 1/4). Removed: {1, 1} against (2/3, 1/3).
    verdict = judged([[1, 1], [2, None]], close(), column=NUMERIC)
    first = max((1 / 2 + 1 / 4) / 2, 1 / 3)
    second = max((1 / 2 + 1 / 4) / 2, 2 / 3)  # {2, missing}, and {2} alone
    assert verdict.value == pytest.approx(max(first, second))


def test_other_non_answers_keep_their_place() -> None:
    column = NUMERIC | {"non_answers": ["0"]}
    # Present: places 0, 1, 2; {1, 1} against (1/4, 1/2, 1/4). Removed: {1, 1} against (2/3, 1/3).
    verdict = judged([[1, 1], [2, 0]], close(), column=column)
    assert verdict.value == pytest.approx(max((1 / 4 + 1 / 4) / 2, 1 / 3, 2 / 3))


def test_suppressed_rows_count_on_the_side_of_the_input_only() -> None:
    for reference, expected in (("released", (True, 0)), ("input", (False, 0.25))):
        report = gate(sensitive_case([["a", "b"]], close(0.1, reference=reference), others=["b", "b"]))
        assert [(verdict.holds, verdict.value) for verdict in report.verdicts] == [expected]
        assert report.passed == expected[0]


def test_one_value_in_the_table_is_no_distance() -> None:
    assert judged([[1, 1], [1]], close(0), column=NUMERIC).value == 0


def test_a_tuple_has_equal_distances() -> None:
    rows = [[("a", "x"), ("a", "y")], [("b", "x"), ("b", "y")]]
    assert judged(rows, close(on=["s0", "s1"])).value == pytest.approx(1 / 2)
    for distance in ("ordered", "hierarchical"):
        with pytest.raises(VerificationError, match=distance):
            gate(sensitive_case(rows, close(on=["s0", "s1"], distance=distance)))


def test_people_are_counted_on_both_sides() -> None:
    # p has a twice: h = (1, 1) in the class; the other class has one b.
    classes, subjects = [["a", "a", "b"], ["b"]], ["p", "p", "q", "r"]
    verdict = judged(classes, close(), subjects=subjects)
    assert (verdict.by, verdict.value) == ("attested", pytest.approx(1 / 3))


# against dense code

VALUES = st.sampled_from([1, 2, 3, 5, 8, None])
CLASSES = st.lists(st.lists(VALUES, min_size=1, max_size=6), min_size=1, max_size=4)
LETTERS = {1: "flu", 2: "asthma", 3: "gastritis", 5: "ulcer", 8: "flu"}


def shares(values: list[Any], domain: list[Any]) -> list[float]:
    counts = Counter(values)
    return [counts[value] / len(values) for value in domain]


def dense_ordered(own: list[Any], table: list[Any]) -> float:
    domain = sorted({value for value in table if value is not None}) + ([None] if None in table else [])
    p, q = shares(own, domain), shares(table, domain)
    steps = len(domain) - 1
    return sum(abs(sum(p[: i + 1]) - sum(q[: i + 1])) for i in range(steps)) / steps if steps else 0.0


def dense_equal(own: list[Any], table: list[Any]) -> float:
    domain = list(set(table))
    return sum(abs(a - b) for a, b in zip(shares(own, domain), shares(table, domain), strict=True)) / 2


def dense_kl(own: list[Any], table: list[Any]) -> float:
    domain = list(set(own))
    return sum(a * math.log(a / b) for a, b in zip(shares(own, domain), shares(table, domain), strict=True))


def dense_tree(own: list[Any], table: list[Any]) -> float:
    parent = {row[0]: row[1] for row in TREE} | {None: None}
    surplus = {leaf: own.count(leaf) / len(own) - table.count(leaf) / len(table) for leaf in parent}
    cost, upper = 0.0, Counter()
    for node in set(parent.values()):
        below = [surplus[leaf] for leaf in parent if parent[leaf] == node]
        cost += 0.5 * min(sum(max(x, 0) for x in below), sum(max(-x, 0) for x in below))
        upper[node] = sum(below)
    return cost + min(sum(max(x, 0) for x in upper.values()), sum(max(-x, 0) for x in upper.values()))


@pytest.mark.parametrize(
    "distance, dense",
    [("ordered", dense_ordered), ("equal", dense_equal), ("kl", dense_kl), ("hierarchical", dense_tree)],
)
@given(classes=CLASSES)
def test_distances_equal_dense_code(distance: str, dense: Any, classes: list[list[Any]]) -> None:
    column: dict[str, Any] = NUMERIC
    if distance == "hierarchical":
        classes, column = [[LETTERS.get(value) for value in group] for group in classes], {"hierarchy": TREE}
    table = [value for group in classes for value in group]
    known = [value for value in table if value is not None]
    expected = [0.0]
    for group in classes:
        answers = [value for value in group if value is not None]
        if answers:
            expected += [dense(group, table), dense(answers, known)]
    verdict = judged(classes, close(10, distance=distance), column=column)
    # Without any known value nothing is judged, and the limit stands for the value.
    assert verdict.value == pytest.approx(max(expected) if known else 10, abs=1e-12)
