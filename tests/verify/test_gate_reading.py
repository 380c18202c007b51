"""Which columns the gate reads for names and free text, and whose rows it compares them with."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from shoal.verify.gate import gate
from shoal.verify.report import GateCase
from tests.verify.cases import COLUMNS, failed, hospital_case, manifest
from tests.verify.test_strangers import notes, people
from tests.verify.test_two_tables import coded, two_tables
from tests.verify.test_two_tables import people as patients

TEXTS = [f"{note} {row}" for row, note in enumerate(notes(24))]


def with_cells(column: str, cells: list[Any], **described: Any) -> GateCase:
    """The hospital with other values of one column, beside people with names."""
    columns = [entry | described if entry["name"] == column else entry for entry in COLUMNS]
    case = hospital_case(identifiers=people(24).to_frame(), manifest=manifest(columns, []), neutral_limit=1.0)
    values = pl.Series(column, cells)
    return replace(
        case,
        original=case.original.with_columns(values),
        released=case.released.with_columns(values.gather(case.source)),
    )


@pytest.mark.parametrize("column", ["disease", "ward"])
def test_sensitive_and_neutral_columns_are_read(column: str) -> None:
    assert failed(gate(with_cells(column, TEXTS))) == [f"free text in {column}"]
    surname = people(24)[3].split(",")[0]
    assert failed(gate(with_cells(column, ["fine"] * 23 + [surname]))) == [f"names in {column}"]


@pytest.mark.parametrize("column", ["disease", "ward"])
def test_a_list_of_values_that_the_manifest_has_is_no_free_text(column: str) -> None:
    tree = [[text, "*"] for text in TEXTS]
    for described in ({"hierarchy": tree}, {"type": "ordinal", "order": TEXTS}):
        # Each is a text of its own, which is said of them all the same.
        assert failed(gate(with_cells(column, TEXTS, **described))) == [f"people in {column}"]


def test_codes_are_not_read() -> None:
    """They are nobody's words, whatever they look like."""
    case = coded()
    codes = case.released["s"].replace({"c1": "Quirkone", "c2": "Quirktwo"})
    hidden = pl.DataFrame({"name": ["Ann", "Quirkone", "Bob", "Cyd"]})
    assert failed(gate(replace(case, released=case.released.with_columns(codes), identifiers=hidden))) == []


@pytest.mark.parametrize("column", ["ward", "note"])
def test_both_tables_are_read(column: str) -> None:
    """With names that many share, which tell only where they stand in their own rows, far more often than in others."""
    shared = pl.DataFrame({"name": [("Meier", "Huber", "Bauer")[row % 3] for row in range(24)]})
    cells = pl.Series(column, [f"Hr. {name}" for name in shared["name"]])
    case = two_tables(patients().with_columns(cells))
    report = gate(replace(case, identifiers=shared))
    assert failed(report) == ["identifier values"]
    (check,) = [check for check in report.checks if not check.passed]
    assert f"24 cells of '{column}' hold their row's 'name'" in check.detail
    turned = two_tables(patients().with_columns(cells.gather([*range(1, 24), 0])))
    assert failed(gate(replace(turned, identifiers=shared))) == []
