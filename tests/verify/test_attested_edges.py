"""Attested claims at the very limit that a file leaves them: one side is refuted, the other is not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest

from shoal.verify.counts import largest_allowed
from shoal.verify.report import TOLERANCE
from tests.verify.cases import manifest
from tests.verify.refuting import told, told_of

BIT = 1e-9


def k(size: int) -> dict[str, Any]:
    return {"name": "k", "k": size}


def mean_diversity(*counts: float) -> float:
    """The exponential of an entropy."""
    total = sum(counts)
    return math.exp(-sum(count / total * math.log(count / total) for count in counts))


# As even as the promised class sizes allow


@pytest.mark.parametrize("values, sizes, counts", [
    ("aaaab", (), (1, 1)),
    ("aaaab", (2,), (1, 1)),
    ("aaaab", (3,), (2, 1)),
    ("aaaab", (4,), (3, 1)),
    ("aaaab", (5,), (4, 1)),
    ("aaaab", (3, 5, 2), (4, 1)),
    ("aaaab", (9,), (4, 1)),
    ("aaabbc", (4,), (1.5, 1.5, 1)),
    ("aaabbc", (5,), (2, 2, 1)),
    ("aaabbc", (6,), (3, 2, 1)),
])  # fmt: skip
def test_the_largest_entropy_and_the_smallest_ratio(
    values: str, sizes: tuple[int, ...], counts: Sequence[float]
) -> None:
    asked = [k(size) for size in sizes]
    most = mean_diversity(*counts)
    assert told([values], {"name": "entropy-l", "l": most * (1 - BIT)}, *asked) is None
    assert told([values], {"name": "entropy-l", "l": most * (1 + BIT)}, *asked) is not None
    least = counts[0] / sum(counts[1:])
    assert told([values], {"name": "recursive-cl", "c": least * (1 + BIT), "l": 2}, *asked) is None
    assert told([values], {"name": "recursive-cl", "c": least * (1 - BIT), "l": 2}, *asked) is not None


def test_a_strict_ratio() -> None:
    assert told(["aab"], {"name": "recursive-cl", "c": 2, "l": 2}, k(3)) is not None


@pytest.mark.parametrize("values, size, answers, whole", [
    (["a", "a", "a", "a", "b", None], 6, (4, 1), (4, 1, 1)),
    (["a", "a", "a", "a", "b", None], 5, (3, 1), (3, 1, 1)),
    (["a", "a", "b", None, None, None], 6, (2, 1), (3, 2, 1)),
    (["a", "b", None, None, None, None], 6, (1, 1), (4, 1, 1)),
    (["a", None, None, None], 3, (1,), (2, 1)),
    (["a", "b", "c", "*", "*", "*", "*"], 7, (1, 1, 1), (4, 1, 1, 1)),
])  # fmt: skip
def test_non_answers_are_left_out_and_counted(
    values: list[str | None], size: int, answers: Sequence[int], whole: Sequence[int]
) -> None:
    """A diversity has to hold both ways, so that the less even of the two is what refutes."""
    most = min(mean_diversity(*answers), mean_diversity(*whole))
    assert told([values], {"name": "entropy-l", "l": max(most * (1 - BIT), 1)}, k(size)) is None
    assert told([values], {"name": "entropy-l", "l": most * (1 + BIT)}, k(size)) is not None
    least = max(counts[0] / sum(counts[1:]) if len(counts) > 1 else math.inf for counts in (answers, whole))
    if math.isfinite(least):
        assert told([values], {"name": "recursive-cl", "c": least * (1 + BIT), "l": 2}, k(size)) is None
    assert told([values], {"name": "recursive-cl", "c": min(least, 99) * (1 - BIT), "l": 2}, k(size)) is not None


def test_rows_of_codes_are_people_where_nobody_is_counted() -> None:
    code = {"coded": "mapping", "answers": True}
    most = mean_diversity(4, 1)
    assert told(["aaaab"], {"name": "entropy-l", "l": most * (1 - BIT)}, people=False, **code) is None
    assert told(["aaaab"], {"name": "entropy-l", "l": most * (1 + BIT)}, people=False, **code) is not None
    assert told(["aaaab"], {"name": "entropy-l", "l": 2}, people=True, **code) is None


# Shares


@pytest.mark.parametrize("values, size, least", [
    ("aabcd", 1, 1 / 4), ("aabcd", 4, 1 / 4), ("aabcd", 5, 2 / 5), ("aaaab", 5, 4 / 5), ("aaaab", 4, 3 / 4),
    ("aaaab", 3, 2 / 3), ("aaaab", 2, 1 / 2), ("aaaab", 1, 1 / 2), ("abcdef", 6, 1 / 6),
    (["a", "a", "b", None], 4, 2 / 3), (["a", "a", "b", None], 3, 1 / 2),
])  # fmt: skip
def test_the_smallest_share(values: Sequence[Any], size: int, least: float) -> None:
    model = {"name": "alpha-k-general", "alpha": least, "k": size}
    assert told([values], model) is None
    assert told([values], model | {"alpha": least - 1e-6}) is not None
    assert told([values], model | {"alpha": 0}) is not None
    range_model = {"name": "range-confidence", "p": least}
    assert told([values], range_model, k(size)) is None
    assert told([values], range_model | {"p": least - 1e-6}, k(size)) is not None


@pytest.mark.parametrize("alpha, value, told_so", [
    (0, "a", True), (0.19, "a", True), (0.2, "a", False), (0, "z", False), (0.1, "b", True), (0.2, "b", False),
])  # fmt: skip
def test_the_share_of_one_value(alpha: float, value: str, told_so: bool) -> None:
    """With five people one of them has each value."""
    model = {"name": "alpha-k-simple", "alpha": alpha, "k": 2, "value": value}
    assert (told(["abcde"], model) is not None) is told_so


def test_shares_of_each_value() -> None:
    model = {"name": "alpha-k-complete", "alpha": {"b": 0.25, "c": 0.25}, "k": 2}
    assert told(["aabc"], model) is None
    assert told(["aabc"], model | {"alpha": {"b": 0.25, "c": 0.24}}) is not None
    assert told(["aabc"], model | {"default": 0.5}) is None
    assert told(["aabc"], model | {"default": 0.4}) is not None


def test_which_code_is_which_value_is_not_known() -> None:
    code = {"coded": "mapping", "answers": True, "people": False}
    assert told(["aab"], {"name": "alpha-k-simple", "alpha": 0.1, "k": 2, "value": "a"}, **code) is None
    assert told(["aab"], {"name": "alpha-k-complete", "alpha": {"a": 0.1}, "k": 2}, **code) is None
    assert told(["aab"], {"name": "alpha-k-general", "alpha": 0.1, "k": 2}, **code) is not None


# What one code stands for


@pytest.mark.parametrize("model, loose, tight", [
    ({"name": "distinct-l"}, {"l": 2}, {"l": 3}),
    ({"name": "p-sensitive", "k": 2}, {"p": 2}, {"p": 3}),
    ({"name": "m-invariance"}, {"m": 2}, {"m": 3}),
    ({"name": "k-e", "e": 0}, {"k": 2}, {"k": 3}),
    ({"name": "k-e", "e": 0.5}, {"k": 2}, {"k": 3}),
    ({"name": "eps-m", "eps": 0}, {"m": 1.5}, {"m": 1.51}),
])  # fmt: skip
def test_distinct_codes(model: dict[str, Any], loose: dict[str, Any], tight: dict[str, Any]) -> None:
    code = {"coded": "graded", "answers": True, "type": "numeric", "people": False}
    classes = [["1.5", "1.5", "2.5"], ["1.5", "2.5", "3.5"]]
    assert told(classes, model | loose, **code) is None
    assert "fails in 1 class whatever is not published, the smallest 3 rows." in str(
        told(classes, model | tight, **code)
    )
    assert told(classes, model | tight, **(code | {"answers": False})) is None
    assert told(classes, model | tight, **(code | {"coded": "shifted", "type": "date", "days": 3})) is None


def test_a_spread_needs_two_codes() -> None:
    code = {"coded": "graded", "answers": True, "type": "numeric", "people": False}
    one = [["1.5", "1.5"], ["1.5", "2.5"]]
    assert told(one, {"name": "variance", "v": 0}, **code) is None
    assert told(one, {"name": "variance", "v": 0.1}, **code) is not None
    assert told(one[1:], {"name": "variance", "v": 0.1}, **code) is None
    assert told(one, {"name": "k-e", "k": 1, "e": 0}, **code) is None
    assert told(one, {"name": "k-e", "k": 1, "e": 0.1}, **code) is not None


def test_one_of_two_columns_may_be_coded() -> None:
    """Together they are as diverse as codes and values are."""
    model = {"name": "distinct-l", "l": 3, "on": ["s", "u"]}
    code = {"coded": "mapping", "answers": True}
    plain, other = {"cells of u": list("xxyy")}, {"cells of u": list("xyxy")}
    assert told(["aabb"], model, people=False, extra=plain, **code) is not None
    assert told(["aabb"], model, people=False, extra=other, **code) is None
    assert told(["aabb"], model, people=False, extra=plain, coded="mapping") is None
    assert told(["aabb"], model, people=False, extra=plain | code) is not None
    assert told(["aabb"], model, people=False, extra=plain | {"coded": "mapping"}) is None
    shares = {"name": "alpha-k-general", "alpha": 0.4, "k": 2, "on": ["s", "u"]}
    assert told(["aabb"], shares, people=False, extra=plain, **code) is not None


# Sentences


def test_how_many_classes_fail() -> None:
    model = {"name": "entropy-l", "l": 3}
    assert told(["abc", "abcd", "aa", "bbb"], model) == (
        "entropy-l = 3 on s fails in 2 classes whatever is not published, the smallest 2 rows."
    )
    assert told(["abc", "bbb"], model) == (
        "entropy-l = 3 on s fails in 1 class whatever is not published, the smallest 3 rows."
    )
    assert told(["abc"], model) is None
    assert told([["a"] * 1200] + ["abc"], model) == (
        "entropy-l = 3 on s fails in 1 class whatever is not published, the smallest 1,200 rows."
    )


def test_a_class_without_answers_has_nothing_to_disclose() -> None:
    classes: list[list[str | None]] = [["a", "b", "c"], [None, None]]
    for model in ({"name": "entropy-l", "l": 3}, {"name": "recursive-cl", "c": 1.1, "l": 3},
                  {"name": "alpha-k-general", "alpha": 0.34, "k": 1}, {"name": "range-diversity", "p": 0.34},
                  {"name": "max-range", "limit": 0}, {"name": "t-closeness", "t": 0}):  # fmt: skip
        assert told(classes, model) is None


def test_made_up_rows_leave_too_few_people() -> None:
    """Of 8 rows 3 are nobody's, so that 5 people are in two classes."""
    same = {"name": "m-invariance", "m": 2}
    size = {"name": "alpha-k-general", "alpha": 1, "k": 3}
    assert told(["aabb", "abab"], size, same, counterfeits=3, people=False) == (
        "alpha-k-general = 1 on s fails in 2 classes whatever is not published, the smallest 4 rows."
    )
    assert told(["aabb", "abab"], size, same, counterfeits=2, people=False) is None
    assert told(["aabb", "abab"], size | {"k": 2}, same, counterfeits=3, people=False) is None
    assert told(["aabb", "abab"], same, size, counterfeits=3, people=False) is None


def test_nothing_is_said_about_earlier_releases() -> None:
    columns = [
        {"name": "q", "role": "quasi", "type": "categorical", "cells": "set"},
        {"name": "s", "role": "sensitive", "type": "categorical", "cells": "value"},
    ]
    described = manifest(columns, [{"name": "m-invariance", "m": 3}])
    cells = {"q": ["g", "g"], "s": ["a", "b"]}
    assert told_of(cells, described, 0) == (
        "m-invariance = 3 on s fails in 1 class whatever is not published, the smallest 2 rows."
    )
    assert told_of(cells, described, 1) is None


def test_a_release_without_rows_refutes_nothing() -> None:
    assert told([[]], {"name": "entropy-l", "l": 3}) is None
    assert told([[]], {"name": "worst-group-utility", "u": 0}) is None


@pytest.mark.parametrize("limit, times", [(0.25, 1.0), (1.0, 1.0), (1.5, 1.5), (4.0, 4.0)])
def test_the_tolerance_grows_with_limits_above_one(limit: float, times: float) -> None:
    assert float(largest_allowed(limit)) - limit == pytest.approx(times * TOLERANCE, rel=0.01, abs=0)
