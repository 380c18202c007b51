"""The parts of the re-check one by one: what is looked at, and how a claimed figure is held against a derived one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.errors import VerificationError
from shoal.verify.classes import Classes
from shoal.verify.judge import Slot
from shoal.verify.manifest import read_claims
from shoal.verify.manifest_schema import ClaimedVerdict
from shoal.verify.recheck import (
    _attested,
    _check_attested,
    _check_groups,
    _check_list,
    _check_rows,
    _close,
    _compared,
    recheck,
)
from shoal.verify.report import Check, Verdict
from tests.verify.cases import check_of, failed, hospital_case, manifest, published
from tests.verify.test_two_tables import two_tables
from tests.verify.whole import find_look

K: dict[str, Any] = {"name": "k", "k": 3}
FIRST = ["rows", "warning codes", "statement", "not protected", "refusals", "cells", "quasi-identifier values"]
DIGESTS = ["spelling", "hierarchies", "measured", "digest of the classes"]


def test_everything_is_looked_at() -> None:
    case = hospital_case()
    assert [check.name for check in recheck(case.released, published(case)).checks] == [
        "columns", *FIRST, "classes", "sensitive values", *DIGESTS, "digest of disease", "digest of income", "verdicts",
        "k", "entropy-l on disease",
    ]  # fmt: skip
    two = two_tables()
    assert [check.name for check in recheck(two.released, published(two), two.apart).checks] == [
        "columns", "sensitive columns", *FIRST, "classes", "sensitive values", "groups", *DIGESTS, "digest of note",
        "digest of cost", "verdicts", "distinct-l on note", "k",
    ]  # fmt: skip


def test_claims_are_compared_whatever_else_is_wrong() -> None:
    """Only a wrong list of verdicts leaves nothing to compare one by one; models are judged even then."""
    case = hospital_case()
    described = published(case)
    described["verdicts"][0]["value"] = 7
    described["classes"]["digest"]["income"] = "0"
    described["data"]["rows"] = 25
    report = recheck(case.released.with_columns(extra=pl.lit("x")), described)
    assert failed(report) == ["columns", "rows", "digest of income", "k"]
    described["verdicts"].pop()
    report = recheck(case.released, described)
    assert failed(report) == ["rows", "digest of income", "verdicts"]
    assert [verdict.holds for verdict in report.verdicts] == [True, True]


def test_evidence_is_repeated_beside_what_is_derived() -> None:
    models = [{"name": "max-range", "limit": 1, "on": "disease"}, {"name": "k", "k": 6}]
    case = hospital_case(manifest=manifest(models=models))
    report = recheck(case.released, published(case))
    assert failed(report) == []
    assert [(verdict.by, verdict.holds) for verdict in report.verdicts] == [("attested", True), ("rechecked", True)]
    assert EVIDENCE in check_of(report, "max-range on disease").detail


def slot(side: str = "", by: str = "attested", **model: Any) -> Slot:
    return Slot(model=model or K, on=None, names=(), side=side, by=by)


@pytest.mark.parametrize(
    "one, other, same",
    [(1, 1, True), (1, 1 + 1e-10, True), (1, 1 + 1e-8, False), (0, 1e-10, True), (0, 1e-8, False), (1, 2, False)],
)
def test_figures_that_are_close(one: float, other: float, same: bool) -> None:
    assert _close(one, other) is same


def claimed(claim: dict[str, Any] | None) -> ClaimedVerdict | None:
    """A claim of a manifest, as far as it is given."""
    return None if claim is None else ClaimedVerdict.model_construct(**claim)


FINE = Check(name="k", passed=True, detail="k = 3 holds in every class.")
OTHER = Check(name="k", passed=False, detail="k: the manifest's figures are not those of the release.")
FAILED = Check(name="k", passed=False, detail="k = 3 fails.")


@pytest.mark.parametrize(
    "check, claim, expected",
    [
        (FINE, None, FINE),
        (FINE, {"holds": True, "value": 4, "limit": 3}, FINE),
        (FINE, {"holds": False, "value": 4, "limit": 3}, OTHER),
        (FINE, {"holds": True, "value": 5, "limit": 3}, OTHER),
        (FINE, {"holds": True, "value": 4, "limit": 2}, OTHER),
        (FAILED, None, FAILED),
        (FAILED, {"holds": True, "value": 5, "limit": 3}, FAILED),
    ],
)
def test_a_derived_verdict_beside_the_claimed_one(check: Check, claim: Any, expected: Check) -> None:
    verdict = Verdict(model=K, on=None, holds=True, by="rechecked", value=4.0, limit=3.0)
    assert _compared(check, verdict, claimed(claim)) == expected


@pytest.mark.parametrize(
    "claim, holds, value",
    [
        (None, False, math.nan),
        ({"holds": True, "value": 4, "limit": 3}, True, 4.0),
        ({"holds": True, "value": None, "limit": 3}, True, math.nan),
        ({"holds": False, "value": 4, "limit": 3}, False, 4.0),
        ({"holds": True, "value": 4, "limit": 2}, False, 4.0),
    ],
)
def test_an_attested_verdict_repeats_its_claim(claim: Any, holds: bool, value: float) -> None:
    found = _attested(slot(), claimed(claim))
    assert (found.model, found.on, found.by, found.limit, found.holds) == (K, None, "attested", 3.0, holds)
    assert found.value == value or (math.isnan(found.value) and math.isnan(value))


def classes(*sizes: int) -> Classes:
    return Classes(names=[], sizes=np.array(sizes), cells={})


EVIDENCE = "rests on the publisher's evidence"
NOT_DERIVED = "it cannot be derived from the release."


@pytest.mark.parametrize(
    "sizes, holds, people, side, passed, detail",
    [
        ((3, 4), True, False, "", True, f"k = 3 {EVIDENCE}: {NOT_DERIVED}"),
        ((3, 4), True, True, "", True, f"k = 3 {EVIDENCE} (people are counted): {NOT_DERIVED}"),
        ((3, 4), True, True, "input", True, f"k = 3 against the input {EVIDENCE}: {NOT_DERIVED}"),
        ((3, 4), True, True, "history", True, f"k = 3 against earlier releases {EVIDENCE}: {NOT_DERIVED}"),
        ((3, 4), False, False, "", False, "k = 3 is not claimed to hold by the manifest."),
        ((2, 3), True, False, "", False, "k = 3 fails: 1 class has fewer than 3 rows, the smallest 2."),
        ((2, 3, 1), True, False, "", False, "k = 3 fails: 2 classes have fewer than 3 rows, the smallest 1."),
    ],
)
def test_evidence_in_words(
    sizes: tuple[int, ...], holds: bool, people: bool, side: str, passed: bool, detail: str
) -> None:
    verdict = Verdict(model=K, on=None, holds=holds, by="attested", value=3.0, limit=3.0)
    found = _check_attested(slot(side), verdict, read_claims(manifest(people=people)), classes(*sizes))
    assert (found.passed, found.detail) == (passed, detail)


COMPLETE: dict[str, Any] = {"model": K, "on": None, "holds": True, "by": "rechecked", "value": 3, "limit": 3}
INCOMPLETE, NO_NUMBER = "has a verdict that is incomplete", "has a verdict whose value or limit is not a number"


@pytest.mark.parametrize(
    "entry, problem",
    [
        (COMPLETE, None),
        (COMPLETE | {"by": "attested", "value": None}, None),
        (COMPLETE | {"by": "attested", "value": 1.5}, None),
        (1, "The 'verdicts' of the manifest must be JSON objects"),
        ([*COMPLETE], "The 'verdicts' of the manifest must be JSON objects"),
        *(({key: COMPLETE[key] for key in COMPLETE if key != lost}, INCOMPLETE) for lost in COMPLETE),
        (COMPLETE | {"model": "k"}, INCOMPLETE),
        (COMPLETE | {"holds": 1}, INCOMPLETE),
        (COMPLETE | {"value": None}, NO_NUMBER),
        (COMPLETE | {"value": "3"}, NO_NUMBER),
        (COMPLETE | {"value": True}, NO_NUMBER),
        (COMPLETE | {"limit": None}, NO_NUMBER),
        (COMPLETE | {"by": "attested", "value": "3"}, NO_NUMBER),
        (COMPLETE | {"by": "attested", "value": None, "limit": None}, NO_NUMBER),
    ],
)
def test_verdicts_as_they_are_claimed(entry: Any, problem: str | None) -> None:
    given = manifest() | {"verdicts": [entry]}
    if problem is None:
        assert read_claims(given).verdicts == (ClaimedVerdict(**entry),)
    else:
        with pytest.raises(VerificationError, match=problem):
            read_claims(given)


def test_the_list_of_verdicts() -> None:
    wanted = [
        slot(by="rechecked"),
        Slot(model={"name": "distinct-l", "on": ["a"]}, on=["a"], names=("a",), side="", by="attested"),
    ]
    given = [COMPLETE, {"model": {"name": "distinct-l", "on": ("a",)}, "on": ("a",), "by": "attested"}]

    def check(entries: list[dict[str, Any]]) -> Check:
        return _check_list(wanted, [ClaimedVerdict.model_construct(**entry) for entry in entries])

    assert check(given).detail == "The manifest has the 2 verdicts its models ask for."
    other = "The manifest's 2 verdicts are not the 2 that its models ask for."
    for change in ({"model": {"name": "distinct-l", "on": ["b"]}}, {"on": ["b"]}, {"on": "a"}, {"by": "rechecked"}):
        found = check([COMPLETE, given[1] | change])
        assert (found.name, found.passed, found.detail) == ("verdicts", False, other)
    assert check(given[:1]).detail == "The manifest's 1 verdicts are not the 2 that its models ask for."


@pytest.mark.parametrize(
    "rows, apart, passed, detail",
    [
        (3, None, True, "The release has 3 rows, as the manifest says."),
        (2, None, False, "The release has 2 rows, the manifest says 3."),
        (3, 3, True, "The release has 3 rows, as the manifest says."),
        (3, 4, False, "The release has 3 rows, and 4 of sensitive values."),
        (2, 2, False, "The release has 2 rows, the manifest says 3."),
    ],
)
def test_rows_in_words(rows: int, apart: int | None, passed: bool, detail: str) -> None:
    found = _check_rows(rows, apart, read_claims(manifest(data={"rows": 3})))
    assert (found.name, found.passed, found.detail) == ("rows", passed, detail)


def test_groups_are_compared_only_where_there_are_two_tables() -> None:
    case = hospital_case()
    assert _check_groups(None, read_claims(case.manifest)) == []  # type: ignore[arg-type]
    two = two_tables()
    claims = read_claims(two.manifest)
    assert two.apart is not None
    moved = two.apart.with_columns(group=pl.Series([1, *two.apart["group"][1:]]))
    for apart, passed, detail in (
        (two.apart, True, "Groups are equally large in both tables."),
        (moved, False, "Some groups differ in size between the tables."),
    ):
        (found,) = _check_groups(find_look(two.released, apart, claims), claims)
        assert (found.name, found.passed, found.detail) == ("groups", passed, detail)


def test_figures_that_are_the_same_in_words() -> None:
    case = hospital_case()
    report = recheck(case.released, published(case))
    assert check_of(report, "digest of the classes").detail == "The classes are those that passed the gate."
    assert check_of(report, "digest of income").detail == "The counts of 'income' are those that passed the gate."
