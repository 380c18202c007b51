"""t-closeness with non-answers as ordinary values and without them, on classes that were chosen by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest

from shoal.verify.gate import gate
from tests.verify.cases import judged, sensitive_case
from tests.verify.test_closeness import NUMERIC, TREE, close, dense_equal, dense_kl, dense_ordered, dense_tree

CLASSES: list[list[list[Any]]] = [
    [[1, 1, 2], [3, 5, 8, 8]],
    [[1], [2, 2, 2], [8, 5]],
    [[1, 8], [1, 1, 1, 3], [2]],
    [[1, None, None], [2, 3], [3, 3, 3, 8]],
    [[None, 1], [None, None], [5, 5, 8, 1]],
    [[5, 5, 5, 5], [1, 2, 3, 8, None]],
    [[2, 3, 3], [2, 2, 3], [3]],
]
WORDS = {1: "flu", 2: "asthma", 3: "gastritis", 5: "ulcer", 8: "flu", None: None}


@pytest.mark.parametrize("classes", CLASSES)
@pytest.mark.parametrize(
    "distance, dense",
    [("ordered", dense_ordered), ("equal", dense_equal), ("kl", dense_kl), ("hierarchical", dense_tree)],
)
def test_chosen_classes_equal_dense_code(distance: str, dense: Any, classes: list[list[Any]]) -> None:
    column: dict[str, Any] = NUMERIC
    if distance == "hierarchical":
        classes, column = [[WORDS[value] for value in group] for group in classes], {"hierarchy": TREE}
    table = [value for group in classes for value in group]
    known = [value for value in table if value is not None]
    expected = []
    for group in classes:
        answers = [value for value in group if value is not None]
        if answers:
            expected.append(max(dense(group, table), dense(answers, known)))
    verdict = judged(classes, close(10, distance=distance), column=column)
    assert verdict.value == pytest.approx(max(expected), abs=1e-12)
    # Each class is judged by its own figure: every one above the limit is counted.
    middle = sorted(expected)[len(expected) // 2]
    found = judged(classes, close(middle, distance=distance), column=column)
    assert found.classes == sum(figure > middle + 1e-9 for figure in expected)


@pytest.mark.parametrize("distance, value", [("equal", 1 / 3), ("ordered", 1 / 3), ("variational", 1 / 3)])
def test_non_answers_as_ordinary_values_may_be_the_worse_view(distance: str, value: float) -> None:
    """All answers are the same, and non-answers are not spread as they are in the table."""
    classes = [[1, None, None], [1, 1, 1]]
    assert judged(classes, close(distance=distance), column=NUMERIC).value == pytest.approx(value)
    assert not judged(classes, close(0.3, distance=distance), column=NUMERIC).holds
    refused = NUMERIC | {"non_answers": ["9"]}
    assert judged([[1, 9, 9], [1, 1, 1]], close(distance=distance), column=refused).value == pytest.approx(value)
    assert judged([["a", "*", "*"], ["a"] * 3], close(distance="equal")).value == pytest.approx(1 / 3)


def test_non_answers_that_only_the_input_has_count_there() -> None:
    (released,) = gate(sensitive_case([["a", "b"]], close(reference="released"), others=[None, None])).verdicts
    (original,) = gate(sensitive_case([["a", "b"]], close(), others=[None, None])).verdicts
    assert (released.value, original.value) == (0, pytest.approx(1 / 2))


def test_a_tree_of_unequal_depths_of_change() -> None:
    """Three levels: mass that moves within a branch of height 1, within one of height 2, and across the root."""
    rows = [
        ["a", "ab", "abc", "*"], ["b", "ab", "abc", "*"], ["c", "c'", "abc", "*"],
        ["d", "de", "de'", "*"], ["e", "de", "de'", "*"],
    ]  # fmt: skip
    column = {"hierarchy": rows}
    # Table: a, b, c, d, e, a fifth each but d and e by the second class.
    assert judged([["a", "a"], ["b", "b"]], close(), column=column).value == pytest.approx(0.5 / 3)
    assert judged([["a", "a"], ["c", "c"]], close(), column=column).value == pytest.approx(0.5 * 2 / 3)
    assert judged([["a", "a"], ["d", "d"]], close(), column=column).value == pytest.approx(0.5)
    # {a, a, d, d} against a quarter each of a, b, d, e: a quarter moves within ab, a quarter within de.
    assert judged([["a", "a", "d", "d"], ["b", "b", "e", "e"]], close(), column=column).value == pytest.approx(0.5 / 3)
    # {a, a, a, b} against (5 a, 1 b, 2 d) / 8: an eighth a surplus of a, an eighth of b, taken across the root.
    classes = [["a", "a", "a", "b"], ["a", "a", "d", "d"]]
    assert judged(classes, close(), column=column).value == pytest.approx(1 / 4)


def test_kullback_leibler_of_a_value_that_the_table_lacks_is_infinite() -> None:
    """Only on the side of the input can a class have what the table does not: it never has, so it stays finite."""
    verdict = judged([["a", "a"], ["b", "b"]], close(distance="kl", t=0.7))
    assert (verdict.value, verdict.holds) == (pytest.approx(math.log(2)), True)


def test_a_limit_that_is_met_exactly_holds() -> None:
    assert judged([["a", "a"], ["b", "b"]], close(0.5)).holds
    assert not judged([["a", "a"], ["b", "b"]], close(0.499999)).holds
