"""Attested claims about distances, ranges, guards and whole domains, at the limit that a file leaves them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.verify.cases import manifest
from tests.verify.refuting import told, told_of

BIT = 1e-6
TREE = [[value, value.upper(), "*"] for value in "abcdef"]
POLICY = {"intervals": [["1", "3"], ["4", "6"]], "else": "value"}
CODE = {"coded": "mapping", "answers": True, "people": False}


def close(**more: Any) -> dict[str, Any]:
    return {"name": "t-closeness", "t": 0, "reference": "released"} | more


def least_t(classes: Sequence[Sequence[Any]], least: float, model: dict[str, Any], *more: Any, **options: Any) -> None:
    """The smallest t that is not refuted."""
    assert told(classes, model | {"t": least + BIT}, *more, **options) is None
    if least:
        assert told(classes, model | {"t": least - BIT}, *more, **options) is not None
    else:
        assert told(classes, model, *more, **options) is None


# Two classes are at most twice t apart


@pytest.mark.parametrize("classes, size, gap", [
    (["aaab", "abbb"], 4, 1 / 2),
    (["aaab", "abbb"], 3, 1 / 3),
    (["aaab", "abbb"], 2, 0),
    (["aaab", "abbb"], 1, 0),
    (["aaaaab", "abbbbb"], 4, 1 / 2),
    (["aaabc", "abbcc"], 4, 1 / 4),
    (["aaabc", "abbcc"], 5, 2 / 5),
    (["ab", "ac"], 2, 1 / 2),
    (["ab", "ac"], 1, 1 / 2),
    (["aab", "ac"], 1, 1 / 2),
    (["ab", "abcde"], 1, 3 / 10),
    (["a", "a", "b"], 1, 1),
    (["aaab"], 4, 0),
    (["aabb", "abab", "baba"], 4, 0),
])  # fmt: skip
def test_the_gap_between_two_classes(classes: list[str], size: int, gap: float) -> None:
    asked = {"name": "k", "k": size}
    for reference in ("input", "released"):
        for distance in ("equal", "variational"):
            least_t(classes, gap / 2, close(distance=distance, reference=reference), asked)
    least_t(classes, 2 * (gap / 2) ** 2, close(distance="kl"), asked)


@pytest.mark.parametrize("people, classes, name, main, figure, more", [
    (True, ["abcdefg"], "alpha-k-general", "alpha", 1 / 7, {"k": 1}),
    (True, ["abcdefg"], "range-confidence", "p", 1 / 7, {}),
    (True, ["aab", "abb"], "t-closeness", "t", 1 / 6, {"reference": "input"}),
    (True, ["aab", "abb"], "t-closeness", "t", 1 / 6, {"reference": "released"}),
    (False, ["aab", "abb"], "t-closeness", "t", 1 / 6, {"reference": "input"}),
    (False, ["ab", "cd", "ef", "gh", "ij", "kl"], "t-closeness", "t", 5 / 12, {"reference": "input"}),
])  # fmt: skip
def test_a_limit_in_twelve_digits_passes_as_at_the_gate(
    people: bool, classes: list[str], name: str, main: str, figure: float, more: dict[str, Any]
) -> None:
    """The gate lets figures pass that are larger by rounding, and what holds there is not refuted."""
    size = {"name": "k", "k": len(classes[0])}
    for digits, passes in ((12, True), (11, False)):
        short = int(figure * 10**digits) / 10**digits
        assert (told(classes, {"name": name, main: short} | more, size, people=people) is None) is passes


def test_classes_without_answers_are_not_compared() -> None:
    empty: list[list[str | None]] = [[None, None], [None]]
    size = {"name": "k", "k": 2}
    assert told([list("ab"), list("ab"), *empty], close(), size) is None
    found = told([list("ab"), list("ac"), *empty], close(t=0.2), size)
    assert found == "t-closeness = 0.2 on s fails in 2 classes whatever is not published, the smallest 2 rows."
    assert told(empty, close()) is None


@pytest.mark.parametrize("height", [1, 2, 3])
def test_a_step_of_a_hierarchy_costs_less(height: int) -> None:
    tree = [[value, *(f"{value}{level}" for level in range(1, height)), "*"] for value in "ab"]
    asked = {"name": "k", "k": 4}
    least_t(["aaab", "abbb"], 1 / 4 / height, close(distance="hierarchical"), asked, hierarchy=tree)
    least_t(["aaab", "abbb"], 1 / 4 / height, close(), asked, hierarchy=tree)
    least_t(["aaab", "abbb"], 1 / 4, close(distance="equal"), asked, hierarchy=tree)


@pytest.mark.parametrize("classes, least", [
    ([[1, 1, 1, 2], [1, 2, 2, 2]], 1 / 4), ([[1, 1, 2, 3], [1, 2, 3, 3]], 1 / 16), ([[1], [2], [3], [4]], 1 / 6),
])  # fmt: skip
def test_a_step_of_an_order_costs_less(classes: list[list[int]], least: float) -> None:
    """The more values there are, the more may move at the same cost; in the input there may be more still."""
    texts = [[str(value) for value in group] for group in classes]
    asked = {"name": "k", "k": len(classes[0])}
    least_t(texts, least, close(), asked, type="numeric")
    least_t(texts, least, close(distance="ordered"), asked, type="ordinal", order=["1", "2", "3", "4", "5"])
    assert told(texts, close(reference="input"), asked, type="numeric") is not None
    assert told(texts, close(reference="input", t=1e-9), asked, type="numeric") is None


def test_codes_do_not_tell_how_far_apart_they_are() -> None:
    classes = [["x", "x", "y"], ["x", "y", "y"]]
    assert told(classes, close(), **CODE) is not None
    assert told(classes, close(t=BIT), **CODE) is None
    least_t(classes, 1 / 6, close(distance="equal"), **CODE)
    assert told(classes, close(distance="hierarchical"), **CODE) is not None
    assert told(classes, close(distance="hierarchical", t=BIT), **CODE) is None
    assert told(classes, close(reference="input", t=0.1, distance="equal"), **CODE) is not None
    assert told([["x", "y"], ["y", "x"]], close(), **CODE) is None
    one = {"cells of u": list("vvvvvv")}
    for reference in ("input", "released"):  # together with another column they are equal or they are not
        least_t(classes, 1 / 6, close(reference=reference, on=["s", "u"]), extra=one, **CODE)


# Rows against the input


@pytest.mark.parametrize("distance", [None, "equal", "variational"])
def test_released_rows_are_a_mixture_of_their_classes(distance: str | None) -> None:
    model = close(reference="input", distance=distance)
    least_t(["abcd", "efgh"], 1 / 4, model, people=False)
    assert told(["ab", "ac", "ab"], model | {"t": 0.1}, people=False) == (
        "t-closeness = 0.1 on s against the input fails in 1 class whatever is not published, the smallest 2 rows."
    )
    tree = [[value, place, "*"] for value, place in zip("abcdefgh", "ABCDABCD", strict=True)]
    least_t(["abcd", "efgh"], 1 / 8, model | {"distance": "hierarchical"}, people=False, hierarchy=tree)
    assert told(["aa", "aa"], close(distance="hierarchical"), people=False, hierarchy=[["a", "*"]]) is None


def test_two_classes_may_be_further_apart_than_their_mixture_tells() -> None:
    least_t(["ab", "ac"], 1 / 4, close(reference="input"), people=False)
    least_t(["aaab", "abbb"], 1 / 4, close(reference="input"), people=False)


def test_where_rows_do_not_decide() -> None:
    """People are counted, a distance obeys no triangle, values are coded, or a class has no answer."""
    model = close(reference="input")
    apart = ["abcd", "efgh"]
    least_t(apart, 1 / 8, model, {"name": "k", "k": 4})
    least_t(apart, 1 / 32, model | {"distance": "kl"}, people=False)
    least_t(apart, 1 / 8, model | {"distance": "equal"}, **CODE)
    least_t(apart, 1 / 8, model | {"on": ["s", "u"]}, extra={"cells of u": list("vvvvvvvv")}, **CODE)
    least_t([*apart, [None]], 1 / 8, model, people=False)
    texts = [["1", "2"], ["1", "3"]]
    assert told(texts, model | {"t": BIT}, people=False, type="numeric") is None
    assert told(texts, model, people=False, type="numeric") is not None


def test_rows_decide_what_people_can_only_make_worse() -> None:
    found = told(["aab", "abc", "ab", "abcd"], {"name": "distinct-l", "l": 3})
    assert found == "distinct-l = 3 on s fails in 2 classes whatever is not published, the smallest 2 rows."
    assert told(["abc", "abcd"], {"name": "distinct-l", "l": 3}) is None
    numbers = [["1", "2", "9"], ["1", "3", "9"]]
    assert told(numbers, {"name": "k-e", "k": 3, "e": 8}, type="numeric") is None
    assert told(numbers, {"name": "k-e", "k": 3, "e": 8.1}, type="numeric") is not None
    assert told(numbers, {"name": "variance", "v": 11.5}, type="numeric") is None
    assert told(numbers, {"name": "variance", "v": 12}, type="numeric") is not None
    assert told(numbers, {"name": "eps-m", "eps": 1, "m": 1.5}, type="numeric") is None
    assert told(numbers, {"name": "eps-m", "eps": 1, "m": 2}, type="numeric") is not None


def test_the_size_of_a_class_of_codes_is_not_looked_at_here() -> None:
    model = {"name": "p-sensitive", "p": 2, "k": 9, "on": ["s", "u"]}
    assert told(["aabb"], model, extra={"cells of u": list("xxyy")}, **CODE) is None
    assert told(["aabb"], model, extra={"cells of u": list("xxyy")}, people=False) is not None


# Several classes at once


@pytest.mark.parametrize("least, failing", [(1.6, 0), (1.7, 1), (2.8, 1), (2.9, 2), (3.9, 2), (4.1, 3)])
def test_every_class_has_its_own_height(least: float, failing: int) -> None:
    found = told(["aaaab", "aaabbc", "abcd"], {"name": "entropy-l", "l": least}, {"name": "k", "k": 5})
    assert (found or "in 0 class").count(f"in {failing} class") == 1


# Ranges


@pytest.mark.parametrize("classes, size, least", [
    (["aaaab"], 5, 0.68), (["aaaab"], 3, 5 / 9), (["aaaab"], 1, 0.5), (["abcd", "ab"], 4, 0.5), (["aaaa"], 1, 1),
])  # fmt: skip
def test_the_mean_over_pairs(classes: list[str], size: int, least: float) -> None:
    model, asked = {"name": "range-diversity", "p": least}, {"name": "k", "k": size}
    assert told(classes, model, asked) is None
    assert told(classes, model | {"p": least - BIT}, asked) is not None


@pytest.mark.parametrize("values, inside", [
    ("13", True), ("12", True), ("46", True), ("34", False), ("01", False), ("67", False), ("123", True),
    ("156", False), ("7", True), ("78", False),
])  # fmt: skip
def test_a_range_that_holds_a_whole_class(values: str, inside: bool) -> None:
    model = {"name": "range-confidence", "p": 0.9}
    column = {"type": "numeric", "policy": POLICY}
    classes = [list("35"), list(values)]
    found = told(classes, model, **column)
    assert (found is not None) is inside
    assert told(classes, model | {"p": 1}, **column) is None
    if inside:
        assert "fails in 1 class " in str(found)


def test_ranges_of_codes_are_not_known() -> None:
    model = {"name": "range-confidence", "p": 0.5}
    column = CODE | {"coded": "graded", "type": "numeric", "policy": POLICY}
    assert told([["1", "2"]], model, **column) is None
    assert told([["1", "1", "2"]], model, **column) is not None


# The extremes of a class


@pytest.mark.parametrize("values, others, limit, told_so", [
    ("aa", "xy", 0.5, False), ("aa", "xy", 0.49, True), ("aa", "xx", 1, False), ("aa", "xx", 0.99, True),
    ("ab", "xy", 0, False), ("aa", [None, None], 0.99, True), ([None, None], "xy", 0, False),
    ([None, None], [None, None], 0, False), (["a", None], "xy", 0.49, True), (["a", None], "xy", 0.5, False),
])  # fmt: skip
def test_one_answer_has_no_spread(values: Any, others: Any, limit: float, told_so: bool) -> None:
    model = {"name": "max-range", "limit": limit}
    extra = {"cells of u": ["v", "w", *others]}
    assert (told([["b", "c"], values], model, extra=extra) is not None) is told_so


# Guards


@pytest.mark.parametrize("values, changes, told_so", [
    ("aa", {}, True), ("ab", {}, False), ("AA", {}, False), ("a*", {}, False), ("**", {}, False),
    (["a", None], {}, False), ("a", {"p": 0.99}, True), ("aa", {"p": 1}, False), ("aa", {"guard_level": None}, False),
    ("aa", {"guard_level": 2}, True),
])  # fmt: skip
def test_a_value_that_everybody_guards(values: Any, changes: dict[str, Any], told_so: bool) -> None:
    model = {"name": "personalised", "p": 0.5, "guard_level": 0} | changes
    model = {key: value for key, value in model.items() if value is not None}
    classes = [list("bc"), list(values)]
    found = told(classes, model, people=False, cells="label", hierarchy=TREE)
    assert (found is not None) is told_so
    assert told(classes, model, **CODE) is None


# Whole domains


@pytest.mark.parametrize("one, other, least", [
    (["*", "a", "b"], ["x", "y", "x"], 0.5),
    (["*", "a", "b"], ["*", "y", "x"], 1),
    (["*", "a", "a"], ["x", "y", "x"], 0),
    (["*", "a", "<missing>"], ["x", "y", "x"], 0),
    (["*", "a", "a"], ["*", "y", "x"], 0.5),
    (["c", "a", "b"], ["x", "y", "x"], 0),
])  # fmt: skip
def test_stars_cover_a_domain_of_several_values(one: list[str], other: list[str], least: float) -> None:
    columns = [{"name": name, "role": "quasi", "type": "categorical", "cells": "set"} for name in "qr"]
    cells = {"q": one, "r": other}
    described = manifest(columns, [{"name": "worst-group-utility", "u": least}])
    assert told_of(cells, described) is None
    if least:
        described = manifest(columns, [{"name": "worst-group-utility", "u": least - BIT}])
        promise = f"worst-group-utility = {least - BIT:g}"
        assert told_of(cells, described) == (
            f"{promise} fails in 1 class whatever is not published, the smallest 1 rows."
        )
