"""Cells that other tools write: which values each covers."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.errors import InputError
from shoal.recoding.cover import Cover
from shoal.recoding.foreign_cells import foreign_cover


def covered(cover: Cover, values: list[Any]) -> list[list[bool]]:
    """Whether each released row's cell covers each value, the plain way."""
    atoms = cover.place(pl.Series(cover.name, values, strict=False))
    found = []
    for cell in cover.cell:
        runs = range(cover.run_at[cell], cover.run_at[cell + 1])
        found.append([any(cover.low[run] <= atom <= cover.high[run] for run in runs) for atom in atoms])
    return found


def cover(cells: list[Any], type: str | None = None, **more: Any) -> Cover:
    return foreign_cover({"name": "c", "type": type, **more}, pl.DataFrame({"c": cells}))


@pytest.mark.parametrize("cell, inside, outside", [
    ("25", [25, 25.0], [24, 26]),
    ("[20,29]", [20, 29, 24.5], [19, 30, 29.5]),
    ("[20, 30[", [20, 29.9], [30, 19]),
    ("[20,30)", [20, 29], [30]),
    ("]20;30]", [21, 30], [20, 31]),
    ("(20, 30)", [21, 29], [20, 30]),
    ("20-29", [20, 29], [19, 30]),
    ("-5--2", [-5, -2, -3], [-6, -1, 3]),
    ("20..29", [20, 29], [30]),
    ("20 to 29", [20, 29], [30]),
    ("[20-30)", [20, 29], [30]),
    ("<20", [19, -100], [20]),
    ("<= 20", [20, 19], [21]),
    (">60", [61], [60]),
    ("≥60", [60, 1000], [59]),
    ("60+", [60, 1000], [59]),
    ("[60,)", [60, 1000], [59]),
    ("(-inf,20]", [20, -1000], [21]),
    ("2*", [20, 29, 29.5], [19, 30, 2, 200]),
    ("*", [5, None], []),
])  # fmt: skip
def test_numbers(cell: str, inside: list[float], outside: list[float]) -> None:
    # Beside another cell whose ends must not move the atoms.
    made = cover([cell, "[22,23]"])
    assert made.bounds is not None
    values = [*inside, *outside]
    assert covered(made, values)[0] == [True] * len(inside) + [False] * len(outside)


@pytest.mark.parametrize("cell, inside, outside", [
    ("2024-05-03", ["2024-05-03"], ["2024-05-04"]),
    ("2024-02", ["2024-02-01", "2024-02-29"], ["2024-01-31", "2024-03-01"]),
    ("2024-01-01 - 2024-01-31", ["2024-01-31"], ["2024-02-01"]),
    ("[2024-01-01,2024-02-01[", ["2024-01-31"], ["2024-02-01"]),
    (">2024-05", ["2024-06-01"], ["2024-05-31"]),
])  # fmt: skip
def test_dates(cell: str, inside: list[str], outside: list[str]) -> None:
    made = cover([cell, "2024-01-15"])
    assert made.type == "date"
    assert covered(made, [*inside, *outside])[0] == [True] * len(inside) + [False] * len(outside)


def test_a_year_is_a_number_unless_it_is_said_to_be_a_date() -> None:
    assert cover(["2024"]).type == "numeric"
    assert covered(cover(["2024"], "date"), ["2024-12-31", "2025-01-01"]) == [[True, False]]


def test_masks_at_either_end_keep_the_length() -> None:
    made = cover(["SW1**", "SW2AA", "*****", "<missing>", None])
    values = ["SW1AA", "SW2AA", "SW1A", "SW1AAA", "EC1AA", None]
    assert covered(made, values) == [
        [True, False, False, False, False, False],
        [False, True, False, False, False, False],
        [True] * 6,
        [False] * 5 + [True],
        [False] * 5 + [True],
    ]
    assert covered(cover(["***AA", "*****"]), ["SW1AA", "SW1AB"]) == [[True, False], [True, True]]


def test_sets_and_plain_texts() -> None:
    made = cover(["{a|b}", "{b, c}", "d", "[odd", "*"])
    assert covered(made, ["a", "b", "c", "d", "[odd", "e"]) == [
        [True, True, False, False, False, False],
        [False, True, True, False, False, False],
        [False, False, False, True, False, False],
        [False, False, False, False, True, False],
        [True] * 6,
    ]
    # Stars in the middle are no mask: the cell is the text it shows.
    assert covered(cover(["a*b", "x"]), ["a*b", "aab"])[0] == [True, False]


def test_labels_are_looked_up_and_never_parsed() -> None:
    rows = [["20", "[20, 30[", "*"], ["25", "[20, 30[", "*"], ["31", "30+", "*"]]
    made = cover(["[20, 30[", "31", "*"], hierarchy=rows)
    assert covered(made, [25, 31, 20.0]) == [[True, False, True], [False, True, False], [True] * 3]
    with pytest.raises(InputError, match="has 1 labels that its hierarchy lacks"):
        cover(["[30, 40["], hierarchy=rows)


@pytest.mark.parametrize("type, message", [("numeric", "1 different cells that are no number"), ("date", "no date")])
def test_a_declared_type_holds_for_every_cell(type: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        cover(["Anna", "30"] if type == "numeric" else ["Anna"], type)
    assert "Anna" not in str(caught.value)


def test_numbers_as_categories_and_numbers_of_parquet() -> None:
    assert covered(cover([1, 2], "categorical"), ["1", "3"]) == [[True, False], [False, False]]
    assert covered(cover([1.5, 2.0]), [1.5, 2]) == [[True, False], [False, True]]
    assert np.all(cover(["30-20", "x"]).cell == [0, 1])  # an interval the wrong way round is a text like any other
