"""Nothing that names a person may be left in a release or its manifest."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from shoal.verify.gate import gate
from shoal.verify.report import GateCase
from tests.verify.cases import COLUMNS, check_of, failed, hospital_case, manifest
from tests.verify.whole import check_identifier_values

NAMES = [f"Person {row:03}" for row in range(24)]


def with_ward(values: list[Any], identifiers: pl.DataFrame) -> GateCase:
    """The hospital with other wards and identifiers; wards may be unique."""
    case = hospital_case(identifiers=identifiers, acknowledged=["W-NEUTRAL"])
    ward = pl.Series("ward", values)
    return replace(
        case,
        original=case.original.with_columns(ward),
        released=case.released.with_columns(ward.gather(case.source)),
    )


def test_an_identifier_column_may_not_be_released() -> None:
    case = hospital_case()
    columns = [*COLUMNS, {"name": "name", "role": "neutral", "type": "categorical", "cells": "value"}]
    frame = case.released.with_columns(name=case.identifiers["name"].gather(case.source))
    original = case.original.with_columns(case.identifiers["name"])
    report = gate(replace(case, original=original, released=frame, manifest=manifest(columns)))
    assert "identifier columns" in failed(report)


@pytest.mark.parametrize(
    "changes",
    [
        {"not_protected": ["Values of 'name' within a class."]},
        {"statement": 'no "name" is left'},
        {"acknowledged": ["W-UNMODELLED:name"]},
        {"verdicts": [
            {"model": {}, "on": ["disease", "name"], "holds": True, "by": "rechecked", "value": 1, "limit": 1}]},
    ],
)
def test_the_manifest_may_not_name_an_identifier_column(changes: dict[str, Any]) -> None:
    assert failed(gate(hospital_case(manifest=manifest(**changes)))) == ["identifier columns"]


def test_words_of_the_manifest_are_no_names() -> None:
    case = hospital_case(identifiers=pl.DataFrame({"k": NAMES, "quasi": NAMES, "value": NAMES}))
    assert gate(case).passed


@pytest.mark.parametrize("cell", ["Person 007", "seen by Person 007 on Monday"])
def test_an_identifier_may_not_stand_in_a_cell_of_its_row(cell: str) -> None:
    wards = ["north"] * 24
    wards[7] = cell
    report = gate(with_ward(wards, pl.DataFrame({"name": NAMES})))
    assert failed(report) == ["identifier values", "identifiers of anybody"]
    detail = check_of(report, "identifier values").detail
    assert "1 cells of 'ward'" in detail
    assert "007" not in detail


def test_another_rows_identifier_may_not_stand_in_a_cell() -> None:
    wards = ["north"] * 24
    wards[8] = "Person 007"
    assert failed(gate(with_ward(wards, pl.DataFrame({"name": NAMES})))) == ["identifiers of anybody"]


def test_short_texts_meet_by_chance() -> None:
    wards = ["Al"] * 3 + ["north"] * 21
    assert gate(with_ward(wards, pl.DataFrame({"name": ["Al"] * 3 + ["Bo"] * 21}))).passed


# Dealt by chance to 24 rows, 9 of these numbers meet their owner less than once in a billion releases, fewer may.
@pytest.mark.parametrize("copied, passes", [(8, True), (9, False), (24, False)])
def test_short_numbers_fail_when_they_meet_their_own_row_too_often(copied: int, passes: bool) -> None:
    phones = [55_500 + row for row in range(24)]
    wards = [phones[row] if row < copied else 0 for row in range(24)]
    report = gate(with_ward(wards, pl.DataFrame({"phone": phones})))
    assert failed(report) == ([] if passes else ["identifier values"])
    assert "555" not in check_of(report, "identifier values").detail


def test_numbers_in_text_are_found_too() -> None:
    phones = [f"555-{row:04}" for row in range(24)]
    report = gate(with_ward(phones, pl.DataFrame({"phone": phones})))
    assert failed(report) == ["identifier values", "identifiers of anybody", "people in ward"]


def test_common_numbers_may_meet_by_chance() -> None:
    wards = [row % 2 for row in range(24)]
    case = with_ward(wards, pl.DataFrame({"household": [1] * 24}))
    assert gate(replace(case, acknowledged=["W-NEUTRAL", "W-ROWS"])).passed


def test_subjects_are_identifiers() -> None:
    wards = ["north"] * 24
    wards[7] = "P0007"
    case = with_ward(wards, pl.DataFrame())
    case = replace(
        case, subject=pl.Series("who", [f"P{row:04}" for row in range(24)]), manifest=manifest(people=True)
    )
    assert failed(gate(case)) == ["identifier values", "identifiers of anybody"]
    assert failed(gate(replace(case, subject=case.subject.alias("ward")))) == ["identifier columns"]


def test_a_part_of_a_longer_word_is_no_match() -> None:
    released = pl.DataFrame({"job": ["Sales", "Clerk", "Nurse"]})
    assert check_identifier_values(released, [pl.Series("name", ["Sal", "Ann", "Bo Ek"])]).passed


def test_words_in_a_longer_text_are_a_match() -> None:
    released = pl.DataFrame({"note": ["seen by Ann Ek, twice", "fine", "fine"]})
    check = check_identifier_values(released, [pl.Series("name", ["Ann Ek", "Bo Lund", "Cy Dal"])])
    assert not check.passed
    assert "Ann" not in check.detail


def test_names_that_are_also_occupations_are_judged_by_chance() -> None:
    jobs = pl.DataFrame({"job": ["Cook", "Baker"] * 50})
    names = pl.Series("name", ["Cook", "Cook", "Ek", "Lund"] * 25)
    assert check_identifier_values(jobs, [names]).passed
    assert not check_identifier_values(pl.DataFrame({"job": names}), [names]).passed
