"""Identifiers in the cells of their own rows: which texts tell, and how often is more than chance."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from shoal.verify.identifiers import _whole_words, check_identifier_names
from tests.verify.whole import check_identifier_values

FINE = "No identifier value stands in a cell of its own row."


def said(cells: list[Any], own: list[Any]) -> str:
    check = check_identifier_values(pl.DataFrame({"note": cells}), [pl.Series("name", own)])
    assert (check.name, check.passed) == ("identifier values", check.detail == FINE)
    return check.detail.removeprefix("Identifiers are left in the release: ")


def held(rows: int) -> str:
    return f"{rows} cells of 'note' hold their row's 'name'."


REPEATS = "'note' repeats 'name' more often than chance."


def test_without_identifiers_there_is_nothing_to_look_for() -> None:
    check = check_identifier_values(pl.DataFrame({"note": ["x"]}), [])
    assert (check.passed, check.detail) == (True, "The input has no identifier.")


@pytest.mark.parametrize(
    "own, cell, found",
    [
        ("Ann", "Ann", True), ("Al", "Al", False), ("123", "123", False), ("A1b", "see A1b", True),
        ("Ann (Ek)", "Ann (Ek), again", True), ("Ann.Ek", "AnnxEk", False), (None, "Ann", False), ("Ann", None, False),
        ("Ann Ek", "Ann Ekman", False), (" Ann ", "Ann", True),
    ],
)  # fmt: skip
def test_a_text_of_three_letters_tells(own: str | None, cell: str | None, found: bool) -> None:
    said_of = said([cell, "x", "fine"], [own, "Bo Lund of the long name", None])
    assert said_of == (held(1) if found else FINE)


def test_problems_of_every_identifier_and_column_are_told() -> None:
    frame = pl.DataFrame({"a": ["Ann", "Bob"], "b": ["Bob Cyd", "Bob"], "c": [1, 2]})
    check = check_identifier_values(frame, [pl.Series("name", ["Ann", "Bob"]), pl.Series("other", ["Cyd", "Dan"])])
    assert check.detail == (
        "Identifiers are left in the release: 2 cells of 'a' hold their row's 'name'; 1 cells of 'b' hold their "
        "row's 'name'; 1 cells of 'b' hold their row's 'other'."
    )


def meeting(own: Any, here: int, chance: int, rows: int = 60) -> tuple[list[Any], list[Any]]:
    """Cells and identifiers: a value in every fourth row, in some cells of its own row and in some of the next one."""
    hidden = [own if row % 4 == 0 else None for row in range(rows)]
    cells = [None] * rows
    for place in range(here):
        cells[4 * place] = own
    for place in range(chance):
        cells[rows - 3 - 4 * place] = own
    return cells, hidden


@pytest.mark.parametrize("here, chance, found", [(1, 0, True), (6, 1, False), (7, 1, True), (9, 2, False)])
def test_names_that_stand_in_the_next_row_too(here: int, chance: int, found: bool) -> None:
    assert said(*meeting("Cook", here, chance)) == (held(here) if found else FINE)


@pytest.mark.parametrize("here, chance, found", [(3, 0, False), (4, 0, True), (6, 1, False), (7, 1, True)])
@pytest.mark.parametrize("own", ["77", 77, 77.0])
def test_numbers_that_stand_in_the_next_row_too(own: Any, here: int, chance: int, found: bool) -> None:
    assert said(*meeting(own, here, chance)) == (REPEATS if found else FINE)


def test_numbers_are_compared_as_numbers_and_texts_as_texts() -> None:
    assert said([1.0, 2.0, 3.0, 4.0, 5.5], [1, 2, 3, 4, 5]) == REPEATS
    assert said(["007", "008", "009", "010"], ["7", "8", "9", "10"]) == FINE
    for blank in ("*", "<missing>", ""):
        assert said([blank] * 9, [blank] * 9) == FINE


def test_nothing_found_is_no_row() -> None:
    none = pl.Series([None, None], dtype=pl.String)
    assert said(["x", "y"], ["Ann", "Bob"]) == FINE
    assert _whole_words(pl.DataFrame({"own": none, "text": ["x", "y"]})) == 0
    assert _whole_words(pl.DataFrame({"own": ["Ann", "Bob"], "text": none})) == 0
    assert _whole_words(pl.DataFrame({"own": ["Ann", "Bob"], "text": ["x", "y"]})) == 0
    assert check_identifier_values(pl.DataFrame({"note": ["x", "y"]}), [none.alias("name")]).passed


MANIFEST: dict[str, Any] = {
    "columns": [{"name": "age"}], "models": [{"name": "k"}, {"name": "distinct-l", "on": "job"}],
    "verdicts": [{"on": ["disease", "town"]}], "acknowledged": ["W-NEUTRAL", "W-TEXT:note"],
    "statement": 'about "people"', "not_protected": ["''", "Nor `mail`."],
}  # fmt: skip


@pytest.mark.parametrize(
    "names, detail",
    [
        ([], ""),
        (["name", "", "k", "W-NEUTRAL"], ""),
        (["name", "one", "two"], "The identifier column 'one' is in the release."),
        (["job", "two"], "The identifier column 'two' is in the release."),
        *(
            ([name, "age"], f"The manifest names the identifier column '{name}'.")
            for name in ("age", "job", "disease", "town", "note", "people", "mail")
        ),
    ],
)
def test_names_of_identifier_columns(names: list[str], detail: str) -> None:
    check = check_identifier_names(["one", "two"], MANIFEST, names)
    assert check.detail == (detail or "No identifier column is in the release or its manifest.")
    assert (check.name, check.passed) == ("identifier columns", not detail)
