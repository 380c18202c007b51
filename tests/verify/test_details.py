"""What checks say: the counts and words that a reader of a report goes by."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import polars as pl
import pytest

from shoal.errors import VerificationError
from shoal.verify.gate import gate
from shoal.verify.recheck import recheck
from tests.verify.cases import (
    COLUMNS,
    check_of,
    failed,
    hospital,
    hospital_case,
    hospital_manifest,
    manifest,
    published,
    sensitive_case,
)

TREE = [["a", "x", "*"], ["b", "x", "*"], ["c", "y", "*"]]
FINE = "Every sensitive value fits its column's description."


@pytest.mark.parametrize(
    "values, column, detail",
    [
        (["1", "two", "three"], {"type": "numeric"}, "2 rows of 's' hold something that is not a number."),
        (["2020-01-01", "1.1.2020"], {"type": "date"}, "1 rows of 's' hold something that is not an ISO date."),
        ([0, 9], {"type": "numeric", "domain": ["0", "9"]}, FINE),
        ([-1, 9, 10], {"type": "numeric", "domain": ["0", "9"]},
         "2 rows of 's' hold something outside its declared domain."),
        (["lo", "mid"], {"type": "ordinal", "order": ["lo", "hi"]}, "1 rows of 's' hold something outside its order."),
        (["a", "x"], {"hierarchy": TREE}, "1 rows of 's' hold something that is no leaf of its hierarchy."),
        (["a", None, "*", "no"], {"hierarchy": TREE, "non_answers": ["no"]}, FINE),
        (["one", None], {"type": "numeric", "non_answers": ["one"]}, FINE),
    ],
)  # fmt: skip
def test_sensitive_values_that_do_not_fit(values: list[Any], column: dict[str, Any], detail: str) -> None:
    found = check_of(gate(sensitive_case([values], {"name": "k", "k": 1}, column=column)), "sensitive values")
    assert (found.detail, found.passed) == (detail, detail == FINE)


def test_lifted_values_are_nodes_above_their_own() -> None:
    column = {"cells": "label", "hierarchy": TREE}
    case = sensitive_case([["a", "b", "c"]], {"name": "k", "k": 1}, column=column)
    for labels, wrong in (
        (["a", "x", "*"], 0), (["x", "x", "y"], 0), (["b", "x", "x"], 2), (["*", "*", None], 1), (["z", "x", "y"], 1)
    ):  # fmt: skip
        changed = gate(_released(case, pl.Series("s", labels, dtype=pl.String)))
        found = check_of(changed, "nodes of s")
        fine = "Every cell of 's' is its source row's value or a node above it."
        no_node = f"{wrong} cells of 's' are no node above the value of their source row."
        assert found.detail == (no_node if wrong else fine)
        assert found.passed is not bool(wrong)
    node = check_of(gate(_released(case, pl.Series("s", ["z", "x", "y"]))), "sensitive values")
    assert node.detail == "1 rows of 's' hold something that is no node of its hierarchy."
    unknown = sensitive_case([["a", None]], {"name": "k", "k": 1}, column=column)
    assert check_of(gate(unknown), "nodes of s").passed


def _released(case: Any, column: pl.Series) -> Any:
    return type(case)(**(vars(case) | {"released": case.released.with_columns(column)}))


CELLS = [
    ("age", "young", "1 distinct cells of 'age' are not values or intervals with ends in order."),
    ("age", "[0,121]", "1 distinct cells of 'age' leave its declared domain."),
    ("age", "[-1,120]", "1 distinct cells of 'age' leave its declared domain."),
    ("zip", "102*", "1 distinct cells of 'zip' are not nodes of its hierarchy."),
    ("job", "{cook", "1 distinct cells of 'job' are not values or sets of values."),
]


@pytest.mark.parametrize("column, cell, detail", CELLS)
def test_cells_that_cannot_be_read(column: str, cell: str, detail: str) -> None:
    frame = hospital()[1]
    cells = frame[column].to_list()
    cells[0] = cell
    report = recheck(frame.with_columns(pl.Series(column, cells)), hospital_manifest())
    assert check_of(report, "cells").detail == detail


def test_cells_at_the_ends_of_the_domain_and_several_problems() -> None:
    frame = hospital()[1]
    wide = frame.with_columns(age=pl.Series(["[0,120]"] * 24))
    described = hospital_manifest()
    assert check_of(recheck(wide, described), "cells").detail == "Every quasi-identifier cell can be read."
    both = frame.with_columns(age=pl.Series(["[9,1]", "young"] + ["[0,121]"] * 22))
    detail = check_of(recheck(both, described), "cells").detail
    assert detail == (
        "2 distinct cells of 'age' are not values or intervals with ends in order; "
        "1 distinct cells of 'age' leave its declared domain."
    )


def test_columns_that_are_not_the_manifests() -> None:
    frame, described = hospital()[1], hospital_manifest()
    for other, detail in (
        (frame, "The release has the manifest's 7 columns, in order."),
        (frame.with_columns(one=pl.lit("x"), two=pl.lit("x")), "The release has a column 'one' that the manifest does "
         "not list."),
        (frame.drop("job", "ward"), "The release lacks the column 'job'."),
        (frame.select(reversed(frame.columns)), "The release has its columns in another order than the manifest."),
    ):  # fmt: skip
        assert check_of(recheck(other, described), "columns").detail == detail


def test_a_release_without_a_column_is_judged_no_further() -> None:
    report = recheck(hospital()[1].drop("job"), hospital_manifest())
    assert failed(report) == ["columns"]
    assert not {"cells", "classes", "k", "verdicts"} & {check.name for check in report.checks}
    assert list(report.verdicts) == []
    assert report.classes == {"count": 0, "smallest": 0, "digest": {}}


def test_rows_and_classes_in_words() -> None:
    described = hospital_manifest()
    report = recheck(hospital()[1], described)
    assert check_of(report, "rows").detail == "The release has 24 rows, as the manifest says."
    assert check_of(report, "classes").detail == "4 classes, the smallest 6 rows."
    assert check_of(report, "verdicts").detail == "The manifest has the 2 verdicts its models ask for."
    assert check_of(report, "digest of the classes").detail == "The classes are those that passed the gate."
    assert check_of(report, "digest of income").detail == "The counts of 'income' are those that passed the gate."
    assert check_of(report, "warning codes").detail == "What this kind of release needs is acknowledged: nothing."
    assert check_of(report, "k").detail == "k = 6 holds in every class."
    assert check_of(recheck(hospital()[1][1:], described), "rows").detail == (
        "The release has 23 rows, the manifest says 24."
    )


def test_an_empty_release_has_no_class() -> None:
    described = hospital_manifest()
    report = recheck(hospital()[1][:0], described)
    assert check_of(report, "classes").detail == "The release has no row in any class."
    assert check_of(report, "k").detail == "k = 6 cannot hold: the release has no class."
    assert [(verdict.holds, verdict.value) for verdict in report.verdicts] == [(False, 0.0), (False, 0.0)]


@pytest.mark.parametrize(
    "classes, subjects, k, detail",
    [
        ([["a", "b"], ["a"]], None, 2, "k = 2 fails: 1 class has fewer, the smallest 1 row."),
        ([["a", "b"], ["a"], ["b"]], None, 3, "k = 3 fails: 3 classes have fewer, the smallest 1 row."),
        ([["a", "b"], ["a", "b"]], ["p", "p", "q", "r"], 2, "k = 2 fails: 1 class has fewer, the smallest 1 person."),
        ([["a", "b", "c"]], ["p", "p", "q"], 3, "k = 3 fails: 1 class has fewer, the smallest 2 people."),
    ],
)
def test_small_classes_in_words(classes: list[list[str]], subjects: Any, k: int, detail: str) -> None:
    assert check_of(gate(sensitive_case(classes, {"name": "k", "k": k}, subjects=subjects)), "k").detail == detail


def test_failing_classes_in_words() -> None:
    model = {"name": "distinct-l", "l": 2}
    for classes, detail in (
        ([["a", "a"], ["a", "b"]], "fails in 1 class, the smallest 2 rows."),
        ([["a"], ["b", "b"]], "fails in 2 classes, the smallest 1 row."),
    ):
        found = check_of(gate(sensitive_case(classes, model)), "distinct-l on s")
        assert found.detail == f"distinct-l = 2 on s {detail}"


# Claimed figures


def altered(place: int, **changes: Any) -> Any:
    described = hospital_manifest()
    described["verdicts"][place].update(changes)
    return recheck(hospital()[1], described)


@pytest.mark.sample(8)
@pytest.mark.parametrize("place, label", [(0, "k"), (1, "entropy-l on disease")])
@pytest.mark.parametrize("key", ["value", "limit"])
@pytest.mark.parametrize("change", [1.0, -1.0, 1e-6, -1e-6])
def test_a_claimed_figure_must_be_the_releases_own(place: int, label: str, key: str, change: float) -> None:
    claimed = hospital_manifest()["verdicts"][place][key]
    report = altered(place, **{key: claimed + change})
    assert failed(report) == [label]
    assert check_of(report, label).detail == f"{label}: the manifest's figures are not those of the release."
    assert failed(altered(place, **{key: claimed * (1 + 1e-12)})) == []


def test_a_claim_that_it_does_not_hold_is_not_the_releases_own() -> None:
    report = altered(0, holds=False)
    assert check_of(report, "k").detail == "k: the manifest's figures are not those of the release."
    assert report.verdicts[0].holds


def test_a_model_that_fails_says_so_whatever_is_claimed() -> None:
    described = hospital_manifest()
    frame = hospital()[1].with_columns(disease=pl.lit("flu"))
    assert check_of(recheck(frame, described), "entropy-l on disease").detail == (
        "entropy-l = 3 on disease fails in 4 classes, the smallest 6 rows."
    )


def test_verdicts_in_another_number_are_judged_all_the_same() -> None:
    described = hospital_manifest()
    described["verdicts"].pop()
    report = recheck(hospital()[1], described)
    assert failed(report) == ["verdicts"]
    assert check_of(report, "verdicts").detail == "The manifest's 1 verdicts are not the 2 that its models ask for."
    assert [verdict.holds for verdict in report.verdicts] == [True, True]
    described["verdicts"] = []
    attested = deepcopy(described) | {"people": True}
    unclaimed = recheck(hospital()[1], attested)
    assert not any(verdict.holds for verdict in unclaimed.verdicts)
    assert check_of(unclaimed, "k").detail == "k = 6 is not claimed to hold by the manifest."


ATTESTED = [{"name": "max-range", "limit": 1, "on": "disease"}, {"name": "k", "k": 6}]


def attested(people: bool = False, **changes: Any) -> Any:
    who = pl.Series("who", [f"P{row:04}" for row in range(24)]) if people else None
    described = deepcopy(published(hospital_case(subject=who, manifest=manifest(COLUMNS, ATTESTED, people=people))))
    described["verdicts"][0].update(changes)
    return recheck(hospital()[1], described)


def test_attested_verdicts_repeat_the_claim() -> None:
    report = attested()
    assert report.passed
    verdict = report.verdicts[0]
    assert (verdict.holds, verdict.by, verdict.limit, verdict.value) == (True, "attested", 1.0, 0.0)
    assert check_of(report, "max-range on disease").detail == (
        "max-range = 1 on disease rests on the publisher's evidence: it cannot be derived from the release."
    )
    assert attested(value=0.5).verdicts[0].value == 0.5
    for changes in ({"holds": False}, {"limit": 0.5}, {"limit": 2}):
        broken = attested(**changes)
        assert failed(broken) == ["max-range on disease"]
        assert check_of(broken, "max-range on disease").detail == (
            "max-range = 1 on disease is not claimed to hold by the manifest."
        )


def test_attested_counts_of_people_say_so() -> None:
    report = attested(people=True)
    assert check_of(report, "k").detail == (
        "k = 6 rests on the publisher's evidence (people are counted): it cannot be derived from the release."
    )


@pytest.mark.parametrize(
    "changes",
    [{"value": None}, {"value": "1"}, {"value": True}, {"limit": None}, {"limit": True}, {"holds": 1}, {"model": None}],
)
def test_verdicts_that_cannot_be_read(changes: dict[str, Any]) -> None:
    with pytest.raises(VerificationError, match="has a verdict (that is incomplete|whose value or limit)"):
        altered(0, **changes)


@pytest.mark.parametrize("key", ["model", "on", "holds", "by", "value", "limit"])
def test_verdicts_that_lack_something(key: str) -> None:
    described = hospital_manifest()
    del described["verdicts"][1][key]
    with pytest.raises(VerificationError, match="^The manifest has a verdict that is incomplete.$"):
        recheck(hospital()[1], described)


def test_people_in_too_few_rows_in_words() -> None:
    who = pl.Series("who", [f"P{row:04}" for row in range(24)])
    described = published(hospital_case(subject=who, manifest=manifest(people=True)))
    frame = hospital()[1]
    split = frame.with_columns(age=pl.Series(["[0,120]", *frame["age"][1:]]))
    for other, detail in (
        (frame[1:], "1 class has fewer than 6 rows, the smallest 5."),
        (split, "2 classes have fewer than 6 rows, the smallest 1."),
    ):
        assert check_of(recheck(other, described), "k").detail == f"k = 6 fails: {detail}"
