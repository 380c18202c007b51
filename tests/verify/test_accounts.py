"""Every row read is released, suppressed or dropped, exactly once: what the gate says where the sums do not add up."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.verify.gate import gate
from tests.verify.cases import check_of, failed, hospital, hospital_case, manifest, sensitive_case
from tests.verify.test_gate import suppressing

TWICE = "input rows are accounted for more than once."
NEVER = "input rows are neither released nor suppressed."
OUTSIDE = "A released or suppressed row points outside the input."
PLUS = "The rows read are not the rows dropped plus the rows given to the gate."
LENGTHS = "The release, its list of source rows and the manifest disagree on the number of rows."


def rows_detail(**changes: Any) -> str:
    report = gate(hospital_case(**changes))
    assert failed(report) == ["rows"]
    assert not report.verdicts
    assert report.classes == {"count": 0, "smallest": 0, "digest": {}}
    return check_of(report, "rows").detail


@pytest.mark.parametrize(
    "changes, detail",
    [
        ({"suppressed": np.array([0, 7])}, f"2 {TWICE}"),
        ({"source": np.r_[np.arange(23), 0]}, f"1 {TWICE}"),
        ({"source": np.r_[np.arange(22), 0, 0]}, f"1 {TWICE}"),
        ({"suppressed": np.array([24])}, OUTSIDE),
        ({"suppressed": np.array([-1])}, OUTSIDE),
        ({"suppressed": np.array([0.0])}, OUTSIDE),
        ({"source": np.r_[np.arange(23), 24]}, OUTSIDE),
        ({"source": np.r_[np.arange(1, 24), -1]}, OUTSIDE),
        ({"source": np.arange(23)}, LENGTHS),
        ({"manifest": manifest(data={"rows": 25})}, LENGTHS),
        ({"n_read": 25}, PLUS),
        ({"n_read": 23, "n_dropped": -1}, PLUS),
        ({"n_read": 25, "counterfeits": -1}, PLUS),
        ({"history": pl.Series([None] * 23, dtype=pl.List(pl.String))}, "What earlier releases had was not given "
         "for exactly the input rows."),
        ({"identifiers": pl.DataFrame({"name": ["x"] * 25})}, "Identifiers or subjects were not given for exactly "
         "the input rows."),
    ],
)  # fmt: skip
def test_sums_that_do_not_add_up(changes: dict[str, Any], detail: str) -> None:
    assert rows_detail(**changes) == detail


def test_source_rows_of_either_sign_of_type_do() -> None:
    case = hospital_case()
    assert gate(hospital_case(source=case.source.astype(np.uint32))).passed
    assert gate(hospital_case(manifest=manifest(data={"rows": 24}))).passed


@pytest.mark.parametrize(
    "suppressed, detail",
    [
        (np.arange(5), f"1 {NEVER}"),
        (np.arange(3), f"3 {NEVER}"),
        (np.r_[np.arange(6), 0], f"1 {TWICE}"),
        (np.arange(8), f"2 {TWICE}"),
    ],
)
def test_suppressed_rows_are_away_and_counted_once(suppressed: np.ndarray, detail: str) -> None:
    report = gate(suppressing(list(range(6)), suppressed=suppressed))
    assert check_of(report, "rows").detail == detail


def test_starred_rows_are_released_and_suppressed_at_once() -> None:
    assert gate(suppressing(list(range(6)), "star")).passed
    twice = gate(suppressing(list(range(6)), "star", suppressed=np.r_[np.arange(6), 0]))
    assert check_of(twice, "rows").detail == f"1 {TWICE}"
    bare = gate(suppressing(list(range(6)), "star", suppressed=np.arange(7)))
    assert check_of(bare, "rows").detail == "A suppressed row is released with something other than * in a column."
    away = suppressing(list(range(6)), manifest=manifest(suppressed="star"))
    assert check_of(gate(away), "rows").detail == f"6 {NEVER}"


def made_up(claimed: int, suppressed: list[int], **changes: Any) -> str:
    """What the gate says of six rows, the last two made up, in classes of two values."""
    model = {"name": "m-invariance", "m": 2}
    case = sensitive_case([["a", "b"], ["a", "b"], ["a", "b"]], model)
    kept = [row for row in range(6) if row not in suppressed]
    fields: dict[str, Any] = {
        "released": case.original[kept], "source": np.array(kept), "suppressed": np.array(suppressed, dtype=np.int64),
        "n_read": 4, "counterfeits": 2, "manifest": dict(case.manifest) | {"counterfeits": claimed},
    }  # fmt: skip
    report = gate(sensitive_case([["a", "b"]] * 3, model, **(fields | changes)))
    return check_of(report, "rows").detail


def test_counterfeits_are_those_that_are_released() -> None:
    fine, wrong = made_up(2, []), "The manifest does not give the number of counterfeit rows."
    assert fine == "Every row read is released, suppressed or dropped, exactly once."
    assert made_up(0, [4, 5]) == fine
    assert made_up(1, [5]) == fine
    assert made_up(2, [0, 1]) == fine
    assert made_up(2, [4, 5]) == made_up(1, []) == made_up(0, []) == made_up(2, [3, 4]) == wrong
    assert made_up(2, [], n_read=6) == PLUS


# Order


@pytest.mark.parametrize("rows, passes", [(19, True), (20, False), (21, False)])
def test_twenty_rows_in_order_are_no_chance(rows: int, passes: bool) -> None:
    original, released = hospital()
    case = hospital_case(
        original=original[:rows], released=released[:rows], source=np.arange(rows), n_read=rows,
        identifiers=pl.DataFrame(), manifest=manifest(models=[]), neutral_limit=1.0,
    )  # fmt: skip
    report = gate(case)
    assert (check_of(report, "order").passed, report.passed) == (passes, passes)
    kept = "The release is in the order of its source although the manifest says shuffled."
    assert (check_of(report, "order").detail == kept) is not passes


def test_the_order_that_is_given_is_the_one_of_the_manifest() -> None:
    assert check_of(gate(hospital_case()), "order").detail == "The order of the rows is shuffled, as the manifest says."


# Neutral columns


def neutral(wards: list[str], **changes: Any) -> Any:
    original, released = hospital()
    source = np.random.default_rng(5).permutation(24)
    ward = pl.Series("ward", wards)
    case = hospital_case(
        original=original.with_columns(ward), released=released.with_columns(ward)[source], **changes
    )
    return check_of(gate(case), "neutral columns")


def test_the_share_of_unique_rows_may_reach_its_limit() -> None:
    wards = [f"w{row}" if row < 6 else "x" for row in range(24)]
    begin = "25.0% of the rows are unique on quasi-identifiers and neutral columns together"
    for limit, passes, end in ((0.25, True, "."), (0.24, False, ", above the limit of 24.0%.")):
        found = neutral(wards, neutral_limit=limit)
        assert (found.passed, found.detail) == (passes, begin + end)
        accepted = neutral(wards, neutral_limit=limit, acknowledged=["W-NEUTRAL"])
        assert (accepted.passed, accepted.detail) == (True, begin + (end if passes else ", which W-NEUTRAL accepts."))
    assert not neutral(wards).passed
    assert neutral(["x"] * 24).detail.startswith("0.0% of the rows")
    assert neutral(["x"] * 22 + ["y", "z"]).passed is False  # 2 of 24 is above the default of 5 %
    assert neutral(["x"] * 23 + ["y"]).passed


def test_without_a_neutral_column_there_is_nothing_to_be_unique_on() -> None:
    case = hospital_case(manifest=manifest([entry for entry in manifest()["columns"] if entry["name"] != "ward"]))
    report = gate(hospital_case(manifest=case.manifest, released=case.released.drop("ward")))
    assert check_of(report, "neutral columns").detail == "No neutral column is released."


def test_who_is_counted_is_what_the_manifest_says() -> None:
    who = pl.Series("who", [f"P{row:04}" for row in range(24)])
    said = {
        (False, None): "Models count rows, as the manifest says.",
        (True, None): "Models count rows, but the manifest says otherwise.",
        (False, "who"): "Models count people, but the manifest says otherwise.",
        (True, "who"): "Models count people, as the manifest says.",
    }
    for (people, subject), detail in said.items():
        report = gate(hospital_case(manifest=manifest(people=people), subject=None if subject is None else who))
        assert check_of(report, "people").detail == detail


def test_a_class_of_nothing_but_stars_is_one_where_rows_are_dropped() -> None:
    case = sensitive_case([["*", "*"], ["a", "b"]], {"name": "k", "k": 2})
    stars = case.released.with_columns(q=pl.Series(["*", "*", "g1", "g1"]))
    report = gate(type(case)(**(vars(case) | {"released": stars})))
    assert failed(report) == []
    assert report.classes["count"] == 2


REDRAWN = {"randomised": {"redraw": 1}}

@pytest.mark.parametrize("kind, code", [("randomised", "W-RA-LINK"), ("pseudonymised", "W-PP-REV")])
def test_where_values_are_exact_neutral_columns_count_by_what_they_add(kind: str, code: str) -> None:
    original = pl.DataFrame({"age": list(range(20, 32)), "s": ["a", "b"] * 6, "ward": [f"w{row}" for row in range(12)]})
    columns: list[dict[str, Any]] = [
        {"name": "age", "role": "quasi", "type": "numeric", "cells": "value"},
        {"name": "s", "role": "sensitive", "type": "categorical", "cells": "value"},
        {"name": "ward", "role": "neutral", "type": "categorical", "cells": "value"},
    ]
    released = original
    if kind == "pseudonymised":
        columns[1]["coded"] = "mapping"
        released = original.with_columns(s=pl.Series(["x1", "x2"] * 6))
    source = np.random.default_rng(2).permutation(12)
    for ages, share in ((original["age"], "0.0%"), (pl.Series("age", [30] * 12), "100.0%")):
        case = hospital_case(
            original=original.with_columns(ages), released=released.with_columns(ages)[source], source=source,
            n_read=12, identifiers=pl.DataFrame(),
            manifest=manifest(columns, [], kind=kind, acknowledged=[code], **REDRAWN.get(kind, {})),
        )  # fmt: skip
        found = check_of(gate(case), "neutral columns")
        assert found.detail.startswith(f"{share} of the rows")
        assert "and not on quasi-identifiers alone" in found.detail
