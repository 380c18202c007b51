"""Ends of intervals that are somebody's own value, and what excuses them: a grid, a domain, a crowd."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.verify.cells import read_cells
from shoal.verify.manifest import read_claims
from tests.verify.cases import hospital_case, manifest
from tests.verify.whole import check_ends

FINE = "No end of an interval is a value that only few people have."
WAY = 'generalise these columns, or give them snap = "off" and acknowledge W-TIGHT'


def ends(
    values: list[Any], standing: list[str], grid: float | None = None, *, models: Any = (), subject: Any = None,
    grids: Any = None, read: bool = True, gone: Any = (), step: float | None = None, **column: Any,
) -> str:  # fmt: skip
    """What is said of a column ``q`` with these cells, beside one whose grid nobody gave."""
    entry = {"name": "q", "role": "quasi", "type": "numeric", "cells": "interval"} | column
    other = {key: value for key, value in entry.items() if key != "columns"} | {"name": "r", "cells": "interval"}
    claims = read_claims(manifest([entry, other], models))
    case = hospital_case(
        original=pl.DataFrame({"q": values, "r": values}), grids={"q": grid} if grids is None else grids,
        subject=None if subject is None else pl.Series("who", subject), suppressed=np.array(gone, dtype=np.int64),
        steps={} if step is None else {"q": step, "r": step},
    )  # fmt: skip
    texts = pl.Series(standing)
    found = check_ends(case, claims, {column.name: read_cells(column, texts) for column in claims.columns if read})
    assert found.name == "ends"
    assert found.passed is (found.detail == FINE)
    return found.detail.removesuffix(f": {WAY}.")


def rare(count: int, crowd: int = 2) -> str:
    return f"{count} ends of intervals of 'q' are values of fewer than {crowd} released people"


def test_a_value_of_one_person_is_no_end() -> None:
    assert ends([1, 1, 2, 3, 3], ["[1,3]"]) == FINE
    assert ends([1, 1, 2, 3, 3], ["[1,2]", "2"]) == rare(1)
    assert ends([1, 2, 3], ["[1,3]", "[2,3]", "*", "<missing>"]) == rare(3)
    assert ends([1, 2, 3, None], ["[0,4]", "*", "<missing>"]) == FINE


def test_only_columns_whose_grid_is_given_are_looked_at() -> None:
    assert ends([1, 2], ["[1,2]"], grids={}) == FINE
    assert ends([1, 2], ["[1,2]"], read=False) == FINE
    assert ends([1, 2], ["1", "2"], cells="representative") == FINE
    assert ends([1, 2], ["[1,2]"], cells="bounds", columns=["low", "high"]) == rare(2)
    assert ends([1, 2], ["1", "2"], cells="value") == FINE


def test_a_crowd_is_as_large_as_a_class_has_to_be() -> None:
    values = [1, 1, 2, 2, 2]
    assert ends(values, ["[1,2]"]) == FINE
    assert ends(values, ["[1,2]"], models=[{"name": "k", "k": 2}]) == FINE
    assert ends(values, ["[1,2]"], models=[{"name": "k", "k": 3}]) == rare(1, 3)
    assert ends(values, ["[1,2]"], models=[{"name": "k", "k": 4}]) == rare(2, 4)


def test_people_are_counted_where_they_are_known() -> None:
    assert ends([1, 1, 2, 2], ["[1,2]"], subject=["a", "a", "b", "c"]) == rare(1)


@pytest.mark.parametrize(
    "end, grid, on",
    [
        (20, 10, True), (25, 10, False), (25, None, False), (-30, 10, True), (0.3, 0.1, True), (4, 0.5, True),
        (1e-9, 1, True), (0.5e-9, 1, True), (1.5e-9, 1, False), (1000.0000005, 1, True), (1000.00001, 1, False),
    ],
)  # fmt: skip
def test_an_end_on_the_grid_is_nobodys(end: float, grid: float | None, on: bool) -> None:
    """Sums of decimals are off the grid by a rounding that grows with them."""
    assert ends([end, 90, 90], [f"[{end},90]"] if end < 90 else [f"[90,{end}]"], grid) == (FINE if on else rare(1))


def test_the_ends_of_a_domain_are_nobodys() -> None:
    assert ends([0, 5, 9], ["[0,9]"], domain=["0", "9"]) == FINE
    assert ends([0, 5, 9], ["[0,5]"], domain=["0", "9"]) == rare(1)


def test_dates_have_ends_too() -> None:
    days = np.array(["2020-01-01", "2020-01-05", "2020-01-09"]).tolist()
    assert ends(days, ["[2020-01-01,2020-01-09]"], type="date") == rare(2)


def test_suppressed_people_are_no_crowd() -> None:
    assert ends([1, 1, 3, 3, 3], ["[1,3]"], gone=[4]) == FINE
    assert ends([1, 1, 3, 3, 3], ["[1,3]"], gone=[3, 4]) == rare(1)
    assert ends([1, 1, 3, 3], ["[1,3]"], subject=["a", "b", "c", "d"], gone=[0]) == rare(1)


@pytest.mark.parametrize(
    "kind, values", [("numeric", [1, 2, 7, 7]), ("date", ["2020-01-01", "2020-01-02", "2020-01-07"])]
)
def test_ends_that_the_recipe_leaves_as_they_are_are_values_of_released_people(kind: str, values: list[Any]) -> None:
    cells = [f"[{values[0]},{values[1]}]"]
    assert ends(values, cells, grids={}, type=kind) == FINE
    said = [f"1 ends of intervals of '{name}' are values of suppressed people alone" for name in "qr"]
    assert ends(values, cells, grids={}, type=kind, gone=[1]) == "; ".join(said)


def test_a_declared_grid_may_meet_a_suppressed_value() -> None:
    assert ends([1, 20, 7], ["[0,20]"], grids={}, gone=[1], step=10) == FINE
    assert ends([1, 21, 7], ["[0,21]"], grids={}, gone=[1], step=10) != FINE
