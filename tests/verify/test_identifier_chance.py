"""Identifiers in the cells of their own rows: which texts tell, and how often is more than chance."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.verify.identifiers import check_identifier_names
from tests.conftest import many
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
    frame = pl.DataFrame({"a": ["Ann", "Bob"], "b": ["Cyd", "Bob"], "c": [1, 2]})
    check = check_identifier_values(frame, [pl.Series("name", ["Ann", "Bob"]), pl.Series("other", ["Cyd", "Dan"])])
    assert check.detail == (
        "Identifiers are left in the release: 2 cells of 'a' hold their row's 'name'; 1 cells of 'b' hold their "
        "row's 'name'; 1 cells of 'b' hold their row's 'other'."
    )


@pytest.mark.parametrize(
    "own, others, found", [(1, 0, True), (1, 1, False), (4, 4, True), (2, 5, False), (30, 400, True)]
)
def test_names_that_stand_in_other_rows_too(own: int, others: int, found: bool) -> None:
    """One cell tells where no other cell holds anybody's; else there have to be more than chance brings."""
    names = [f"name{row}" for row in range(1000)]
    cells = [names[row] if row < own else names[row - 1] if row >= 1000 - others else "x" for row in range(1000)]
    assert said(cells, names) == (held(own) if found else FINE)


