"""The gate's invariants: a good release passes, and each change of one thing fails the check it should."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import VerificationError
from shoal.verify.gate import gate
from shoal.verify.report import GateCase
from tests.verify.cases import COLUMNS, check_of, failed, hospital, hospital_case, manifest

NOBODY = np.array([], dtype=np.int64)


def changed(case: GateCase, column: str, value: Any, row: int = 3) -> GateCase:
    """The case with one released cell changed."""
    cells = case.released[column].to_list()
    cells[row] = value
    series = pl.Series(column, cells, dtype=case.released[column].dtype)
    return replace(case, released=case.released.with_columns(series))


def suppressing(rows: list[int], mode: str = "drop", **changes: Any) -> GateCase:
    """The case with some input rows suppressed."""
    original, released = hospital()
    if mode == "drop":
        kept = [row for row in np.random.default_rng(5).permutation(len(original)) if row not in rows]
        frame = released[kept]
    else:
        kept = np.random.default_rng(5).permutation(len(original)).tolist()
        star = pl.Series([row in rows for row in kept])
        frame = released[kept].cast(pl.String)
        frame = frame.select(
            pl.when(star).then(pl.lit("*")).otherwise(pl.col(name)).alias(name) for name in frame.columns
        )
    fields = {"released": frame, "source": np.array(kept), "suppressed": np.array(rows)}
    return hospital_case(**(fields | {"manifest": manifest(suppressed=mode)} | changes))


def test_a_good_release_passes() -> None:
    report = gate(hospital_case())
    assert failed(report) == []
    assert report.passed
    assert [verdict.holds for verdict in report.verdicts] == [True, True]
    assert report.verdicts[0].value == 6
    assert report.verdicts[1].value == pytest.approx(3)
    assert report.classes["count"] == 4
    assert report.classes["smallest"] == 6
    assert set(report.classes["digest"]) == {"quasi", "disease", "income"}


def test_no_model_is_allowed() -> None:
    report = gate(hospital_case(manifest=manifest(models=[])))
    assert report.passed
    assert report.verdicts == []


def test_figures_do_not_depend_on_the_order_of_rows() -> None:
    original, released = hospital()
    other = np.random.default_rng(9).permutation(len(original))
    assert (
        gate(hospital_case(source=other, released=released[other])).classes == gate(hospital_case()).classes
    )


# I1: rows


@pytest.mark.parametrize(
    "changes",
    [
        {"n_read": 25},
        {"n_dropped": 1},
        {"suppressed": np.array([0])},
        {"suppressed": np.array([99])},
        {"source": np.arange(23)},
        {"source": np.r_[np.arange(23), 0]},
        {"source": np.r_[np.arange(23), 24]},
        {"source": np.r_[np.arange(23), -1]},
        {"source": np.arange(24.0)},
        {"identifiers": pl.DataFrame({"name": ["Person 001"]})},
        {"manifest": manifest(data={"rows": 23})},
    ],
)
def test_rows_must_be_accounted_for(changes: dict[str, Any]) -> None:
    report = gate(hospital_case(**changes))
    assert failed(report) == ["rows"]
    assert not report.passed


def test_a_subject_is_needed_for_every_row() -> None:
    case = hospital_case(subject=pl.Series("who", [1, 2]), manifest=manifest(people=True))
    assert failed(gate(case)) == ["rows"]


def test_dropped_and_suppressed_rows_are_accounted_for() -> None:
    whole_class = list(range(6))
    assert gate(suppressing(whole_class, n_read=27, n_dropped=3)).passed
    lost = suppressing(whole_class, suppressed=np.arange(5))
    assert failed(gate(lost)) == ["rows"]


def test_starred_rows_are_no_class() -> None:
    report = gate(suppressing(list(range(6)), "star"))
    assert report.passed
    assert report.classes["count"] == 3


def test_a_suppressed_row_must_be_starred_everywhere() -> None:
    case = suppressing(list(range(6)), "star")
    row = int(np.flatnonzero(case.source == 2)[0])
    assert failed(gate(changed(case, "ward", "north", row))) == ["rows"]


def test_a_starred_row_must_be_suppressed() -> None:
    case = suppressing(list(range(6)), "star", suppressed=np.arange(5))
    assert "values" in failed(gate(case))


def test_a_class_of_stars_is_judged_when_rows_are_dropped() -> None:
    original, released = hospital()
    stars = released.with_columns(pl.lit("*").alias(name) for name in ("age", "zip", "job", "sex"))
    source = np.random.default_rng(5).permutation(24)
    report = gate(hospital_case(released=stars[source]))
    assert report.passed
    assert report.verdicts[0].value == 24
    too_large = hospital_case(released=stars[source], manifest=manifest(models=[{"name": "k", "k": 25}]))
    assert failed(gate(too_large)) == ["k"]


def test_an_empty_release_holds_nothing() -> None:
    original, released = hospital()
    case = hospital_case(released=released[:0], source=NOBODY, suppressed=np.arange(24))
    report = gate(case)
    assert "classes" in failed(report)
    assert not any(verdict.holds for verdict in report.verdicts)


# I2: values


@pytest.mark.parametrize(
    "column, value", [("disease", "gout"), ("disease", None), ("income", 1.0), ("ward", "east")]
)
def test_sensitive_and_neutral_values_must_be_true(column: str, value: Any) -> None:
    report = gate(changed(hospital_case(), column, value))
    assert "values" in failed(report)
    assert column in check_of(report, "values").detail
    assert str(value) not in check_of(report, "values").detail.replace(column, "")


def test_one_value_in_two_spellings_is_the_same() -> None:
    original, released = hospital()
    case = hospital_case(original=original.with_columns(pl.col("income").cast(pl.String) + "0"))
    assert gate(case).passed


# I3: coverage


@pytest.mark.parametrize(
    "column, value, checks",
    [
        ("age", "[90,95]", ["coverage"]),
        ("age", "19", ["coverage"]),
        ("age", "<missing>", ["coverage"]),
        ("age", "[25,20]", ["cells", "coverage"]),
        ("age", "twenty", ["cells", "coverage"]),
        ("age", "[0,121]", ["cells"]),
        ("zip", "1000", ["coverage"]),
        ("zip", "999*", ["cells", "coverage"]),
        ("zip", "<missing>", ["coverage"]),
        ("job", "baker", ["coverage", "members"]),
        ("job", "{baker|smith}", ["coverage", "members"]),
        ("job", "{cook|nurse", ["cells", "coverage"]),
        ("sex", "x", ["coverage"]),
        ("sex", "{f|m}", ["coverage"]),
    ],
)
def test_cells_must_cover_their_values(column: str, value: str, checks: list[str]) -> None:
    case = hospital_case(manifest=manifest(models=[]))
    report = gate(changed(case, column, value, row=int(np.flatnonzero(case.source == 15)[0])))
    assert failed(report) == checks
    assert column in check_of(report, checks[0]).detail


def test_a_missing_value_is_covered_by_itself_and_by_everything() -> None:
    original, released = hospital()
    original = original.with_columns(
        pl.when(pl.int_range(pl.len()) < 6).then(None).otherwise(pl.col(name)).alias(name)
        for name in ("age", "zip", "job", "sex")
    )
    for cell, passes in (("<missing>", True), ("*", True), ("[0,120]", False)):
        frame = released.with_columns(
            pl.when(pl.int_range(pl.len()) < 6).then(pl.lit(text)).otherwise(pl.col(name)).alias(name)
            for name, text in {"age": cell, "zip": "<missing>", "job": "<missing>", "sex": "*"}.items()
        )
        case = hospital_case(
            original=original, released=frame, source=np.arange(24), manifest=manifest(order="kept")
        )
        assert gate(case).passed is passes


def test_quasi_identifiers_must_be_text() -> None:
    case = hospital_case()
    with pytest.raises(VerificationError, match="age"):
        gate(replace(case, released=case.released.with_columns(pl.lit(1).alias("age"))))


# I4: models


def test_a_class_that_is_too_small_fails_k() -> None:
    case = hospital_case()
    report = gate(changed(case, "age", "[20,120]", row=int(np.flatnonzero(case.source == 15)[0])))
    assert failed(report) == ["k", "entropy-l on disease"]
    verdict = report.verdicts[0]
    assert (verdict.holds, verdict.value, verdict.classes, verdict.smallest) == (False, 1, 2, 1)
    assert check_of(report, "k").detail == "k = 6 fails: 2 classes have fewer, the smallest 1 row."


def test_two_clusters_with_equal_cells_are_one_class() -> None:
    original, released = hospital()
    source = np.random.default_rng(5).permutation(24)
    wide = released.with_columns(age=pl.lit("[20,60]"))[source]
    report = gate(hospital_case(released=wide))
    assert report.verdicts[0].value == 6  # classes of zip and sex
    wider = wide.with_columns(zip=pl.lit("*"))
    assert gate(hospital_case(released=wider)).verdicts[0].value == 12


@given(
    rows=st.lists(
        st.tuples(st.text(alphabet="a:1|\\\n,", max_size=3), st.text(alphabet="a:1 *[", max_size=3)),
        min_size=1,
    )
)
def test_classes_are_exactly_the_rows_with_equal_cells(rows: list[tuple[str, str]]) -> None:
    columns = [{"name": name, "role": "quasi", "type": "categorical", "cells": "set"} for name in ("a", "b")]
    frame = pl.DataFrame(rows, schema=["a", "b"], orient="row")
    case = hospital_case(
        original=frame, released=frame, source=np.arange(len(rows)), n_read=len(rows),
        identifiers=pl.DataFrame(), manifest=manifest(columns, [{"name": "k", "k": 2}], order="kept"),
    )  # fmt: skip
    report = gate(case)
    sizes = Counter(rows).values()
    assert report.verdicts[0].value == min(sizes)
    assert report.verdicts[0].holds is (min(sizes) >= 2)
    assert report.verdicts[0].classes == sum(size < 2 for size in sizes)
    assert report.classes["count"] == len(sizes)


def test_people_and_manifest_must_agree() -> None:
    who = pl.Series("who", [f"P{row:04}" for row in range(24)])
    assert failed(gate(hospital_case(subject=who))) == ["people"]
    assert failed(gate(hospital_case(manifest=manifest(people=True)))) == ["people"]
    assert gate(hospital_case(subject=who, manifest=manifest(people=True))).passed


# I5: columns


def test_columns_must_be_those_of_the_manifest() -> None:
    case = hospital_case()
    for frame in (
        case.released.with_columns(extra=pl.lit("x")),
        case.released.drop("ward"),
        case.released.select(reversed(case.released.columns)),
    ):
        report = gate(replace(case, released=frame))
        assert failed(report) == ["columns"]
        assert not report.passed


def test_the_input_must_have_the_columns() -> None:
    case = hospital_case()
    with pytest.raises(VerificationError, match="ward"):
        gate(replace(case, original=case.original.drop("ward")))


# I6: order


def test_a_shuffled_release_must_not_be_in_source_order() -> None:
    original, released = hospital()
    case = hospital_case(source=np.arange(24), released=released)
    assert failed(gate(case)) == ["order"]
    assert gate(replace(case, manifest=manifest(order="kept"))).passed


def test_a_short_release_may_be_in_order_by_chance() -> None:
    original, released = hospital()
    case = hospital_case(
        original=original[:18], released=released[:18], source=np.arange(18), n_read=18,
        identifiers=pl.DataFrame(),
    )  # fmt: skip
    assert gate(case).passed


# Neutral columns


def test_rows_must_not_be_unique_by_their_neutral_columns() -> None:
    original, released = hospital()
    source = np.random.default_rng(5).permutation(24)
    ward = pl.Series("ward", [f"w{row}" for row in range(24)])
    case = hospital_case(original=original.with_columns(ward), released=released.with_columns(ward)[source])
    report = gate(case)
    assert failed(report) == ["neutral columns"]
    assert "100.0%" in check_of(report, "neutral columns").detail
    assert gate(replace(case, acknowledged=["W-NEUTRAL"])).passed
    assert gate(replace(case, neutral_limit=1.0)).passed


def test_a_release_without_neutral_columns_passes() -> None:
    case = hospital_case(manifest=manifest(COLUMNS[:-1]))
    assert gate(replace(case, released=case.released.drop("ward"))).passed
