"""The verifier's own reading of bounds and representatives."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.errors import VerificationError
from shoal.verify.coverage import exact_texts
from shoal.verify.gate import gate
from shoal.verify.manifest import read_claims
from shoal.verify.recheck import recheck
from shoal.verify.report import GateCase
from tests.verify.cases import check_of, failed, manifest, published
from tests.verify.whole import find_classes

BOUNDS = {"name": "age", "role": "quasi", "type": "numeric", "cells": "bounds", "columns": ["age_lo", "age_hi"]}
MIDDLE = {"name": "age", "role": "quasi", "type": "numeric", "cells": "representative"}
DISEASE = {"name": "s", "role": "sensitive", "type": "categorical", "cells": "value"}
MODEL = {"name": "k", "k": 3}
AGES = [20, 23, 29, 31, 38, 40]


def bounds_case(low: Any, high: Any, **changes: Any) -> GateCase:
    column = BOUNDS | {"domain": ["0", "120"]}
    released = pl.DataFrame({"age_lo": low, "age_hi": high, "s": list("abcabc")})
    return _case(released, column, **changes)


def middle_case(shown: Any, behind: list[str | None], column: Any = None, ages: Any = None, **changes: Any) -> GateCase:
    released = pl.DataFrame({"age": shown, "s": list("abcabc")})
    cells = pl.DataFrame({"age": behind}, schema={"age": pl.String})
    return _case(released, column or MIDDLE, ages=ages, behind=cells, **changes)


def _case(released: pl.DataFrame, column: Any, ages: Any = None, **changes: Any) -> GateCase:
    fields: dict[str, Any] = {
        "original": pl.DataFrame({"age": ages or AGES, "s": list("abcabc")}),
        "released": released,
        "source": np.arange(6),
        "suppressed": np.array([], dtype=np.int64),
        "n_read": 6,
        "n_dropped": 0,
        "identifiers": pl.DataFrame(),
        "subject": None,
        "manifest": manifest([column, DISEASE], [MODEL], order="kept"),
    }
    return GateCase(**(fields | changes))


LOW, HIGH = [20] * 3 + [30] * 3, [29] * 3 + [40] * 3


# Texts


@pytest.mark.parametrize(
    "spellings, kind",
    [
        ([3, 3.0, "3", "3.0", "+3", "3e0", Decimal("3.00"), " 3"], "numeric"),
        ([0.1, "0.1", "0.10", "1e-1", ".1", Decimal("0.100")], "numeric"),
        ([0, -0.0, "-0"], "numeric"),
        ([1e300, "1e300", "1E+300", "1" + "0" * 300], "numeric"),
        ([1e22, "10000000000000000000000"], "numeric"),
        ([date(2020, 1, 5), "2020-01-05"], "date"),
        ([None, "<missing>"], "numeric"),
    ],
)
def test_spellings_of_one_bound_agree(spellings: list[Any], kind: str) -> None:
    assert len({exact_texts(pl.Series([value]), kind)[0] for value in spellings}) == 1


def test_bounds_that_differ_beyond_the_digits_of_a_float_are_two_classes() -> None:
    long = ["100000000000000000.1", "100000000000000000.2"]
    assert float(long[0]) == float(long[1])
    frame = pl.DataFrame({"age_lo": long, "age_hi": long, "s": ["a", "b"]})
    claims = read_claims(manifest([BOUNDS, DISEASE], [MODEL]))
    assert find_classes(frame, claims).count == 2


# Bounds


def test_bounds_that_cover_pass_and_verify_as_numbers_and_as_text() -> None:
    case = bounds_case(LOW, HIGH)
    report = gate(case)
    assert report.passed, failed(report)
    assert report.classes["count"] == 2
    for form in (case.released, case.released.cast(pl.String)):
        assert recheck(form, published(case)).passed


def test_a_bound_that_cuts_a_value_off_fails() -> None:
    report = gate(bounds_case([21] * 3 + [30] * 3, HIGH))
    assert failed(report) == ["coverage"]
    assert "1 cells of 'age'" in check_of(report, "coverage").detail


@pytest.mark.parametrize(
    "low, high, checks",
    [
        ([29] * 3 + [30] * 3, [20] * 3 + [40] * 3, ["cells", "coverage"]),
        ([20] * 3 + [30] * 3, [29] * 3 + [130] * 3, ["cells"]),
        ([None] * 3 + [30] * 3, HIGH, ["cells", "coverage"]),
        (["*"] * 3 + ["30"] * 3, ["*"] * 3 + ["40"] * 3, ["cells", "coverage"]),
        (["x"] * 3 + ["30"] * 3, ["x"] * 3 + ["40"] * 3, ["cells", "coverage"]),
    ],
)
def test_bounds_that_cannot_be_read(low: Any, high: Any, checks: list[str]) -> None:
    assert failed(gate(bounds_case(low, high))) == checks


def test_two_nulls_cover_everything() -> None:
    case = bounds_case([None] * 3 + [30] * 3, [None] * 3 + [40] * 3)
    assert gate(case).passed
    written = case.released.cast(pl.String).with_columns(pl.col("age_lo", "age_hi").fill_null("<missing>"))
    assert recheck(written, published(case)).passed


@pytest.mark.parametrize("column", ["age_lo", "age_hi"])
@pytest.mark.parametrize("rows", [[0], [0, 1, 2]])
def test_a_tampered_bound_is_found_without_the_input(column: str, rows: list[int]) -> None:
    case = bounds_case(LOW, HIGH)
    changed = case.released[column].to_numpy().copy()
    changed[rows] += 1
    report = recheck(case.released.with_columns(pl.Series(column, changed)), published(case))
    assert "digest of the classes" in failed(report)


def test_a_file_without_one_of_the_bounds() -> None:
    case = bounds_case(LOW, HIGH)
    report = recheck(case.released.drop("age_hi"), published(case))
    assert failed(report) == ["columns"]
    assert "'age_hi'" in check_of(report, "columns").detail


# Representatives


def test_middles_of_cells_that_cover_pass_and_verify() -> None:
    case = middle_case([24] * 3 + [35] * 3, ["[20,29]"] * 3 + ["[30,40]"] * 3)
    report = gate(case)
    assert report.passed, failed(report)
    for form in (case.released, case.released.cast(pl.String)):
        assert recheck(form, published(case)).passed
    assert "digest of the classes" in failed(recheck(case.released.with_columns(age=pl.lit(25)), published(case)))


@pytest.mark.parametrize(
    "shown, behind, says",
    [
        ([24] * 3 + [35] * 3, ["[20,28]"] * 3 + ["[30,40]"] * 3, "1 cells behind 'age'"),
        ([20] * 3 + [35] * 3, ["[20,29]"] * 3 + ["[30,40]"] * 3, "3 representatives of 'age'"),
        ([24] * 3 + [None] * 3, ["[20,29]"] * 3 + ["[30,40]"] * 3, "3 representatives of 'age'"),
        ([24] * 3 + [35] * 3, ["*"] * 6, "6 representatives of 'age'"),
        ([24] * 3 + [35] * 3, ["[20,29]"] * 3 + [None] * 3, "3 cells behind 'age'"),
    ],
)
def test_representatives_that_are_not_what_they_should_be(shown: Any, behind: Any, says: str) -> None:
    report = gate(middle_case(shown, behind))
    assert failed(report) == ["coverage"]
    assert says in check_of(report, "coverage").detail


def test_a_small_shift_of_a_real_number_is_found() -> None:
    ages = [0.2, 0.3, 0.4, 0.6, 0.7, 0.8]
    behind = ["[0.2,0.4]"] * 3 + ["[0.6,0.8]"] * 3
    assert gate(middle_case([0.3] * 3 + [0.7] * 3, behind, ages=ages)).passed
    assert failed(gate(middle_case([0.301] * 3 + [0.7] * 3, behind, ages=ages))) == ["coverage"]


def test_ordinal_representatives() -> None:
    column = MIDDLE | {"type": "ordinal", "order": ["low", "mid", "high", "top"]}
    ages = ["low", "mid", "high", "top", "top", "top"]
    behind = ["{low|mid|high}"] * 3 + ["top"] * 3
    case = middle_case(["mid"] * 3 + ["top"] * 3, behind, column, ages)
    assert gate(case).passed
    assert recheck(case.released, published(case)).passed
    assert failed(gate(middle_case(["high"] * 3 + ["top"] * 3, behind, column, ages))) == ["coverage"]
    assert failed(gate(middle_case(["odd"] * 3 + ["top"] * 3, behind, column, ages))) == ["cells", "coverage"]


@pytest.mark.parametrize("behind", [None, pl.DataFrame(), pl.DataFrame({"age": ["[20,40]"]})])
def test_the_gate_must_be_told_what_representatives_stand_for(behind: Any) -> None:
    case = middle_case([24] * 3 + [35] * 3, ["*"] * 6)
    with pytest.raises(VerificationError, match="representatives of 'age'"):
        gate(GateCase(**{**case.__dict__, "behind": behind}))


# Claims


@pytest.mark.parametrize(
    "column, says",
    [
        (BOUNDS | {"columns": ["age_lo"]}, "two 'columns'"),
        (MIDDLE | {"columns": ["a", "b"]}, "a 'columns' that says nothing about it"),
        (BOUNDS | {"columns": ["x", "x"]}, "repeats"),
        (BOUNDS | {"columns": ["s", "age_hi"]}, "'s' twice"),
        (BOUNDS | {"type": "ordinal", "order": ["a"]}, "cannot be bounds"),
        (MIDDLE | {"type": "categorical"}, "representatives"),
        (MIDDLE | {"type": "ordinal"}, "no order"),
    ],
)
def test_claims_that_make_no_sense(column: Any, says: str) -> None:
    with pytest.raises(VerificationError, match=says):
        read_claims(manifest([column, DISEASE], [MODEL]))
