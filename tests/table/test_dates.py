"""A released column that looks like dates is never read as plain text without a word."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pandas as pd
import polars as pl
import pytest

import shoal
from shoal.data.dates import look_at
from shoal.errors import SchemaError

DAYS = [dt.date(1930, 1, 1) + dt.timedelta(days=97 * step) for step in range(240)]
AMBIGUOUS = [day for day in DAYS if day.day <= 12]
FORMATS = [
    "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d", "%d.%m.%y",
    "%d%m%Y", "%m%d%Y", "%d %m %Y",
    "%m/%d/%y", "%d %B %Y", "%d. %B %Y", "%B %d, %Y", "%d-%B-%Y", "%d.%m.%Y %H:%M", "%m/%d/%Y %I:%M %p",
    "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%SZ",
]  # fmt: skip
MONTHS = [
    "Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober", "November",
    "Dezember",
]  # fmt: skip


def written(form: str, days: list[dt.date] = DAYS) -> list[str]:
    """The days in a form, at some time of the day."""
    return [dt.datetime.combine(day, dt.time(day.day % 24, day.month)).strftime(form) for day in days]


def frame(born: Any) -> pl.DataFrame:
    return pl.DataFrame({"born": born, "disease": ["flu", "cold", "gout"] * (len(born) // 3)})


def read(born: Any, role: str = "quasi", **settings: Any) -> shoal.Table:
    roles: dict[str, list[str]] = {"quasi": ["sex"], "sensitive": ["disease"]}
    roles[role] = [*roles.get(role, []), "born"]
    source = frame(born).with_columns(sex=pl.Series(["M", "F"] * (len(born) // 2)))
    return shoal.read(source, settings={"born": settings} if settings else {}, **roles)


@pytest.mark.sample(24)
@pytest.mark.parametrize("role", ["quasi", "sensitive", "neutral"])
@pytest.mark.parametrize("form", FORMATS)
def test_every_form_is_refused_in_every_role_and_read_as_declared(form: str, role: str) -> None:
    with pytest.raises(SchemaError) as error:
        read(written(form), role)
    assert f'format = "{form}"' in str(error.value)
    assert "1930" not in str(error.value)
    table = read(written(form), role, type="date", format=form)
    if role != "neutral" and "%y" not in form:
        assert table.columns["born"].texts.to_list() == [day.isoformat() for day in DAYS]
    assert read(written(form), role, type="categorical").n == len(DAYS)


@pytest.mark.parametrize("form", ["%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%m-%d-%Y"])
def test_what_may_be_read_in_two_ways_is_told_both(form: str) -> None:
    look = look_at(pl.Series(written(form, AMBIGUOUS)))
    mark = form[2]
    assert look is not None
    assert set(look.formats) == {f"%d{mark}%m{mark}%Y", f"%m{mark}%d{mark}%Y"}


@pytest.mark.parametrize("many", [12, 96])
@pytest.mark.parametrize("form", ["%Y-%m-%d", "%d.%m.%Y"])
def test_words_for_unknown_make_no_category_of_a_date(form: str, many: int) -> None:
    with pytest.raises(SchemaError, match=r"mostly like dates.*missing_markers"):
        read(["unknown"] * many + written(form)[many:])


@pytest.mark.parametrize(
    "cells",
    [
        written("%d.%m.%Y")[:120] + written("%Y-%m-%d")[120:],
        [f"{day.day}. {MONTHS[day.month - 1]} {day.year}" for day in DAYS],
        written("%Y-%m-%d %H:%M")[:120] + written("%Y-%m-%dT%H:%M:%S")[120:],
    ],
)
def test_dates_that_no_format_reads_are_refused_too(cells: list[str]) -> None:
    with pytest.raises(SchemaError, match="write plain dates"):
        read(cells)


@pytest.mark.parametrize(
    "cells",
    [
        ["10.20.30", "10.20.31", "40.50.60"], ["560054", "560055", "560056"], ["123-45-6789"], ["2020-2021"],
        ["1.5", "2.5"],
        ["12345678", "99999999", "10000000"], [None, None], ["a", "b"], ["1930-01-01", "1931-01-01"],
        ["01.02", "02.03"], ["12:30", "13:30"],
    ],
)  # fmt: skip
def test_what_is_no_date_passes(cells: list[str | None]) -> None:
    assert look_at(pl.Series(cells, dtype=pl.String)) is None


@pytest.mark.parametrize("zone", [None, "Europe/Berlin", "America/New_York"])
@pytest.mark.parametrize("library", ["polars", "pandas", "pyarrow"])
def test_midnights_of_any_zone_are_that_zones_days(library: str, zone: str | None) -> None:
    cells = pl.Series([dt.datetime(day.year, day.month, day.day) for day in DAYS]).dt.replace_time_zone(zone)
    source: Any = frame(cells)
    if library == "pandas":
        source = source.to_pandas()
    elif library == "pyarrow":
        source = source.to_arrow()
    table = shoal.read(source, quasi=["born"], sensitive=["disease"])
    assert table.columns["born"].type == "date"
    assert table.columns["born"].texts.to_list() == [day.isoformat() for day in DAYS]


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
@pytest.mark.parametrize("role", ["quasi", "sensitive", "neutral"])
def test_times_of_day_need_a_word(role: str, zone: str | None) -> None:
    cells = pl.Series([dt.datetime(day.year, day.month, day.day, 12, day.month) for day in DAYS])
    cells = cells.dt.replace_time_zone(zone)
    with pytest.raises(SchemaError, match="times of day"):
        read(cells, role)
    assert read(cells, role, type="categorical").n == len(DAYS)


@pytest.mark.parametrize("kind", [dt.date, dt.datetime])
def test_dates_of_the_standard_library_in_pandas_are_dates(kind: type) -> None:
    cells = pd.Series([kind(day.year, day.month, day.day) for day in DAYS], dtype=object)
    source = pd.DataFrame({"born": cells, "disease": ["flu", "cold", "gout"] * 80})
    assert shoal.read(source, quasi=["born"], sensitive=["disease"]).columns["born"].type == "date"


def test_whole_numbers_of_a_frame_are_dates_too() -> None:
    cells = [int(text) for text in written("%Y%m%d")]
    with pytest.raises(SchemaError, match='format = "%Y%m%d"'):
        read(cells)
    table = read(cells, type="date", format="%Y%m%d")
    assert table.columns["born"].texts.to_list() == [day.isoformat() for day in DAYS]
    release = shoal.anonymize(table, models=[shoal.KAnonymity(k=5), shoal.DistinctL(l=2)], seed=1)
    assert all(check.passed for check in release.checks)


def test_every_column_is_named_at_once() -> None:
    source = frame(written("%d.%m.%Y")).with_columns(seen=pl.Series(written("%m/%d/%Y")))
    with pytest.raises(SchemaError, match=r"'born'.*'seen'"):
        shoal.read(source, quasi=["born"], sensitive=["disease"], neutral=["seen"])
