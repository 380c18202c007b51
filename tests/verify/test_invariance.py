"""m-invariance at the gate and at the re-check, with counterfeits and earlier releases."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.verify.gate import gate
from shoal.verify.recheck import recheck
from tests.verify.cases import check_of, failed, published, sensitive_case


def same(m: int = 2) -> dict[str, Any]:
    return {"name": "m-invariance", "m": m}


def verdicts(classes: list[list[Any]], history: list[Any] | None = None, m: int = 2, **options: Any) -> Any:
    lists = None if history is None else pl.Series(history, dtype=pl.List(pl.String))
    return gate(sensitive_case(classes, same(m), history=lists, **options)).verdicts


@pytest.mark.parametrize(
    "classes, m, value, holds",
    [
        ([["a", "b"], ["a", "b", "c"]], 2, 2, True),
        ([["a", "b"], ["a", "b", "c"]], 3, 2, False),
        ([["a", "a", "b", "b"]], 2, 2, True),
        ([["a", "a", "b"]], 1, 0, False),
        ([["a", "b"], [None, None]], 2, 2, True),
    ],
)
def test_values_are_equally_frequent(classes: list[list[Any]], m: int, value: float, holds: bool) -> None:
    released, before = verdicts(classes, m=m)
    assert (released.value, released.holds, released.by) == (value, holds, "rechecked")
    assert (before.value, before.holds, before.by) == (value, holds, "attested")


@pytest.mark.parametrize(
    "history, holds",
    [
        ([["a", "b"], None, None], True),
        ([["b", "a"], ["a", "b"], None], True),
        ([["a", "b", "b"], None, None], True),
        ([["a", "c"], None, None], False),
        ([["a"], None, None], False),
        ([["a", "b", "c"], None, None], False),
        ([None, None, ["a", "b"]], False),
        ([[], None, None], False),
        ([None, None, None], True),
        (None, True),
    ],
)
def test_the_values_are_those_of_earlier_releases(history: Any, holds: bool) -> None:
    released, before = verdicts([["a", "b"], ["c"]], history, m=1)
    assert released.holds
    assert before.holds is holds
    assert before.classes == (0 if holds else 1)


def test_numbers_before_and_now_are_compared_as_numbers() -> None:
    _, before = verdicts([[1.0, 2.0]], [["1", "2.0"], None], column={"type": "numeric"})
    assert before.holds
    _, unknown = verdicts([["a", "b", None]], [["a", "b"], None, None])
    assert unknown.holds


def test_a_class_without_answers_has_nothing_that_could_differ() -> None:
    _, before = verdicts([["a", "b"], [None, None]], [None, None, ["a", "b"], None])
    assert (before.holds, before.classes) == (True, 0)
    _, both = verdicts([["a", "c"], [None, None]], [["a", "b"], None, ["a", "b"], None])
    assert (both.holds, both.classes) == (False, 1)


def test_two_rows_of_one_person_are_not_two_people() -> None:
    released, _ = verdicts([["a", "b"], ["a", "b"]], subjects=["p", "p", "q", "r"])
    assert (released.value, released.classes) == (0, 1)


# Counterfeits


def with_counterfeits(models: list[dict[str, Any]], **changes: Any) -> Any:
    """Two classes of two values; the last of five rows is made up."""
    case = sensitive_case([["a", "b"], ["a", "b", "c"]], same())
    described = dict(case.manifest) | {"models": models, "counterfeits": 1}
    fields = {"n_read": 4, "counterfeits": 1, "manifest": described} | changes
    return type(case)(**(vars(case) | fields))


def test_counterfeits_are_nobody_where_people_are_counted() -> None:
    case = with_counterfeits([same(), {"name": "k", "k": 3}])
    report = gate(case)
    assert [verdict.by for verdict in report.verdicts] == ["rechecked", "attested", "attested"]
    assert [verdict.value for verdict in report.verdicts] == [2, 2, 2]
    assert failed(report) == ["k"]
    wide = with_counterfeits([same(), {"name": "k", "k": 2}])
    described = published(wide)
    again = recheck(wide.released, described)
    assert failed(again) == []
    assert "rests on the publisher's evidence" in check_of(again, "k").detail


@pytest.mark.parametrize("subjects", [None, ["p", "q", "r", "s", "t"]])
def test_the_last_rows_are_the_ones_made_up(subjects: list[str] | None) -> None:
    """Rows 3 and 4 are made up: of the second class one row is real."""
    models = [same(), {"name": "k", "k": 1}]
    who = None if subjects is None else pl.Series("who", subjects)
    case = with_counterfeits(models, n_read=3, counterfeits=2, subject=who)
    described = dict(case.manifest) | {"counterfeits": 2, "people": subjects is not None}
    report = gate(type(case)(**(vars(case) | {"manifest": described})))
    assert failed(report) == []
    assert report.verdicts[-1].value == 1


def test_what_is_claimed_of_earlier_releases_is_attested() -> None:
    case = sensitive_case([["a", "b"]], same(), source=np.array([0, 1]))
    described = deepcopy(published(case))
    report = recheck(case.released, described)
    detail = check_of(report, "m-invariance on s against earlier releases").detail
    assert detail == (
        "m-invariance = 2 on s against earlier releases rests on the publisher's evidence: "
        "it cannot be derived from the release."
    )
    described["verdicts"][1]["holds"] = False
    assert failed(recheck(case.released, described)) == ["m-invariance on s against earlier releases"]
