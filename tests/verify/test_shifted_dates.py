"""Shifted dates at the gate: moved alike for each person and no further than the manifest says."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.verify.gate import gate
from shoal.verify.report import GateCase
from tests.verify.cases import check_of, failed, manifest
from tests.verify.whole import check_shifted

FIRST = date(2020, 1, 1)
DAYS = 9


def check(
    old: list[int | None], new: list[int | None], who: list[str], days: int = DAYS, rows: list[int] | None = None
) -> Any:
    def dates(values: list[int | None]) -> pl.Series:
        return pl.Series([None if day is None else FIRST + timedelta(day) for day in values], dtype=pl.Date)

    places = np.arange(len(old)) if rows is None else np.array(rows)
    return check_shifted([("seen", dates(new), dates(old), places, days)], pl.Series(who))


FINE = "The dates of every person moved alike, within the limit."


@pytest.mark.parametrize(
    "old, new, who, detail",
    [
        ([0, 10, 20], [3, 13, 16], ["p", "p", "q"], FINE),
        ([0, 10], [9, 1], ["p", "q"], FINE),
        ([0, None, 20], [3, None, 16], ["p", "p", "q"], FINE),
        ([0, 10], [10, 20], ["p", "q"], "2 dates of 'seen' moved further than 9 days."),
        ([0, 10], [-10, 10], ["p", "q"], "1 dates of 'seen' moved further than 9 days."),
        ([0, 10], [3, 14], ["p", "p"], "the dates of 1 people or more did not move alike."),
        ([0, 10, 20], [3, 14, 25], ["p", "p", "p"], "the dates of 2 people or more did not move alike."),
        ([0, None], [3, 5], ["p", "q"], "1 dates of 'seen' are missing, or should be."),
        ([0, 10, 20], [3, None, None], ["p", "q", "q"], "2 dates of 'seen' are missing, or should be"),
    ],
)
def test_moves(old: list[Any], new: list[Any], who: list[str], detail: str) -> None:
    found = check(old, new, who)
    assert found.detail.startswith(detail)
    assert found.passed is (detail == FINE)


@pytest.mark.parametrize("people, passes", [(19, True), (20, False), (21, False)])
def test_twenty_people_who_all_stay_are_no_chance(people: int, passes: bool) -> None:
    names = [f"p{place}" for place in range(people)]
    days: list[int | None] = list(range(people))
    found = check(days, days, names)
    assert found.passed is passes
    assert found.detail == (FINE if passes else "no date moved at all.")
    assert check(days, [1, *days[1:]], names).passed


def test_rows_are_those_of_the_input() -> None:
    assert check([0, 10], [3, 13], ["x", "p", "p"], rows=[1, 2]).passed
    assert check([0, 10], [3, 14], ["p", "q", "q"], rows=[0, 1]).passed
    assert not check([0, 10], [3, 14], ["p", "q", "q"], rows=[2, 1]).passed


def test_dates_need_an_owner() -> None:
    found = check_shifted([("seen", pl.Series([FIRST]), pl.Series([FIRST]), np.arange(1), 9)], None)
    assert (found.passed, found.detail) == (False, "Dates are said to be shifted, but nobody is said to own them.")


# At the gate

N = 12


def shifted_case(two_tables: bool = False, role: str = "sensitive", **changes: Any) -> GateCase:
    """Twelve people in groups of three, everybody's date moved by as many days as the number of their row."""
    original = pl.DataFrame(
        {
            "age": [20 + row // 3 for row in range(N)],
            "seen": [FIRST + timedelta(30 * row) for row in range(N)],
            "note": ["flu", "cold", "gout"] * (N // 3),
        }
    )
    moved = original.with_columns(seen=pl.Series([FIRST + timedelta(31 * row) for row in range(N)]))
    columns = [
        {"name": "age", "role": "quasi", "type": "numeric", "cells": "value"},
        {"name": "seen", "role": role, "type": "date", "cells": "value", "coded": "shifted", "days": 11},
        {"name": "note", "role": "sensitive", "type": "categorical", "cells": "value"},
    ]
    source = np.random.default_rng(3).permutation(N)
    fields: dict[str, Any] = {
        "original": original, "source": source, "suppressed": np.array([], dtype=np.int64), "n_read": N, "n_dropped": 0,
        "identifiers": pl.DataFrame(), "subject": pl.Series("who", [f"P{row}" for row in range(N)]),
        "neutral_limit": 1.0, "uncoded": {"seen": columns[1] | {"coded": None}},
        "released": moved.with_columns(pl.col("age").cast(pl.String))[source],
        "manifest": manifest(columns, [], people=True),
    }  # fmt: skip
    if two_tables:
        origin = source[np.lexsort((-source, source // 3))]
        left = ["age", "seen"] if role == "neutral" else ["age"]
        right = ["note"] if role == "neutral" else ["seen", "note"]
        fields |= {
            "released": moved[source].select(*left).with_columns(group=pl.Series(source // 3)),
            "apart": moved[origin].select(pl.Series(origin // 3).alias("group"), *right),
            "values_from": origin,
            "manifest": manifest(
                columns, [], people=True, kind="bucketised", group="group", publication="tables",
                acknowledged=["W-EXACT-QI"],
            ),
        }  # fmt: skip
    return GateCase(**(fields | changes))


def later(frame: pl.DataFrame, row: int = 0) -> pl.DataFrame:
    """One date a month later, further than anybody may move."""
    return frame.with_columns(
        seen=pl.when(pl.int_range(pl.len()) == row).then(pl.col("seen").dt.offset_by("1mo")).otherwise("seen")
    )


@pytest.mark.parametrize("role", ["sensitive", "neutral"])
@pytest.mark.parametrize("two_tables", [False, True])
def test_dates_are_compared_with_those_of_their_own_rows(role: str, two_tables: bool) -> None:
    case = shifted_case(two_tables, role)
    report = gate(case)
    assert failed(report) == []
    assert check_of(report, "shifted dates").detail == FINE
    table = "apart" if two_tables and role == "sensitive" else "released"
    damaged = GateCase(**(vars(case) | {table: later(vars(case)[table])}))
    assert failed(gate(damaged)) == ["shifted dates"]


def test_suppressed_rows_have_no_date_to_compare() -> None:
    case = shifted_case()
    gone = np.array([0, 1, 2])
    star = pl.Series(np.isin(case.source, gone))
    texts = case.released.cast(pl.String)
    frame = texts.select(pl.when(star).then(pl.lit("*")).otherwise(pl.col(name)).alias(name) for name in texts.columns)
    starred = shifted_case(
        released=frame, suppressed=gone, manifest=dict(case.manifest) | {"suppressed": "star"}
    )
    assert failed(gate(starred)) == []
    kept = shifted_case(released=frame, manifest=dict(case.manifest) | {"suppressed": "star"})
    assert "shifted dates" in failed(gate(kept))
