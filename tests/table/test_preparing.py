"""Columns that are derived, recoded, coded at their ends and rounded before anything else looks at them."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.data.derive import FEWEST, derived_from, prepared, refuse_batched, with_derived
from shoal.data.schema import ColumnSpec
from shoal.errors import InputError, ParameterError, SchemaError


def made(values: dict[str, list[Any]], column: str, subject: str | None = None, **settings: Any) -> list[Any]:
    frame = pl.DataFrame(values)
    found = prepared(frame, {column: ColumnSpec(**settings)}, subject)
    assert frame.equals(pl.DataFrame(values))
    return found[column].to_list()


BORN = {"born": ["2000-02-29", "1999-12-31", None], "seen": ["2024-02-28", "2024-12-31", "2024-01-01"]}


@pytest.mark.parametrize("derive, found", [
    ({"years": ["born", "seen"]}, [23, 25, None]),
    ({"years": "born", "at": "2024-02-29"}, [24, 24, None]),
    ({"days": ["born", "seen"]}, [8765, 9132, None]),
    ({"days": "seen", "at": "2024-03-01"}, [2, -305, 60]),
    ({"year": "born"}, [2000, 1999, None]), ({"month": "born"}, ["2000-02", "1999-12", None]),
    ({"first": "born", "length": 3}, ["200", "199", None]),
])  # fmt: skip
def test_derived_columns(derive: dict[str, Any], found: list[Any]) -> None:
    assert made(BORN, "new", derive=derive) == found


def test_dates_of_every_type_and_format() -> None:
    frame = pl.DataFrame({"a": ["31.01.2020"], "b": [date(2021, 1, 31)], "c": [datetime(2021, 1, 30, 23)]})
    specs = {"a": ColumnSpec(format="%d.%m.%Y"), "b2": ColumnSpec(derive={"years": ["a", "b"]}),
             "c2": ColumnSpec(derive={"years": ["a", "c"]})}  # fmt: skip
    assert prepared(frame, specs).row(0)[-2:] == (1, 0)
    with pytest.raises(InputError, match="'b2' is derived from the dates of 'a', of which 1 cells are no dates"):
        prepared(frame, {"b2": specs["b2"]})


def test_a_column_may_be_cut_in_its_place() -> None:
    assert made({"zip": ["12345", "67"]}, "zip", derive={"first": "zip", "length": 3}) == ["123", "67"]
    # What a cut leaves at the edge is lost as it is when cells are read: "SW 1" and "SW" are one area.
    assert made({"zip": ["SW 1", "SW"]}, "zip", derive={"first": "zip", "length": 3}) == ["SW", "SW"]


@pytest.mark.parametrize("values, settings, found", [
    ([17, 18, 42, 90, 91, None], {"round": 5}, [15, 20, 40, 90, 90, None]),
    (["17", "42.5", "-2.5", None], {"round": 5}, ["15", "45", "-5", None]),
    ([0.14, 0.15], {"round": 0.1}, [0.1, 0.2]),
    ([10**30, 12], {"round": 10}, [1e30, 10.0]),
    ([88, 90, 104], {"top": 90}, ["88", "90+", "90+"]),
    (["88", "90.0", "104"], {"top": 90}, ["88", "90+", "90+"]),
    ([88, 90, 104], {"top": {"at": 90, "as": 95}}, [88, 95, 95]),
    ([88, 90, 104], {"top": {"at": 90, "as": 92.5}}, [88.0, 92.5, 92.5]),
    ([3, 17, 18, 19], {"bottom": 18}, ["<=18", "<=18", "<=18", "19"]),
    ([3, 17, 18, 19], {"bottom": {"at": 17, "as": "minor"}}, ["minor", "minor", "18", "19"]),
    ([3, 88, 91], {"bottom": 10, "top": 90, "round": 5}, ["<=10", "90", "90+"]),
])  # fmt: skip
def test_numbers(values: list[Any], settings: dict[str, Any], found: list[Any]) -> None:
    values = values if 10**30 not in values else [float(x) for x in values]
    assert made({"x": values}, "x", **settings) == found


def test_the_mean_beyond_an_end() -> None:
    values = [*range(5), *range(100, 100 + FEWEST)]
    found = made({"x": values}, "x", top={"at": 100, "as": "mean"})
    assert found == [*range(5), *[105] * FEWEST]  # 104.5
    assert made({"x": [x / 4 for x in values]}, "x", top={"at": 25, "as": "mean"})[-1] == 26.13
    with pytest.raises(InputError, match="Only 9 people are beyond the end of column 'x'"):
        made({"x": values}, "x", top={"at": 101, "as": "mean"})
    with pytest.raises(InputError, match="Only 1 people"):
        made({"x": values, "id": ["a"] * len(values)}, "x", subject="id", top={"at": 100, "as": "mean"})


def test_dropped_rows_count_in_no_mean() -> None:
    """Their values move no mean, make it no fraction, and are no people who hide the others."""
    values = [*range(5), *range(100, 100 + FEWEST)]
    specs = {"x": ColumnSpec(top={"at": 100, "as": "mean"}), "y": ColumnSpec(recode={"m": "m", "?": "<missing>"})}
    for odd in (100, 900_000, 200.5):
        frame = pl.DataFrame({"x": [float(one) for one in [*values, odd]], "y": [*"m" * len(values), "?"]})
        assert prepared(frame, specs, required=["x", "y"])["x"].to_list()[:-1] == [*range(5), *[105] * FEWEST]
        with pytest.raises(InputError, match="Only 9 people"):
            prepared(frame.slice(6), specs, required=["x", "y"])
        alone = prepared(pl.DataFrame({"x": [1.0, odd], "y": ["m", "?"]}), specs, required=["x", "y"])
        assert alone["x"].to_list()[0] == 1.0
    table = shoal.read(
        pl.DataFrame({"x": [*values, 900_000], "y": [*["m"] * len(values), None]}),
        quasi=["x", "y"], missing="drop", settings={"x": {"top": {"at": 100, "as": "mean"}}},
    )  # fmt: skip
    assert sorted(set(table.kept["x"].to_list()))[-1] == 105


def test_recodes() -> None:
    values = {"x": ["a", "b", None, "c"]}
    assert made(values, "x", recode={"a": "z", "b": "a"}, recode_else="keep") == ["z", "a", None, "c"]
    assert made(values, "x", recode={"a": "z", "b": "z", "c": "y"}) == ["z", "z", None, "y"]
    assert made({"x": [1, 2]}, "x", recode={"1": "one"}, recode_else="keep") == ["one", "2"]
    assert made({"x": ["?", "7"]}, "x", recode={"?": "0"}, recode_else="keep", round=5) == ["0", "5"]
    with pytest.raises(InputError, match="'x' has 2 different values that its 'recode' does not list: add them"):
        made(values, "x", recode={"a": "z"})


def test_what_becomes_missing_is_missing() -> None:
    """``<missing>`` is how a release writes it, and no value anywhere."""
    assert made({"x": ["a", "b"]}, "x", recode={"a": "<missing>"}, recode_else="keep") == [None, "b"]
    assert made({"x": [88, 104]}, "x", top={"at": 90, "as": "<missing>"}) == ["88", None]
    frame = pl.DataFrame({"q": ["u", "v"] * 6, "s": ["a", "b", "?"] * 4})
    settings = {"s": {"recode": {"?": "<missing>"}, "recode_else": "keep"}}
    table = shoal.read(frame, quasi=["q"], sensitive=["s"], settings=settings, missing="value")
    release = shoal.anonymize(table, algorithm="mondrian", models=["k=2", "distinct-l=2"], seed=1)
    assert release.frame["s"].null_count() == 4
    with pytest.raises(InputError, match="There are missing cells in s"):
        shoal.read(frame, quasi=["q"], sensitive=["s"], settings=settings)


def test_batches_are_changed_as_the_whole_is() -> None:
    frame = pl.DataFrame({"born": ["1990-01-01", "1950-06-30", "1920-01-02"] * 3, "x": list(range(9))})
    specs = {
        "age": ColumnSpec(derive={"years": "born", "at": "2026-01-01"}, top=90, round=10),
        "x": ColumnSpec(bottom={"at": 2, "as": 2}),
    }
    parts = [prepared(frame.slice(at, 2), specs) for at in range(0, 9, 2)]
    assert pl.concat(parts).equals(prepared(frame, specs))
    assert prepared(frame, specs)["age"].to_list() == ["40", "80", "90+"] * 3


def test_names_of_columns() -> None:
    specs = {"age": ColumnSpec(derive={"years": ["a", "b"]}), "zip": ColumnSpec(derive={"first": "zip", "length": 2})}
    assert derived_from(specs) == ["a", "b"]
    assert with_derived(["a", "b", "zip"], specs) == ["a", "b", "zip", "age"]


def test_what_is_done_is_named_without_values() -> None:
    spec = ColumnSpec(derive={"first": "a", "length": 2}, recode={"a": "b"}, top=3, bottom=1, round=2)
    assert spec.techniques == ["derived", "recoded", "top-coded", "bottom-coded", "rounded"]
    assert ColumnSpec(type="numeric").techniques == []


@pytest.mark.parametrize("settings, words", [
    ({"derive": {"age": "born"}}, "The 'derive' of a column must be a table such as"),
    ({"derive": "born"}, "The 'derive' of a column must be a table such as"),
    ({"derive": {"years": "born"}}, "by 'years' must name two columns of dates, or one and 'at'"),
    ({"derive": {"years": ["a", "b"], "at": "2020-01-01"}}, "by 'years' must name one column"),
    ({"derive": {"year": ["a", "b"]}}, "by 'year' must name one column"),
    ({"derive": {"year": "a", "at": "2020-01-01"}}, "by 'year' has no entry 'at'"),
    ({"derive": {"years": "a", "at": "soon"}}, "must be a date such as"),
    ({"derive": {"first": "a"}}, "The 'length' of a derived column must be a whole number of at least 1"),
    ({"top": "ninety"}, "The 'top' of a column must be a number such as 90"),
    ({"top": {"at": 9, "with": 3}}, "The 'top' of a column must be a number such as 90"),
    ({"bottom": {"at": 9, "as": ""}}, "The 'as' of a column's 'bottom' must be a number, a text"),
    ({"top": 3, "bottom": 3}, "The 'bottom' of a column must be below its 'top'"),
    ({"round": 0}, "The 'round' of a column must be a number"),
    ({"recode": {}}, "The 'recode' of a column must be a table"),
    ({"recode": {"a": " "}}, "makes a value an empty cell"),
    ({"recode": {"a": "b"}, "recode_else": "drop"}, "The 'recode_else' of a column must be one of error, keep"),
])  # fmt: skip
def test_settings_that_cannot_be(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError) as caught:
        ColumnSpec(**settings)
    assert words in str(caught.value)


def test_columns_that_cannot_be() -> None:
    with pytest.raises(SchemaError, match="'age' is derived from 'born', and there is no such column. Did you mean"):
        made({"borne": ["2020-01-01"]}, "age", derive={"year": "born"})
    with pytest.raises(SchemaError, match="'x' is to be derived, and the source has one already"):
        made({"x": [1], "born": ["2020-01-01"]}, "x", derive={"year": "born"})
    with pytest.raises(InputError, match="'x' is to be rounded or coded at its ends, and 2 of its different values"):
        made({"x": ["1", "a", "b", "inf"][:3]}, "x", round=5)
    with pytest.raises(InputError, match="1 of its different values are no numbers"):
        made({"x": ["1", "inf"]}, "x", round=5)


def test_means_need_all_rows() -> None:
    refuse_batched({"x": ColumnSpec(top=90)}, "duckdb")
    with pytest.raises(ParameterError, match="The mean of column 'x' beyond its end needs all rows at once"):
        refuse_batched({"x": ColumnSpec(bottom={"at": 1, "as": "mean"})}, "duckdb")
