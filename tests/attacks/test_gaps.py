"""Gap patterns: who is alone with the days between their dates."""

from __future__ import annotations

import datetime as dt
from collections import Counter

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import ParameterError
from shoal.recoding.secrets import shift_dates
from shoal.risk.attacks.gaps import gap_patterns

DAY = dt.date(2020, 1, 1)


def dates(offsets: list[int | None]) -> pl.Series:
    return pl.Series([None if days is None else DAY + dt.timedelta(days) for days in offsets], dtype=pl.Date)


@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.integers(0, 4), st.one_of(st.none(), st.integers(0, 4))),
        min_size=1,
        max_size=25,
    )
)
def test_the_share_is_that_of_the_definition(rows: list[tuple[int, int, int | None]]) -> None:
    who = pl.Series([f"p{person}" for person, _, _ in rows])
    columns = {"in": dates([first for _, first, _ in rows]), "out": dates([second for _, _, second in rows])}
    patterns = {}
    for person in {row[0] for row in rows}:
        mine = [(0, first) for one, first, _ in rows if one == person]
        mine += [(1, second) for one, _, second in rows if one == person and second is not None]
        start = min(day for _, day in mine)
        patterns[person] = tuple(sorted((column, day - start) for column, day in mine))
    counts = Counter(patterns.values())
    expected = sum(counts[pattern] == 1 for pattern in patterns.values()) / len(patterns)
    assert gap_patterns(columns, who).value == pytest.approx(expected)
    moved = {name: shift_dates(days.alias(name), who, bytes(32), days=50) for name, days in columns.items()}
    assert gap_patterns(moved, who).value == pytest.approx(expected)


def test_one_date_a_person_has_no_gaps() -> None:
    found = gap_patterns({"seen": dates([1, 7, 30])}, pl.Series(["a", "b", "c"]))
    assert found.value == 0.0


def test_gaps_that_single_people_out_are_counted() -> None:
    found = gap_patterns({"seen": dates([0, 3, 0, 9, 5, 5])}, pl.Series(list("aabbcd")))
    assert found.value == 0.5
    assert "50.0% of the 4 people" in found.sentence


def test_a_date_column_is_needed() -> None:
    with pytest.raises(ParameterError, match="date column"):
        gap_patterns({}, pl.Series(["a"]))
