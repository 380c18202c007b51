"""From cells to codes: exactly, in value order, with one sentence where that is impossible."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.build import build_table
from shoal.data.column import Column
from shoal.data.schema import ColumnSpec, Schema
from shoal.data.table import Table
from shoal.data.values import format_number
from shoal.errors import DomainError, InputError, SchemaError, UserError

FLOATS = st.floats(-1e100, 1e100).filter(lambda x: x == 0 or abs(x) >= 1e-100)


def column(values: Any, **settings: Any) -> Column:
    return coded(values, **settings).columns["a"]


def coded(values: Any, **settings: Any) -> Table:
    """One quasi-identifier, coded."""
    frame = pl.DataFrame({"a": values if isinstance(values, pl.Series) else pl.Series(values)})
    schema = Schema(quasi=["a"], specs={"a": ColumnSpec(**settings)})
    return build_table(frame, schema, missing="value")


def assert_exact(table: Table, values: list[Any]) -> None:
    """Codes are ranks, and the text of each code says its value exactly."""
    found, codes = table.columns["a"], table.codes["a"]
    numbers = [None if value is None else Fraction(value) for value in values]
    distinct = sorted({number for number in numbers if number is not None})
    assert codes.dtype == np.int32
    assert found.type == "numeric"
    expected = [len(distinct) if number is None else distinct.index(number) for number in numbers]
    assert codes.tolist() == expected
    assert [Fraction(text) for text in found.texts.to_list()[: len(distinct)]] == distinct
    assert [format_number(number) for number in found.numbers.tolist()] == found.texts.to_list()[
        : len(distinct)
    ]


@given(st.lists(st.integers(-(2**53), 2**53), min_size=1, max_size=20))
def test_integers_are_kept_exactly(values: list[int]) -> None:
    assert_exact(coded([str(value) for value in values]), values)


@given(st.lists(st.integers(-(10**15) + 1, 10**15 - 1), min_size=1, max_size=12), st.integers(0, 25))
def test_decimals_of_15_digits_are_kept_exactly(digits: list[int], places: int) -> None:
    values = [Decimal(one).scaleb(-places) for one in digits]
    table = coded([format(value, "f") for value in values])
    distinct = sorted(set(values))
    assert [Decimal(text) for text in table.columns["a"].texts.to_list()] == distinct
    assert table.codes["a"].tolist() == [distinct.index(value) for value in values]


@given(st.lists(FLOATS, min_size=1, max_size=20))
def test_floats_are_kept_exactly(values: list[float]) -> None:
    found = column(pl.Series(values, dtype=pl.Float64))
    distinct = sorted({value + 0.0 for value in values})
    assert found.numbers.tolist() == distinct
    assert [float(text) for text in found.texts.to_list()] == distinct
    assert column([repr(value) for value in values], type="numeric").numbers.tolist() == distinct


@given(st.lists(st.one_of(st.none(), st.integers(-(2**53), 2**53)), min_size=1, max_size=20))
def test_typed_integers_with_gaps(values: list[int | None]) -> None:
    if any(value is not None for value in values):
        table = coded(pl.Series(values, dtype=pl.Int64))
        found = table.columns["a"]
        assert_exact(table, values)
        assert found.missing == (found.card - 1 if None in values else -1)


def test_typed_decimals() -> None:
    values = [Decimal("0.10"), Decimal("1234567890123.91"), Decimal("-5.00")]
    assert column(pl.Series(values, dtype=pl.Decimal(30, 2))).texts.to_list() == ["-5", "0.1", "1234567890123.91"]


def test_short_floats_mean_what_they_are_written_as() -> None:
    values = pl.Series([0.1, 16777217.0, 0.5], dtype=pl.Float32)
    assert column(values).texts.to_list() == ["0.1", "0.5", "16777216"]
    assert sorted(column(values, type="categorical").texts.to_list()) == ["0.1", "0.5", "16777216"]


@pytest.mark.parametrize(
    "values",
    [
        ["9007199254740992", "9007199254740993"],
        ["9007199254740992", "9007199254740993.5"],
        ["0.1", "0.10000000000000001"],
        ["1", "1e-400", "1e-99999999999999999999"],
        [str(10**30), str(10**30 + 1)],
        pl.Series([2**53 + 1, 1], dtype=pl.Int64),
        pl.Series([2**64 - 1, 0], dtype=pl.UInt64),
        pl.Series([Decimal("123456789012345678.91")], dtype=pl.Decimal(30, 2)),
    ],
)
def test_numbers_that_a_float_would_change_are_refused(values: Any) -> None:
    with pytest.raises(InputError, match="Column 'a' has [12] numbers with more digits than"):
        column(values)
    assert column(values, type="categorical").card == len(values)


@pytest.mark.parametrize("values", [["1e101", "1"], ["-1e300", "1"], ["1e-101", "0"], [5e-324, 1.0]])
def test_numbers_whose_squares_leave_the_range_of_floats_are_refused(values: Any) -> None:
    with pytest.raises(InputError, match="Column 'a' has 1 numbers beyond 1e100"):
        column(values)


def test_categories_that_are_floats_are_named_as_numbers_are() -> None:
    frame = pl.DataFrame({"a": [1.0, 2.5, None]})
    schema = Schema(quasi=["a"], specs={"a": ColumnSpec(type="categorical")})
    table = build_table(frame, schema, missing="value")
    assert table.frame["a"].to_list() == ["1", "2.5", None]


def test_texts_of_one_number_are_one_value() -> None:
    table = coded(["1", "1.0", "1.50", "1.5", "1e1", "10", "+10"])
    assert table.columns["a"].texts.to_list() == ["1", "1.5", "10"]
    assert table.codes["a"].tolist() == [0, 0, 1, 1, 2, 2, 2]


@pytest.mark.parametrize("values", [["-0.0", "0", "5.5"], [-0.0, 0.0, 5.5]])
def test_negative_zero_is_zero(values: list[Any]) -> None:
    assert column(values).texts.to_list() == ["0", "5.5"]


@pytest.mark.parametrize("values", [["01234", "56789"], ["1", "-007"], ["00", "1"]])
def test_leading_zeros_stay_text(values: list[str]) -> None:
    """A postcode is no number: as one it would lose its zeros."""
    found = column(values)
    assert (found.type, found.kind) == ("categorical", "flat")
    assert sorted(found.texts.to_list()) == sorted(values)


def test_zeros_inside_numbers_are_numbers() -> None:
    assert column(["0", "0.5", "-0.25", "10"]).type == "numeric"


def test_one_word_makes_a_column_text() -> None:
    values = [str(number) for number in range(3000)] + ["many"]
    assert column(values).type == "categorical"


@pytest.mark.parametrize(
    "series,expected",
    [
        (["2020-02-29", "1999-01-01"], "date"),
        (["2020-02-30", "1999-01-01"], "categorical"),
        (["yes", "no"], "categorical"),
        ([True, False], "categorical"),
        ([1, 2], "numeric"),
        ([1.5, 2.5], "numeric"),
        ([dt.date(2020, 1, 1)], "date"),
        (pl.Series(["a", "b"], dtype=pl.Categorical), "categorical"),
        (pl.Series([None, None], dtype=pl.String), "categorical"),
    ],
)  # fmt: skip
def test_types_are_found(series: Any, expected: str) -> None:
    assert column(series).type == expected


def test_a_declared_type_wins() -> None:
    assert column(["1", "2"], type="categorical").kind == "flat"
    assert column([1, 2], type="categorical").texts.to_list() == ["1", "2"]


def test_dates_are_days_in_order() -> None:
    table = coded(["2000-03-01", "1969-12-31", "2000-02-29", "1969-12-31"])
    found = table.columns["a"]
    assert found.numbers.tolist() == [-1, 11016, 11017]
    assert found.texts.to_list() == ["1969-12-31", "2000-02-29", "2000-03-01"]
    assert table.codes["a"].tolist() == [2, 0, 1, 0]


def test_dates_with_a_format() -> None:
    found = column(["31/12/1999", "01/02/2000"], format="%d/%m/%Y")
    assert (found.type, found.texts.to_list()) == ("date", ["1999-12-31", "2000-02-01"])


def test_datetimes_at_midnight_may_be_declared_dates() -> None:
    found = column([dt.datetime(2020, 1, 2), dt.datetime(2020, 1, 1)], type="date")
    assert found.texts.to_list() == ["2020-01-01", "2020-01-02"]


def test_times_of_day_are_refused() -> None:
    with pytest.raises(InputError, match="Column 'a' holds times of day"):
        column([dt.datetime(2020, 1, 1, 12)], type="date")


def test_ordinal_columns_keep_the_declared_order() -> None:
    table = coded(["high", "low", "high"], order=["low", "middle", "high"])
    found = table.columns["a"]
    assert (found.type, found.kind) == ("ordinal", "interval")
    assert found.texts.to_list() == ["low", "middle", "high"]
    assert table.codes["a"].tolist() == [2, 0, 2]
    assert found.span == 2.0


def test_text_is_sorted() -> None:
    assert column(["é", "b", "", "a b"]).texts.to_list() == ["", "a b", "b", "é"]


BAD: list[tuple[Any, dict[str, Any], type[UserError], str]] = [
    (["1", "two", "3"], {"type": "numeric"}, InputError, "1 cells are not numbers, the first in row 2"),
    (["1", "nan"], {}, InputError, "1 cells that are NaN or infinite"),
    ([1.0, float("nan"), float("inf")], {}, InputError, "2 cells that are NaN or infinite"),
    (["2020-01-01", "soon"], {"type": "date"}, InputError, "1 cells are not dates of the form YYYY-MM-DD"),
    (
        ["01/02/2000", "2000"],
        {"format": "%d/%m/%Y"},
        InputError,
        "not dates of the form %d/%m/%Y, the first in row 2",
    ),
    (["low", "hgih"], {"order": ["low", "high"]}, DomainError, "1 values that are not in its declared list"),
    ([5, 200], {"domain": [0, 100]}, DomainError, "1 distinct values outside its declared domain"),
    ([True, False], {"type": "numeric"}, SchemaError, "declared numeric but holds Boolean"),
    ([1, 2], {"type": "date"}, SchemaError, "declared a date but holds Int64"),
]


@pytest.mark.parametrize("values,settings,error,message", BAD)
def test_bad_cells(values: Any, settings: dict[str, Any], error: type[UserError], message: str) -> None:
    with pytest.raises(error) as caught:
        column(values, **settings)
    text = str(caught.value)
    assert "Column 'a'" in text
    assert message in text
    assert not any(word in text for word in ("two", "soon", "hgih", "200:"))


def test_an_order_that_repeats_a_value_is_refused() -> None:
    with pytest.raises(UserError, match="order"):
        column(["low", "high"], order=["low", "high", "low"])


@given(FLOATS)
def test_the_text_of_a_number_reads_back(value: float) -> None:
    assert float(format_number(value)) == value
    assert column([value, 1.0]).texts.to_list()[int(value + 0.0 > 1.0)] == format_number(value)


def test_timestamps_at_midnight_are_dates_and_others_are_not() -> None:
    days = pl.Series([dt.datetime(2020, 1, 2), dt.datetime(2019, 5, 6)])
    assert column(days).type == "date"
    assert column(days).texts.to_list() == ["2019-05-06", "2020-01-02"]
    assert column(days.dt.offset_by("3h")).type == "categorical"
