"""What the verifier lets through as microaggregated, and what it does not."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.verify.whole import check_microaggregated

CLAIMS = {
    "columns": [
        {"name": "age", "role": "quasi", "type": "numeric"},
        {"name": "day", "role": "quasi", "type": "date"},
        {"name": "size", "role": "quasi", "type": "ordinal", "order": ["S", "M", "L"]},
        {"name": "town", "role": "quasi", "type": "categorical"},
        {"name": "s", "role": "sensitive", "type": "categorical"},
    ]
}
ORIGINAL = pl.DataFrame(
    {
        "age": [20, 21, 25, 60, 61, 64, 69],
        "day": [dt.date(2020, 1, day) for day in (1, 2, 5, 10, 20, 21, 22)],
        "size": ["S", "M", "L", "S", "S", "L", "L"],
        "town": ["Aby", "Aby", "Ry", "Vik", "Ry", "Vik", "Ry"],
        "s": list("abcabca"),
    }
)
RELEASED = pl.DataFrame(
    {
        "age": [22.0] * 3 + [63.5] * 4,
        "day": [dt.date(2020, 1, 3)] * 3 + [dt.date(2020, 1, 18)] * 4,
        "size": ["M"] * 3 + ["S"] * 4,
        "town": ["Aby"] * 3 + ["Vik"] * 4,
        "s": list("abcabca"),
    }
)
SOURCE = np.array([3, 0, 6, 1, 5, 2, 4])


def failed(released: pl.DataFrame, source: np.ndarray = SOURCE) -> list[str]:
    return [check.name for check in check_microaggregated(ORIGINAL, released, source, CLAIMS) if not check.passed]


def test_good_releases_pass() -> None:
    assert failed(RELEASED[SOURCE]) == []
    assert failed(RELEASED[SOURCE].cast(pl.String)) == []


def test_either_of_two_modes_passes() -> None:
    assert failed(RELEASED.with_columns(town=pl.Series(["Aby"] * 3 + ["Ry"] * 4))[SOURCE]) == []


@pytest.mark.parametrize(
    ("change", "names"),
    [
        ({"age": [22.0] * 3 + [63.4] * 4}, ["centroids"]),
        ({"day": [dt.date(2020, 1, 2)] * 3 + [dt.date(2020, 1, 18)] * 4}, ["centroids"]),
        ({"size": ["M"] * 3 + ["L"] * 4}, ["centroids"]),
        ({"town": ["Ry"] * 3 + ["Vik"] * 4}, ["centroids"]),
        ({"town": ["Oz"] * 7}, ["centroids"]),
        ({"s": list("bbcabca")}, ["values"]),
        ({"extra": [1] * 7}, ["columns"]),
    ],
    ids=str,
)
def test_bad_releases_fail(change: dict[str, Any], names: list[str]) -> None:
    changed = RELEASED.with_columns(**{name: pl.Series(values) for name, values in change.items()})
    assert failed(changed[SOURCE]) == names


def test_source_rows_must_be_different_rows() -> None:
    assert failed(RELEASED[SOURCE], np.zeros(7, dtype=np.int64)) == ["rows"]
    assert failed(RELEASED[:6], SOURCE[:6].astype(np.int64) - 1) == ["rows"]


def test_classes_that_publish_the_same_are_one() -> None:
    """Two groups of mean 2 are one class of mean 2."""
    claims = {"columns": [{"name": "x", "role": "quasi", "type": "numeric"}]}
    original = pl.DataFrame({"x": [1, 3, 0, 4]})
    checks = check_microaggregated(original, pl.DataFrame({"x": [2.0] * 4}), np.arange(4), claims)
    assert all(check.passed for check in checks)


def alone(shown: list[Any], truth: list[Any], **entry: Any) -> dict[str, bool]:
    """How one column of one class fares."""
    frames = [pl.DataFrame({"t": pl.Series(values, dtype=pl.String)}) for values in (truth, shown)]
    entry = {"name": "t", "role": "quasi", "type": "categorical"} | entry
    checks = check_microaggregated(*frames, np.arange(len(shown)), {"columns": [entry]})
    return {check.name: check.passed for check in checks}


def test_what_is_missing_most_often_is_the_mode() -> None:
    assert alone([None] * 3, [None, None, "a"])["centroids"]
    assert not alone([None] * 3, [None, "a", "a"])["centroids"]


def test_what_is_not_in_the_order_comes_behind_it() -> None:
    sizes = {"type": "ordinal", "order": ["S", "M", "L"]}
    for shown, passes in (("L", True), ("S", False)):
        assert alone([shown] * 3, ["?", "S", "L"], **sizes)["centroids"] is passes


def test_without_quasi_identifiers_there_is_no_class() -> None:
    assert alone(["a", "b"], ["a", "b"], role="sensitive") == {"centroids": True, "values": True}
    assert alone(["a", "a"], ["a", "b"], role="sensitive") == {"centroids": True, "values": False}


@pytest.mark.parametrize("column", ["x", "s"])
def test_a_column_that_is_lacking_is_told(column: str) -> None:
    columns = [
        {"name": "x", "role": "quasi", "type": "numeric"},
        {"name": "s", "role": "sensitive", "type": "categorical"},
    ]
    frame = pl.DataFrame({"x": [1.0, 1.0], "s": ["a", "b"]})
    (check,) = check_microaggregated(frame, frame.drop(column), np.arange(2), {"columns": columns})
    assert (check.name, check.passed) == ("columns", False)
