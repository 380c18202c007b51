"""Edges of single models and readers: one value, one row, one class too many, ends that are met exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.errors import VerificationError
from shoal.verify.gate import gate
from shoal.verify.recheck import recheck
from tests.verify.cases import check_of, failed, hospital_case, judged, manifest, published, sensitive_case
from tests.verify.test_extents import spread
from tests.verify.test_ranges import NUMERIC, pairs, share


def test_a_single_row_has_no_variance_and_is_near_itself() -> None:
    assert judged([[7]], {"name": "variance", "v": 0}, column=NUMERIC).value == 0
    assert judged([[7], [1, 9]], {"name": "eps-m", "eps": 1, "m": 1}, column=NUMERIC).value == 1
    assert judged([[7]], {"name": "k-e", "k": 1, "e": 0}, column=NUMERIC).value == 0


def test_the_second_class_is_counted_from_its_own_first_value() -> None:
    verdict = judged([list("abc"), ["a"] * 9 + ["b"]], {"name": "recursive-cl", "c": 2, "l": 2})
    assert (verdict.value, verdict.classes, verdict.smallest) == (9, 1, 10)


def test_values_that_no_alpha_names_have_the_default() -> None:
    model = {"name": "alpha-k-complete", "alpha": {"a": 0.5}, "k": 2}
    assert judged([["b", "b", "b", "a"]], model).value == 0.75
    assert judged([["b", "b", "b", "a"]], model | {"default": 0.5}).value == 1.5
    assert judged([["b", "a"]], {"name": "alpha-k-simple", "alpha": 1, "k": 2, "value": "c"}).value == 0


@pytest.mark.parametrize(
    "column, values, others, expected",
    [
        (NUMERIC, [10, 15], [20], 0.5),
        (NUMERIC | {"domain": ["10", "60"]}, [10, 20], [], 0.8),
        ({"type": "date", "domain": ["2020-01-01", "2020-01-11"]}, ["2020-01-01", "2020-01-06"], [], 0.5),
        ({"type": "ordinal", "order": ["a", "b", "c"]}, ["a", "b"], [], 0.5),
        ({}, ["a", "b"], ["c"], 0.5),
        ({"hierarchy": [["a", "x", "*"], ["b", "x", "*"], ["c", "y", "*"], ["<missing>", "none", "*"]]}, ["a", "b"], [],
         0.5),
        (NUMERIC, [None, None], [20], 1.0),
        (NUMERIC, [20, 20], [20], 1.0),
    ],
)  # fmt: skip
def test_the_range_of_a_class(column: dict[str, Any], values: list[Any], others: list[Any], expected: float) -> None:
    """One less the spread of the class over that of the domain."""
    model = {"name": "max-range", "limit": 1}
    verdict = judged([values], model, column=column, others=others)
    assert verdict.value == pytest.approx(expected)


def test_a_hierarchy_of_nothing_but_the_missing_leaf_has_no_spread() -> None:
    column = {"hierarchy": [["<missing>", "*"]]}
    verdict = judged([[None, None]], {"name": "max-range", "limit": 1}, column=column)
    assert (verdict.holds, verdict.value) == (True, 1.0)


def test_a_level_of_leaves_gives_every_value_itself() -> None:
    column = {"hierarchy": [["a", "*"], ["b", "*"]], "policy": {"level": 0}}
    assert judged([["a", "b", "b", "b"]], share(), column=column).value == 0.75


WHOLE = {"intervals": [["0", "100"]], "else": "error"}


@pytest.mark.parametrize(
    "column, values, near",
    [
        (NUMERIC | {"domain": ["10", "60"], "policy": WHOLE}, [10, 20], 0.8),
        ({"type": "date", "domain": ["2020-01-01", "2020-01-11"],
          "policy": {"intervals": [["2020-01-01", "2020-01-11"]], "else": "error"}}, ["2020-01-01", "2020-01-06"], 0.5),
        ({"type": "ordinal", "order": ["a", "b"], "policy": {"intervals": [["a", "b"]], "else": "error"}},
         ["a", "b"], 0),
        ({"hierarchy": [["a", "x", "*"], ["b", "x", "*"], ["c", "y", "*"], ["<missing>", "none", "*"]],
          "policy": {"level": 2}}, ["a", "b"], 0.5),
    ],
)  # fmt: skip
def test_the_closeness_of_two_values(column: dict[str, Any], values: list[Any], near: float) -> None:
    assert judged([values], pairs(), column=column).value == pytest.approx((2 + 2 * near) / 4)


def test_values_without_a_place_stand_behind_all_others() -> None:
    column = NUMERIC | {"policy": WHOLE}
    assert judged([[1, None, 5]], share(), column=column).value == 1.0
    report = gate(sensitive_case([["1", "2"]], pairs(), column=column, others=["x", "6"]))
    assert report.verdicts[0].value == pytest.approx((2 + 2 * 0.8) / 4)


def test_leaves_of_a_node_are_neighbours_whatever_their_names() -> None:
    rows = [["a", "x", "*"], ["b", "y", "*"], ["c", "x", "*"], ["d", "y", "*"]]
    column = {"hierarchy": rows, "policy": {"level": 1}}
    assert judged([["a", "b", "c", "d"]], share(), column=column).value == 0.5
    assert judged([["a", "b", "c", "d"]], pairs(), column=column).value == pytest.approx((4 + 4 * 2 / 3) / 16)


def test_ranges_of_one_value_need_no_domain_at_the_recheck() -> None:
    case = sensitive_case([[1, 1, 30]], pairs(), column=NUMERIC)
    assert failed(recheck(case.released, published(case))) == []


def test_policies_of_intervals_need_an_order() -> None:
    for policy in ({"each": [["a", "a", "b"]], "else": "value"}, {"intervals": [["a", "b"]], "else": "value"}):
        with pytest.raises(VerificationError, match="column 's' has a policy of intervals, but no order"):
            gate(sensitive_case([["a", "b"]], pairs(), column={"policy": policy}))


def test_a_label_that_is_nobodys_node_covers_nothing() -> None:
    rows = [["a", "x", "*"], ["b", "y", "*"], ["c", "z", "*"]]
    entry = {"name": "q", "role": "quasi", "type": "categorical", "cells": "label", "hierarchy": rows}
    frame = pl.DataFrame({"q": ["z", "b"]})
    case = hospital_case(
        original=pl.DataFrame({"q": ["c", "a"]}), released=frame, source=np.arange(2), n_read=2,
        identifiers=pl.DataFrame(), manifest=manifest([entry], []),
    )  # fmt: skip
    report = gate(case)
    assert failed(report) == ["coverage"]
    assert check_of(report, "coverage").detail == "1 cells of 'q' do not cover the value of their source row."


def test_decimals_and_missing_bounds() -> None:
    column = {"type": "numeric", "cells": "bounds", "columns": ["from", "to"]}
    found = spread([[10.5, 15.0, None], [20.5, 15.0, None]], column, [10.5, 20.5, 60.5], files=["from", "to"])
    assert found == pytest.approx([0.2, 0, 1])
    half = spread([[10.5, None], [None, 20.5]], column, [10.5, 20.5], files=["from", "to"])
    assert half == pytest.approx([0, 0])


@pytest.mark.parametrize(
    "reference, side, counted", [("released", "", " (people are counted)"), ("input", " against the input", "")]
)
def test_whose_counts_an_attested_distance_rests_on(reference: str, side: str, counted: str) -> None:
    model = {"name": "t-closeness", "t": 1, "reference": reference}
    people = sensitive_case([["a", "b"]], model, subjects=["p", "q"])
    again = recheck(people.released, published(people))
    assert check_of(again, f"t-closeness on s{side}").detail == (
        f"t-closeness = 1 on s{side} rests on the publisher's evidence{counted}: it cannot be derived from the release."
    )
