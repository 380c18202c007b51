"""Size, diversity and share models on classes small enough to work out by hand."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.verify.gate import gate
from tests.verify.cases import check_of, judged, sensitive_case

REFUSED = {"non_answers": ["refused"]}


def model(name: str, **parameters: Any) -> dict[str, Any]:
    return {"name": name} | parameters


# k


@pytest.mark.parametrize("k, holds", [(1, True), (2, True), (3, False)])
def test_k_is_the_smallest_class(k: int, holds: bool) -> None:
    verdict = judged([["a", "b", "c"], ["a", "a"]], model("k", k=k))
    assert (verdict.holds, verdict.value, verdict.limit, verdict.by) == (holds, 2, k, "rechecked")
    assert (verdict.classes, verdict.smallest) == ((0, 0) if holds else (1, 2))


# distinct l and p-sensitive


@pytest.mark.parametrize("l, holds", [(2, True), (3, False)])
def test_distinct(l: int, holds: bool) -> None:  # noqa: E741
    verdict = judged([["a", "b", "c"], ["a", "a", "b", "b"]], model("distinct-l", l=l))
    assert (verdict.holds, verdict.value, verdict.limit) == (holds, 2, l)


@pytest.mark.parametrize("unknown", ["*", None, "refused", "<missing>"])
def test_unknown_values_add_no_diversity(unknown: Any) -> None:
    verdict = judged([["a", unknown, "a"]], model("distinct-l", l=2), column=REFUSED)
    assert (verdict.holds, verdict.value) == (False, 1)


def test_a_class_without_known_values_passes_but_is_not_the_value() -> None:
    verdict = judged([["*", None], ["a", "b", "c"]], model("distinct-l", l=3))
    assert (verdict.holds, verdict.value) == (True, 3)
    nothing_known = judged([["*", None], ["*", "*"]], model("distinct-l", l=3))
    assert (nothing_known.holds, nothing_known.value) == (True, 3)


@pytest.mark.parametrize("p, k, holds", [(2, 3, True), (3, 3, False), (2, 4, False)])
def test_p_sensitive_asks_for_size_too(p: int, k: int, holds: bool) -> None:
    verdict = judged([["a", "b", "b"]], model("p-sensitive", p=p, k=k))
    assert (verdict.holds, verdict.value, verdict.limit) == (holds, 2, p)


def test_a_class_without_known_values_still_needs_its_size() -> None:
    assert not judged([[None, None]], model("p-sensitive", p=2, k=3)).holds
    assert not judged([[None, None]], model("alpha-k-general", alpha=0.5, k=3)).holds


# entropy l


def test_entropy_at_equality_passes() -> None:
    verdict = judged([["a", "b", "c"], list("aabbcc")], model("entropy-l", l=3))
    assert verdict.holds
    assert verdict.value == pytest.approx(3, abs=1e-9)
    assert not judged([list("aabc")], model("entropy-l", l=3)).holds


def test_entropy_of_a_skewed_class() -> None:
    verdict = judged([["a"] * 3 + ["b"]], model("entropy-l", l=1.7))
    assert verdict.value == pytest.approx(math.exp(0.75 * math.log(4 / 3) + 0.25 * math.log(4)))
    assert verdict.holds
    assert not judged([["a"] * 3 + ["b"]], model("entropy-l", l=1.8)).holds


def test_entropy_must_hold_with_unknown_values_removed() -> None:
    assert not judged([["a", "a", None, None]], model("entropy-l", l=2)).holds
    assert not judged([["a", "a", "*", "refused"]], model("entropy-l", l=1.5), column=REFUSED).holds


def test_entropy_must_hold_with_unknown_values_present() -> None:
    # Two known values, evenly: exp(H) = 2 without the six unknown ones, but less with them.
    verdict = judged([["a", "b"] + [None] * 6], model("entropy-l", l=2.5))
    present = math.exp(-(2 * math.log(1 / 8) / 8 + 6 * math.log(6 / 8) / 8))
    assert verdict.value == pytest.approx(min(2, present))
    one_sided = judged([["a", "b"] + [None] * 30], model("entropy-l", l=2))
    assert not one_sided.holds


# recursive (c, l)


def test_recursive_at_equality_fails() -> None:
    # r = (2, 1, 1): 2 < c * 2
    assert judged([list("aabc")], model("recursive-cl", c=2, l=2)).holds
    verdict = judged([list("aabc")], model("recursive-cl", c=1, l=2))
    assert (verdict.holds, verdict.value, verdict.limit) == (False, 1, 1)


def test_recursive_at_equality_fails_whatever_the_rounding() -> None:
    # 11 < 1.1 * 10 is true in floating point.
    assert not judged([["a"] * 11 + ["b"] * 10], model("recursive-cl", c=1.1, l=2)).holds
    assert not judged([["a"] * 3 + ["b"] * 10], model("recursive-cl", c=0.3, l=2)).holds


def test_recursive_without_a_tail_fails() -> None:
    verdict = judged([list("aaaa")], model("recursive-cl", c=2, l=2))
    assert (verdict.holds, verdict.value) == (False, math.inf)


def test_recursive_tail_begins_at_the_lth_value() -> None:
    # r = (3, 2, 1): tails 6, 3, 1.
    for level, tail in ((1, 6), (2, 3), (3, 1)):
        verdict = judged([list("aaabbc")], model("recursive-cl", c=10, l=level))
        assert verdict.value == pytest.approx(3 / tail)


def test_recursive_with_unknown_values_both_ways() -> None:
    assert judged([["a", "b", None, None, None]], model("recursive-cl", c=3, l=2)).value == pytest.approx(
        3 / 2
    )
    assert judged([["a", "a", "b", None]], model("recursive-cl", c=3, l=2)).value == pytest.approx(2)


# alpha


TABLE_4 = [["HIV", "flu", "fever"], ["Cancer", "flu", "fever"]]


def test_general_alpha_is_the_largest_share() -> None:
    verdict = judged(TABLE_4, model("alpha-k-general", alpha=1 / 3, k=3))
    assert verdict.holds
    assert verdict.value == pytest.approx(1 / 3)
    assert not judged(TABLE_4, model("alpha-k-general", alpha=0.33, k=3)).holds
    assert not judged(TABLE_4, model("alpha-k-general", alpha=1 / 3, k=4)).holds


def test_simple_alpha_looks_at_one_value() -> None:
    assert not judged(TABLE_4, model("alpha-k-simple", alpha=0.3, k=3, value="HIV")).holds
    assert judged([["flu", "flu", "HIV"]], model("alpha-k-simple", alpha=0.4, k=3, value="HIV")).holds
    verdict = judged(
        [[3, 3, 7]], model("alpha-k-simple", alpha=0.4, k=3, value=3.0), column={"type": "numeric"}
    )
    assert (verdict.holds, verdict.value) == (False, pytest.approx(2 / 3))


def test_complete_alpha_is_relative_to_each_values_own() -> None:
    alphas = {"HIV": 0.4, "Cancer": 0.4, "flu": 0.9, "fever": 0.9}
    verdict = judged(TABLE_4, model("alpha-k-complete", alpha=alphas, k=3))
    assert (verdict.holds, verdict.limit) == (True, 1)
    assert verdict.value == pytest.approx((1 / 3) / 0.4)
    assert not judged(TABLE_4, model("alpha-k-complete", alpha={"HIV": 0.3}, k=3)).holds
    assert not judged(TABLE_4, model("alpha-k-complete", alpha={"HIV": 0.5}, default=0.3, k=3)).holds
    assert not judged(TABLE_4, model("alpha-k-complete", alpha={"flu": 0.0}, k=3)).holds


def test_shares_are_among_the_known() -> None:
    verdict = judged([["a", "b", None, None]], model("alpha-k-general", alpha=0.4, k=2))
    assert (verdict.holds, verdict.value) == (False, 0.5)


# several attributes


def test_without_on_every_attribute_is_judged_by_itself() -> None:
    rows = [("a", "x"), ("b", "x")]
    report = gate(sensitive_case([rows], model("distinct-l", l=2)))
    assert [(verdict.on, verdict.holds) for verdict in report.verdicts] == [("s0", True), ("s1", False)]


def test_a_tuple_is_one_attribute_and_unknown_if_any_part_is() -> None:
    rows = [("a", "x"), ("b", "x"), ("a", "y"), ("a", None), (None, "z")]
    verdict = judged([rows], model("distinct-l", l=3, on=["s0", "s1"]))
    assert (verdict.holds, verdict.value, verdict.on) == (True, 3, ["s0", "s1"])


# people


def test_one_person_with_many_rows_is_one_person() -> None:
    classes = [["a", "b"] * 50, list("abab")]
    subjects = ["one"] * 100 + ["p", "q", "r", "s"]
    verdict = judged(classes, model("k", k=2), subjects=subjects)
    assert (verdict.holds, verdict.value, verdict.by) == (False, 1, "attested")
    assert (verdict.classes, verdict.smallest) == (1, 100)
    report = gate(sensitive_case(classes, model("k", k=2), subjects=subjects))
    assert check_of(report, "k").detail == "k = 2 fails: 1 class has fewer, the smallest 1 person."
    for other in (
        model("p-sensitive", p=2, k=2),
        model("alpha-k-general", alpha=1, k=2),
        model("alpha-k-simple", alpha=1, k=2, value="a"),
        model("alpha-k-complete", alpha={}, k=2),
    ):
        assert not judged(classes, other, subjects=subjects).holds


def test_people_without_a_number_count_as_one() -> None:
    assert judged([["a", "b", "c"]], model("k", k=2), subjects=[None, None, "p"]).value == 2


def test_shares_of_people() -> None:
    # p has a twice and b once, q has b, r has a and b, s has c: a is known of 2 people in 4, b of 3.
    classes, subjects = [["a", "a", "b", "b", "a", "b", "c"]], ["p", "p", "p", "q", "r", "r", "s"]
    assert judged(classes, model("alpha-k-general", alpha=0.9, k=2), subjects=subjects).value == 0.75
    assert judged(classes, model("alpha-k-simple", alpha=0.5, k=2, value="a"), subjects=subjects).value == 0.5
    # h = (2, 3, 1): entropy and recursive use h over its sum.
    entropy = judged(classes, model("entropy-l", l=1.5), subjects=subjects)
    assert entropy.value == pytest.approx(math.exp(math.log(3) / 3 + math.log(2) / 2 + math.log(6) / 6))
    assert judged(classes, model("recursive-cl", c=3, l=2), subjects=subjects).value == 1


def test_the_share_of_people_is_among_those_with_an_answer() -> None:
    classes, subjects = [["a", "b", None, None]], ["p", "q", "r", "p"]
    assert judged(classes, model("alpha-k-general", alpha=0.5, k=3), subjects=subjects).value == 0.5


# What everybody has: five people with HIV, one of them with flu as well.
EVERYBODYS = [["HIV"] * 5 + ["flu"]]
DIVERSITIES = [
    model("distinct-l", l=2), model("p-sensitive", p=2, k=5), model("entropy-l", l=1.2),
    model("recursive-cl", c=6, l=2), model("range-diversity", p=0.99), model("max-range", limit=0.99),
]  # fmt: skip


@pytest.mark.parametrize("one", DIVERSITIES, ids=lambda one: one["name"])
def test_a_value_that_is_everybodys_leaves_no_diversity(one: dict[str, Any]) -> None:
    shared = judged(EVERYBODYS, one, subjects=[*"pqrst", "p"])
    assert (shared.holds, shared.by, shared.classes) == (False, "attested", 1)
    # Somebody who has flu alone, or rows instead of people: nobody's value is known.
    assert judged(EVERYBODYS, one, subjects=[*"pqrst", "u"]).holds
    assert judged(EVERYBODYS, one).holds


@pytest.mark.parametrize("one", [model("k-e", k=2, e=1), model("variance", v=0.1), model("eps-m", eps=1, m=2)])
def test_a_number_that_is_everybodys_leaves_no_spread(one: dict[str, Any]) -> None:
    numbers = {"type": "numeric", "domain": ["0", "99"]}
    classes = [[50, 50, 50, 1, 20, 30, 40, 60, 70, 80]]
    assert not judged(classes, one, subjects=[*"pqr", *"ppppqqq"], column=numbers).holds
    assert judged(classes, one, subjects=[*"pqr", *"ppppqqs"], column=numbers).holds
    assert judged(classes, one, column=numbers).holds


@pytest.mark.parametrize("one", [model("distinct-l", l=1), model("entropy-l", l=1), model("recursive-cl", c=2, l=1)])
def test_what_asks_for_one_value_stays_vacuous(one: dict[str, Any]) -> None:
    assert judged(EVERYBODYS, one, subjects=[*"pqrst", "p"]).holds


def test_non_answers_are_nobodys_value() -> None:
    """Among those who answer everybody has a: the ones who do not hide nothing."""
    found = judged([["a", "a", "b", None]], model("distinct-l", l=2), subjects=["p", "q", "q", "r"])
    assert (found.holds, found.value) == (False, 1)
    assert judged([[None, None, "b", "a"]], model("distinct-l", l=2), subjects=["p", "q", "p", "q"]).holds


# against plain loops

CLASS = st.lists(st.sampled_from(["a", "b", "c", "d", None]), min_size=1, max_size=9)


def plain_entropy(values: list[str | None]) -> float:
    shares = [values.count(value) / len(values) for value in set(values)]
    return math.exp(-sum(share * math.log(share) for share in shares))


def plain_ratio(values: list[str | None], l: int) -> float:  # noqa: E741
    counts = sorted((values.count(value) for value in set(values)), reverse=True)
    tail = sum(counts[l - 1 :])
    return counts[0] / tail if tail else math.inf


@given(classes=st.lists(CLASS, min_size=1, max_size=4))
def test_diversity_equals_plain_loops(classes: list[list[str | None]]) -> None:
    known = [[value for value in group if value is not None] for group in classes]
    judged_classes = [(group, answers) for group, answers in zip(classes, known, strict=True) if answers]
    for name, parameters, plain, worst in (
        ("entropy-l", {"l": 1.5}, plain_entropy, min),
        ("recursive-cl", {"c": 2, "l": 2}, lambda values: plain_ratio(values, 2), max),
    ):
        verdict = judged(classes, model(name, **parameters))
        if judged_classes:
            expected = worst(worst(plain(group), plain(answers)) for group, answers in judged_classes)
            assert verdict.value == pytest.approx(expected)
    distinct = [len(set(answers)) for answers in known if answers]
    verdict = judged(classes, model("distinct-l", l=2))
    assert verdict.value == (min(distinct) if distinct else 2)
    assert verdict.classes == sum(count < 2 for count in distinct)


@given(
    rows=st.lists(
        st.tuples(st.integers(0, 2), st.sampled_from(["a", "b", "c"]), st.integers(0, 4)),
        min_size=1,
        max_size=30,
    )
)
def test_people_equal_plain_loops(rows: list[tuple[int, str, int]]) -> None:
    rows = sorted(rows)
    groups = [[row for row in rows if row[0] == group] for group in sorted({row[0] for row in rows})]
    classes = [[value for _, value, _ in group] for group in groups]
    subjects = [who for group in groups for _, _, who in group]
    people = [len({who for _, _, who in group}) for group in groups]
    assert judged(classes, model("k", k=2), subjects=subjects).value == min(people)
    shares = [
        Fraction(len({who for _, value, who in group if value == wanted}), count)
        for group, count in zip(groups, people, strict=True)
        for wanted in "abc"
    ]
    verdict = judged(classes, model("alpha-k-general", alpha=0.5, k=1), subjects=subjects)
    assert verdict.value == pytest.approx(float(max(shares)))
    assert np.isfinite(verdict.value)