def test_every_row_of_a_person_counts_once() -> None:
    """Twenty rows of one baker called Baker are one hit, and so are 500 rows with the number 0 in both columns."""
    names = [f"name{row // 20}" if row >= 20 else "baker" for row in range(2000)]
    assert said(["baker" if row < 60 else "x" for row in range(2000)], names) == FINE
    numbers = [0] * 500 + list(range(1, 9501))
    assert said([0.0 if row < 600 else row + 0.5 for row in range(10_000)], numbers) == FINE
    visits = [row // 6 + 1 for row in range(1800)]
    assert said(visits, visits) == REPEATS
    assert said([one if one <= 5 else 0 for one in visits], visits) == REPEATS
    assert said([one if one <= 4 else 0 for one in visits], visits) == FINE


@pytest.mark.parametrize("own", [str, int, float])
@pytest.mark.parametrize("rows, found", [(4, True), (3, False)])
def test_a_small_column_of_numbers_is_copied(own: Any, rows: int, found: bool) -> None:
    """Where a column holds nothing else, four people are enough."""
    numbers = [1000 + 37 * row for row in range(rows)]
    cells = [own(one) for one in numbers]
    hidden = [str(one) for one in numbers] if own is str else numbers
    assert said(cells, hidden) == (REPEATS if found else FINE)
    assert said([*cells, None], [*hidden, None]) == (REPEATS if found else FINE)
    assert said([*cells, own(7)], [*hidden, hidden[0]]) == FINE


@pytest.mark.parametrize("rows, found", [(13, True), (12, False)])
def test_a_small_column_of_numbers_and_another_is_copied(rows: int, found: bool) -> None:
    """Thirteen different numbers come to their own rows by chance in fewer than one of a thousand million tables."""
    numbers = [1000 + 37 * row for row in range(rows)]
    assert said([*numbers, 7], [*numbers, None]) == (REPEATS if found else FINE)


@pytest.mark.parametrize("seed", range(many(5, 100)))
def test_the_smallest_copy_that_is_always_found(seed: int) -> None:
    """Of 1,000 rows, 14 copies of numbers from 1 on among others as small, and 4 of numbers far from all else."""
    draw = np.random.default_rng(seed)
    numbers = draw.permutation(1000) + 1
    cells = draw.integers(1, 1001, 1000)
    assert said(cells.tolist(), numbers.tolist()) == FINE
    copied = draw.permutation(1000)[:14]
    cells[copied] = numbers[copied]
    assert said(cells.tolist(), numbers.tolist()) == REPEATS
    numbers = draw.permutation(90_000)[:1000] + 10_000
    cells = draw.integers(0, 200, 1000)
    cells[copied[:3]] = numbers[copied[:3]]
    assert said(cells.tolist(), numbers.tolist()) == FINE
    cells[copied[3]] = numbers[copied[3]]
    assert said(cells.tolist(), numbers.tolist()) == REPEATS


@pytest.mark.parametrize("seed", range(many(5, 100)))
def test_honest_numbers_are_no_copies(seed: int) -> None:
    """Counters that run on beside the row number, and measurements of about its size."""
    draw = np.random.default_rng(seed)
    rows = np.arange(1, 1001)
    block = int(draw.integers(10, 400))
    honest = [
        (rows - 1) % block + 1,
        (rows - 1) % 500 + 1,
        np.where(rows <= 300, rows, rows - 250),
        (rows - 1) // int(draw.integers(2, 9)) + 1,
        draw.poisson(500, 1000),
        draw.integers(0, 5, 1000),
    ]
    people = (rows - 1) // 6 + 1
    constant = draw.integers(1, 200, 200)[people - 1]
    order = draw.permutation(1000)
    for cells in honest:
        assert said(cells[order].tolist(), rows[order].tolist()) == FINE
    for cells in (constant, draw.integers(1, 300, 1000), (rows - 1) % 6 + 1):
        assert said(cells[order].tolist(), people[order].tolist()) == FINE


@pytest.mark.parametrize("cell, found", [
    ("born 12.03.1957", True), ("12 March 1957", True), ("03/12/57", True), ("1957-03-12", True),
    ("born 13.03.1957", False), ("1957", False),
])  # fmt: skip
@pytest.mark.parametrize("own", [date(1957, 3, 12), "1957-03-12", "12.03.1957"])
def test_a_date_of_the_row_is_found_in_its_text(cell: str, found: bool, own: Any) -> None:
    others = [type(own)(1990, 1, 1) if isinstance(own, date) else "1990-01-01", None]
    assert said([cell, "seen 2020-05-05", "x"], [own, *others]) == (held(1) if found else FINE)


def test_dates_of_other_rows_are_chance() -> None:
    days = [date(1950, 1, 1) + timedelta(days=17 * row) for row in range(500)]
    notes = [f"seen {days[(row + 7) % 500]:%d.%m.%Y}" for row in range(500)]
    assert said(notes, days) == FINE
    assert said([f"seen {days[0]:%d.%m.%Y}"] * 500, days) == FINE
    notes[20:40] = [f"born {day:%d %B %Y}" for day in days[20:40]]
    assert said(notes, days).endswith("hold their row's 'name'.")


def days(draw: np.random.Generator, rows: int, within: int) -> list[str]:
    return [(date(2024, 1, 1) + timedelta(days=int(day))).isoformat() for day in draw.integers(0, within, rows)]


@pytest.mark.parametrize("rows, within", [(12, 100), (20, 365), (100, 20_000)])
def test_births_and_visits_meet_by_chance(rows: int, within: int) -> None:
    """In a column of dates, written or not, a visit on the day of the own birth is no copy."""
    draw = np.random.default_rng(1)
    for _ in range(many(3, 100)):
        born, visits = days(draw, rows, within), days(draw, rows, within)
        visits[0] = born[0]
        as_dates, as_numbers = map(date.fromisoformat, visits), (int(one.replace("-", "")) for one in visits)
        for cells in (visits, list(as_dates), list(as_numbers)):
            assert said(cells, born) == FINE
        assert said([*visits, *[None] * 5, "unknown"], [*born, *born[:6]]) == FINE


@pytest.mark.parametrize("copied, found", [(3, False), (4, True)])
def test_the_smallest_copy_of_dates_that_is_found(copied: int, found: bool) -> None:
    born = [date(1930, 1, 1) + timedelta(days=19 * row) for row in range(1000)]
    cells = born[:copied] + [date(2020, 1, 1) + timedelta(days=row % 300) for row in range(1000 - copied)]
    assert said(cells, born) == (REPEATS if found else FINE)
    assert said(cells[:copied], born[:copied]) == (REPEATS if found else FINE)


def test_a_date_in_a_text_is_found_in_a_column_of_dates_too() -> None:
    born = [date(1930, 1, 1) + timedelta(days=19 * row) for row in range(20)]
    seen = [f"2020-05-{row + 1:02}" for row in range(20)]
    assert said([f"born {born[0]}", *seen[1:]], born) == held(1)
    assert said([f"{born[0]}", *seen[1:17], "x", "y", "z"], born) == held(1)


def test_numbers_are_compared_as_numbers_and_texts_as_texts() -> None:
    numbers = [7 * row for row in range(20)]
    assert said([float(one) for one in numbers[:-1]] + [0.5], numbers) == REPEATS
    assert said([f"0{one}" for one in numbers], [str(one) for one in numbers]) == FINE
    for blank in ("*", "<missing>", ""):
        assert said([blank] * 20, [blank] * 20) == FINE


def test_nothing_found_is_no_row() -> None:
    none = pl.Series([None, None], dtype=pl.String)
    assert said(["x", "y"], ["Ann", "Bob"]) == FINE
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
