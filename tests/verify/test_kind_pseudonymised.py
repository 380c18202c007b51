"""The verifier on pseudonymised releases: true ones pass, and every kind of slip is found."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.verify.report import Check
from tests.verify.whole import check_pseudonymised

ORIGINAL = pl.DataFrame(
    {
        "zip": ["1", "2", "2", "3", None],
        "income": [10000, 10020, 22000, 10000, None],
        "disease": ["flu", "ulcer", "asthma", "flu", None],
        "person": ["ann", "bob", "bob", "cid", "dee"],
        "note": [0.5, 1.5, 2.5, 0.5, 1.0],
    }
)
SOURCE = np.array([4, 2, 0, 1, 3])
CODED = ORIGINAL.with_columns(
    income=pl.Series([1.0, 1.5, 2.0, 1.0, None]),
    disease=pl.Series(["d_2", "d_1", "d_3", "d_2", None]),
    person=pl.Series(["t1", "t2", "t2", "t3", "t4"]),
)
CLAIMS: dict[str, Any] = {
    "kind": "pseudonymised",
    "columns": [
        {"name": "zip", "role": "quasi", "type": "categorical", "cells": "value"},
        {"name": "income", "role": "sensitive", "type": "numeric", "cells": "value", "coded": "graded"},
        {"name": "disease", "role": "sensitive", "type": "categorical", "cells": "value", "coded": "mapping"},
        {"name": "person", "role": "pseudonym", "type": "categorical", "cells": "value", "coded": "token"},
        {"name": "note", "role": "neutral", "type": "numeric", "cells": "value"},
    ],
}


def check(coded: pl.DataFrame = CODED, source: np.ndarray = SOURCE, **changes: Any) -> list[Check]:
    return check_pseudonymised(ORIGINAL, coded[SOURCE], source, {**CLAIMS, **changes})


def failed(**given: Any) -> list[str]:
    return [one.name for one in check(**given) if not one.passed]


def test_a_true_release_passes() -> None:
    found = check()
    assert all(one.passed for one in found)
    assert {one.name for one in found} == {
        "rows", "columns", "unchanged: zip", "unchanged: note", "one to one: income", "increasing: income",
        "one to one: disease", "originals absent: disease", "one to one: person", "originals absent: person",
    }  # fmt: skip


def test_the_same_read_back_from_text_passes() -> None:
    assert not failed(coded=CODED.with_columns(pl.all().cast(pl.String)))


def test_suppressed_rows_may_be_absent() -> None:
    kept = SOURCE[:3]
    assert all(one.passed for one in check_pseudonymised(ORIGINAL, CODED[kept], kept, CLAIMS))


@pytest.mark.parametrize(
    "changed,where",
    [
        ({"zip": ["1", "2", "2", "9", None]}, ["unchanged: zip"]),
        ({"zip": ["1", "2", "2", "3", "4"]}, ["unchanged: zip"]),
        ({"note": [0.5, 1.5, 2.5, 0.5, 1.01]}, ["unchanged: note"]),
        ({"income": [1.0, 1.5, 2.0, 1.1, None]}, ["one to one: income"]),
        ({"income": [1.0, 1.0, 2.0, 1.0, None]}, ["one to one: income", "increasing: income"]),
        ({"income": [1.0, 2.0, 1.5, 1.0, None]}, ["increasing: income"]),
        ({"income": [1.0, 1.5, 2.0, 1.0, 3.0]}, ["one to one: income"]),
        ({"income": ["1", "x", "2", "1", None]}, ["increasing: income"]),
        ({"income": ORIGINAL["income"]}, ["increasing: income"]),
        ({"disease": ["d_2", "d_1", "d_2", "d_2", None]}, ["one to one: disease"]),
        ({"disease": ["d_2", "d_1", "d_3", "d_4", None]}, ["one to one: disease"]),
        ({"disease": ["flu", "d_1", "d_3", "flu", None]}, ["originals absent: disease"]),
        ({"disease": ["ulcer", "asthma", "flu", "ulcer", None]}, ["originals absent: disease"]),
        ({"person": ["t1", "t2", "t5", "t3", "t4"]}, ["one to one: person"]),
        ({"person": ["t1", "t2", "t2", "ann", "t4"]}, ["originals absent: person"]),
    ],
)
def test_slips_are_found(changed: dict[str, Any], where: list[str]) -> None:
    found = check(coded=CODED.with_columns(**{name: pl.Series(cells) for name, cells in changed.items()}))
    assert [one.name for one in found if not one.passed] == where
    told = " ".join(one.detail for one in found)
    assert not [value for value in ("10020", "flu", "ulcer", "ann", "bob") if value in told]


@pytest.mark.parametrize("source", [[4, 2, 0, 1, 1], [4, 2, 0, 1], [4, 2, 0, 1, 5], [4, 2, 0, 1, -1]])
def test_rows_must_be_the_input_rows(source: list[int]) -> None:
    assert failed(source=np.array(source)) == ["rows"]


def test_rows_of_other_people_are_found() -> None:
    assert failed(source=SOURCE[::-1]) != []


def test_columns_must_be_the_manifests() -> None:
    assert failed(coded=CODED.drop("note")) == ["columns"]
    assert failed(coded=CODED.select(CODED.columns[::-1])) == ["columns"]
    plain = [{key: value for key, value in entry.items() if key != "coded"} for entry in CLAIMS["columns"]]
    assert failed(columns=plain) == ["columns"]
    assert failed(columns=[*CLAIMS["columns"][:-1], {**CLAIMS["columns"][-1], "coded": "riddle"}]) == ["columns"]


def test_numbers_beyond_floats_are_told_apart() -> None:
    base = 10**30
    original = pl.DataFrame({"x": [str(base + 3), str(base + 1), str(base + 2)]})
    claims = {"columns": [{"name": "x", "role": "sensitive", "type": "numeric", "cells": "value", "coded": "graded"}]}
    good = pl.DataFrame({"x": [1.9, 1.0, 1.5]})
    assert all(one.passed for one in check_pseudonymised(original, good, np.arange(3), claims))
    merged = pl.DataFrame({"x": [1.9, 1.5, 1.5]})
    assert not all(one.passed for one in check_pseudonymised(original, merged, np.arange(3), claims))
