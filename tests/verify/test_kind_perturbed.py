"""The verifier's own view of a perturbed release: it passes what the methods make, and no tampering with it."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import VerificationError
from shoal.verify.recheck import recheck
from tests.verify.whole import check_perturbed

ORIGINAL = pl.DataFrame(
    {"age": [30, 30, 41, 58], "sex": ["f", "m", "f", None], "s": ["a", "b", "a", "c"], "note": [1.5, 2.0, None, 3.0]}
)
CLAIMS: dict[str, Any] = {
    "perturbation": "swapped",
    "columns": [
        {"name": "age", "role": "quasi", "type": "numeric"},
        {"name": "sex", "role": "quasi", "type": "categorical"},
        {"name": "s", "role": "sensitive", "type": "categorical"},
        {"name": "note", "role": "neutral", "type": "numeric"},
    ],
}
SOURCE = np.array([2, 0, 3, 1])
SWAPPED = ORIGINAL[SOURCE].with_columns(age=pl.Series([30, 41, 58, 30]), sex=pl.Series(["f", "f", "m", None]))
CONDENSED = SWAPPED.with_columns(age=pl.Series([33, 40, 55, 31]))


def failed(released: pl.DataFrame, source: np.ndarray = SOURCE, **claims: Any) -> list[str]:
    checks = check_perturbed(ORIGINAL, released, source, CLAIMS | claims)
    return [check.name for check in checks if not check.passed]


def test_what_the_methods_make_passes() -> None:
    assert failed(SWAPPED) == []
    assert failed(CONDENSED, perturbation="condensed") == []
    # A file read back is all text.
    assert failed(CONDENSED.select(pl.all().cast(pl.String)), perturbation="condensed") == []


@pytest.mark.parametrize(
    "released, claims, expected",
    [
        (SWAPPED.with_columns(s=pl.Series(["a", "b", "c", "b"])), {}, ["values"]),
        (SWAPPED.with_columns(note=pl.Series([None, 1.5, 3.0, 2.5])), {}, ["values"]),
        (SWAPPED.with_columns(age=pl.Series([30, 30, 58, 30])), {}, ["perturbed columns"]),
        (SWAPPED.with_columns(sex=pl.Series(["f", "f", "f", None])), {}, ["perturbed columns"]),
        (CONDENSED, {}, ["perturbed columns"]),
        (CONDENSED.with_columns(age=pl.Series([33, 40, 59, 31])), {"perturbation": "condensed"}, ["perturbed columns"]),
        (CONDENSED.with_columns(age=pl.Series([30, 30, 31, 31])), {"perturbation": "condensed"}, ["perturbed columns"]),
        (CONDENSED.with_columns(age=pl.Series(["33", "?", "55", "31"])), {"perturbation": "condensed"},
         ["perturbed columns"]),
        (SWAPPED, {"perturbation": "redrawn"}, ["perturbation"]),
    ],
)  # fmt: skip
def test_tampering_is_found(released: pl.DataFrame, claims: dict[str, Any], expected: list[str]) -> None:
    assert failed(released, **claims) == expected


def test_every_row_is_released_once() -> None:
    assert failed(SWAPPED[:3], SOURCE[:3]) == ["rows once"]


def test_no_message_shows_a_value() -> None:
    worse = SWAPPED.with_columns(age=pl.Series([30, 30, 58, 30]), s=pl.Series(["a", "b", "c", "b"]))
    text = " ".join(check.detail for check in check_perturbed(ORIGINAL, worse, SOURCE, CLAIMS))
    assert "1 rows of 's'" in text
    assert not [value for value in ("30", "41", "58") if value in text]


def test_a_perturbed_release_promises_no_model() -> None:
    table = shoal.read(pl.DataFrame({"age": range(20), "s": list("abcd") * 5}), quasi=["age"], sensitive=["s"])
    made = shoal.anonymize(table, algorithm="swapping", acknowledge=["W-PERTURBED"], seed=1)
    manifest = {**made.manifest, "data": {"rows": made.frame.height}}
    assert recheck(made.frame, manifest).passed
    with pytest.raises(VerificationError, match="promises models of a perturbed release"):
        recheck(made.frame, manifest | {"models": [{"name": "k", "k": 2}]})
