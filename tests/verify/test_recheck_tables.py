"""The re-check of one table and of two: what stands in the wrong place, and figures that the manifest lacks or adds."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.errors import VerificationError
from shoal.verify.gate import gate
from shoal.verify.recheck import recheck
from shoal.verify.report import GateCase
from tests.verify.cases import check_of, failed, hospital, hospital_case, hospital_manifest, manifest, published
from tests.verify.test_two_tables import COLUMNS, FIGURES, MODELS, N, changed, people, two_tables


def permuted() -> GateCase:
    """The same people in one table, values of a group in another order than its people."""
    case, original = two_tables(), people()
    source = np.random.default_rng(1).permutation(N)
    source = source[np.argsort(source // 3, kind="stable")]
    origin = source.reshape(-1, 3)[:, ::-1].ravel()
    released = original[source].select("age", "ward").hstack(original[origin].select("note", "cost"))
    return changed(
        case, released=released.with_columns(group=pl.Series(source // 3)), apart=None, source=source,
        values_from=origin,
        manifest=manifest(
            COLUMNS, MODELS, kind="bucketised", group="group", publication="permuted", order="kept",
            acknowledged=["W-EXACT-QI"], measured=FIGURES,
        ),
    )  # fmt: skip


def test_one_table_has_no_groups_to_compare_with_another() -> None:
    case = permuted()
    report = gate(case)
    assert failed(report) == []
    again = recheck(case.released, published(case, report))
    assert failed(again) == []
    assert "groups" not in [check.name for check in again.checks]


def test_a_table_that_nobody_asked_for_is_refused_and_not_read() -> None:
    case = permuted()
    spare = two_tables().apart
    assert failed(recheck(case.released, published(case), spare)) == ["sensitive columns"]


@pytest.mark.parametrize("lost", ["all", "cost"])
def test_without_its_second_table_a_release_is_judged_no_further(lost: str) -> None:
    case = two_tables()
    assert case.apart is not None
    report = recheck(case.released, published(case), None if lost == "all" else case.apart.drop(lost))
    assert failed(report) == ["sensitive columns"]
    assert not report.verdicts
    assert report.classes == {"count": 0, "smallest": 0, "digest": {}}


def test_what_attacks_achieve_is_looked_at() -> None:
    case = two_tables()
    described = published(case)
    del described["measured"]
    assert failed(recheck(case.released, described, case.apart)) == ["measured"]


def altered(change: Any) -> Any:
    described = hospital_manifest()
    change(described)
    return recheck(hospital()[1], described)


@pytest.mark.parametrize("key", ["count", "smallest"])
@pytest.mark.parametrize("value", [None, "6", 6.0])
def test_figures_of_classes_are_whole_numbers(key: str, value: Any) -> None:
    with pytest.raises(VerificationError, match=f"^The manifest's 'classes' lacks a valid '{key}', so"):
        altered(lambda m: m["classes"].update({key: value}))


@pytest.mark.parametrize("key", ["quasi", "disease", "income"])
def test_digests_are_texts(key: str) -> None:
    with pytest.raises(VerificationError, match=f"^The manifest's digest of the classes lacks a valid '{key}', so"):
        altered(lambda m: m["classes"]["digest"].update({key: 1}))


def test_the_first_digest_that_nothing_checks_is_named() -> None:
    with pytest.raises(VerificationError, match="^The manifest has a digest of 'ward', which nothing checks.$"):
        altered(lambda m: m["classes"]["digest"].update(ward="0", age="0"))


def test_without_a_number_of_rows_nothing_is_verified() -> None:
    with pytest.raises(VerificationError, match=r"^The manifest lacks a valid 'data.rows', so the release"):
        altered(lambda m: m["data"].pop("rows"))


def test_digests_that_touch_no_model_name_their_own_column() -> None:
    report = altered(lambda m: m["classes"]["digest"].update(income="0", disease="0"))
    end = "the counts per class are not those that passed the gate (smallest class 6 rows)."
    assert check_of(report, "digest of income").detail == f"income: {end}"
    assert check_of(report, "digest of disease").detail == f"entropy-l on disease: {end}"
    assert failed(report) == ["digest of disease", "digest of income"]


@pytest.mark.parametrize(
    "models, named",
    [
        ([], "classes"),
        ([{"name": "distinct-l", "l": 2, "on": "disease"}], "classes"),
        (
            [{"name": "p-sensitive", "p": 2, "k": 6, "on": "disease"}, {"name": "k", "k": 6}],
            "p-sensitive on disease, k",
        ),
    ],
)
def test_classes_that_changed_name_the_models_that_ask_for_a_size(models: Any, named: str) -> None:
    case = hospital_case(manifest=manifest(models=models))
    described = published(case)
    described["classes"]["count"] = 5
    found = check_of(recheck(case.released, described), "digest of the classes")
    assert found.detail == f"{named}: the classes are not those that passed the gate (smallest class 6 rows)."


def test_models_and_attributes_may_be_lists_or_tuples() -> None:
    models = [{"name": "distinct-l", "l": 2, "on": ["disease", "income"]}]
    case = hospital_case(manifest=manifest(models=models))
    described = published(case)
    described["verdicts"][0]["on"] = ("disease", "income")
    assert failed(recheck(case.released, described)) == []
    described["verdicts"][0]["on"] = ["income", "disease"]
    assert failed(recheck(case.released, described)) == ["verdicts"]
