"""beta-likeness and delta-disclosure: examples by hand, a plain reference, and what they do in a run."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import InfeasibleError, ParameterError, RefusalError
from shoal.models.feasibility import vacuous
from shoal.registry import make
from tests.models.judging import judge_of, judged, of_classes
from tests.verify.refuting import told

BASIC = {"name": "beta-likeness", "beta": 1.0}
ENHANCED = {**BASIC, "variant": "enhanced"}
DISCLOSURE = {"name": "delta-disclosure", "delta": 1.0}
# a 2 of 8, b 6 of 8: in the first class a has twice its share, b two thirds of its own.
HALVES = [["a", "a", "b", "b"], ["b", "b", "b", "b"]]


def test_a_gain_of_beta_is_allowed_and_more_is_not() -> None:
    """a has 1/4 of the table and 1/2 of the first class: a gain of exactly 1."""
    found = judged(HALVES, BASIC)
    assert found.values == pytest.approx([1.0, 1 / (0.75 * 2)])
    assert (found.limit, found.ok.tolist()) == (1.0, [True, True])
    assert judged(HALVES, {**BASIC, "beta": 0.99}).ok.tolist() == [False, True]


def test_the_enhanced_bound_is_that_of_the_value() -> None:
    """b has 3/4 of the table, so it may gain -ln 0.75 = 0.288 at most; in the second class it gains 1/3."""
    found = judged(HALVES, ENHANCED)
    assert found.values == pytest.approx([1.0, 1 / (0.75 * (1 - math.log(0.75)))])
    assert found.ok.tolist() == [True, False]


def test_the_logarithm_is_binary_and_the_comparison_strict() -> None:
    """a doubles in the first class, log2 of which is 1; the second class lacks it."""
    found = judged(HALVES, {**DISCLOSURE, "delta": 1.0001})
    assert found.values.tolist() == [1.0, math.inf]
    assert found.ok.tolist() == [True, False]
    assert judged(HALVES, DISCLOSURE).ok.tolist() == [False, False]
    assert judged([["a", "b", "b", "b"], ["a", "b", "b", "b"]], {**DISCLOSURE, "delta": 0.001}).ok.all()


def test_a_value_that_becomes_rarer_counts_for_delta_alone() -> None:
    """b halves in the first class."""
    classes = [["a", "a", "a", "b"], ["a", "b", "b", "b"]]
    assert judged(classes, {**DISCLOSURE, "delta": 1.0}).values == pytest.approx([1.0, 1.0])
    assert judged(classes, {**BASIC, "beta": 0.5}).ok.all()


def test_unknown_values_are_left_out_of_both_shares() -> None:
    classes = [["a", "b", None, None], ["a", "b"], [None]]
    for model in (BASIC, DISCLOSURE):
        found = judged(classes, model)
        assert found.ok.all()
        assert math.isnan(found.values[2])
        assert found.values[0] == found.values[1]


def test_people_count_once_for_each_of_their_values() -> None:
    """Four people; p and q both have both values: a belongs to 3 of 4 people, b to 3 of 4."""
    subjects = [["p", "p", "q"], ["q", "r", "s"]]
    found = judged([["a", "b", "a"], ["b", "a", "b"]], BASIC, subjects=subjects)
    # First class: p and q have a, p has b; shares 1 and 1/2 against 3/4.
    assert found.values == pytest.approx([1 / 1.5, (2 / 3) / 1.5])


def naive(model: dict[str, Any], group: list[str], table: list[str]) -> float:
    """The figure of a class, from the definition."""
    shares = {value: count / len(table) for value, count in Counter(table).items()}
    own = {value: group.count(value) / len(group) for value in shares}
    if model["name"] == "delta-disclosure":
        return max(math.inf if own[v] == 0 else abs(math.log2(own[v] / shares[v])) for v in shares)
    bound = {v: min(model["beta"], -math.log(p)) if "variant" in model else model["beta"] for v, p in shares.items()}
    return max(own[v] / (shares[v] * (1 + bound[v])) for v in shares)


@settings(max_examples=20)
@given(st.lists(st.lists(st.sampled_from("abcd"), min_size=1, max_size=6), min_size=1, max_size=4))
def test_figures_are_those_of_the_definition(classes: list[list[str]]) -> None:
    table = [value for group in classes for value in group]
    for model in (BASIC, ENHANCED, {**DISCLOSURE, "delta": 1.3}):
        assert judged(classes, model).values == pytest.approx([naive(model, group, table) for group in classes])


@pytest.mark.parametrize(
    "given",
    [{"beta": 0}, {"beta": -1}, {"beta": 1, "variant": "other"}, {"beta": 1, "reference": "x"}, {"delta": 0}],
)
def test_impossible_parameters(given: dict[str, Any]) -> None:
    name = "delta-disclosure" if "delta" in given else "beta-likeness"
    with pytest.raises(ParameterError):
        make("model", {"name": name, **given})


def test_a_bound_that_no_class_can_exceed_is_vacuous() -> None:
    table, _ = of_classes(HALVES)
    assert vacuous(judge_of(table, make("model", {**BASIC, "beta": 3})), 0.0)  # 1/4 times 4
    assert not vacuous(judge_of(table, make("model", {**BASIC, "beta": 2.99})), 0.0)
    assert not vacuous(judge_of(table, make("model", {**ENHANCED, "beta": 99})), 0.0)
    assert not vacuous(judge_of(table, make("model", {**DISCLOSURE, "delta": 99})), 0.0)


def census(rows: int = 120) -> Any:
    values = pl.Series("s", ["a", "b", "b", "c"] * (rows // 4))
    frame = shoal.example_census(rows).select("age", "sex").with_columns(values)
    return shoal.read(frame, quasi=["age", "sex"], sensitive=["s"])


@pytest.mark.parametrize("reference", ["input", "released"])
@pytest.mark.parametrize("model", [{**BASIC, "beta": 0.8}, {**ENHANCED, "beta": 1.2}, {**DISCLOSURE, "delta": 1.2}])
@pytest.mark.parametrize("algorithm", [shoal.Mondrian(k=4, suppression_limit=0.9), shoal.TopDown(k=4)])
def test_releases_pass_the_gate(model: dict[str, Any], reference: str, algorithm: Any) -> None:
    wanted = make("model", {**model, "reference": reference})
    release = shoal.anonymize(census(), algorithm=algorithm, models=[wanted], seed=3)
    assert release.released.n_classes > 1
    (verdict,) = [one for one in release.verdict if one.model["name"] == model["name"]]
    assert (verdict.holds, verdict.by) == (True, "attested" if reference == "input" else "rechecked")
    assert release.manifest["statement"].startswith(wanted.promise())


@pytest.mark.parametrize("model", [{**BASIC, "beta": 0.8}, {**DISCLOSURE, "delta": 1.2}])
def test_a_lattice_is_searched_by_what_a_release_is_judged_by(model: dict[str, Any]) -> None:
    table = census()
    trees = {column.name: [[text, "*"] for text in column.texts.to_list()] for column in table.quasi}
    table = shoal.read(table.frame, quasi=["age", "sex"], sensitive=["s"], hierarchies=trees)
    release = shoal.anonymize(table, algorithm=shoal.Optimal(k=4), models=[make("model", model)], seed=3)
    assert release.evidence["counts"]["suppressed"] == 0
    assert all(verdict.holds for verdict in release.verdict)


def test_a_vacuous_model_does_not_protect_a_column() -> None:
    with pytest.raises(RefusalError, match="only models that cannot fail on this table"):
        shoal.anonymize(census(), algorithm=shoal.Mondrian(k=4), models=[shoal.BetaLikeness(beta=9)], seed=3)


def test_values_that_no_grouping_can_spread_are_suppressed_or_refused() -> None:
    frame = pl.DataFrame({"q": ["x"] * 4 + ["y"] * 4, "s": ["a"] * 4 + ["b"] * 4})
    table = shoal.read(frame, quasi=["q"], sensitive=["s"])
    with pytest.raises(InfeasibleError):
        shoal.anonymize(table, algorithm="none", models=[shoal.KAnonymity(k=2), shoal.DeltaDisclosure(delta=1)])


# What a file says against an attested verdict


def claim(model: dict[str, Any]) -> dict[str, Any]:
    return {"variant": "basic", **model} if model["name"] == "beta-likeness" else model


def test_classes_that_need_more_shares_than_there_are_refute_beta() -> None:
    """Two classes of one value each: shares of 1/(1 + beta) and 1/(1 + beta), which is 1 for beta = 1."""
    apart = [["a", "a"], ["b", "b"]]
    assert told(apart, claim(BASIC), people=False) is None
    assert told(apart, claim({**BASIC, "beta": 0.999}), people=False) is not None
    assert told(apart, claim({**BASIC, "beta": 0.999})) is None  # people may have several values


def test_classes_that_differ_too_much_refute_delta() -> None:
    apart = [["a", "b", "b", "b"], ["a", "a", "a", "b"]]  # a factor of 3 each way: log2 is 1.58, half of it 0.79
    assert told(apart, {**DISCLOSURE, "delta": 0.8}, people=False) is None
    assert told(apart, {**DISCLOSURE, "delta": 0.79}, people=False) is not None
    assert told(apart, {**DISCLOSURE, "delta": 0.79}) is None
    for people in (False, True):
        assert told([["a", "b"], ["a", "a"]], {**DISCLOSURE, "delta": 9}, people=people) is not None
        assert told([["a", "b"], [None, None]], {**DISCLOSURE, "delta": 9}, people=people) is None


def test_shares_of_nobody() -> None:
    found = judged([[None, None], [None]], DISCLOSURE)
    assert np.isnan(found.values).all()
    assert found.ok.all()
