"""How the verifier reads values of every type: one text each, and never two for one or one for two."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.errors import VerificationError
from shoal.verify.values import canonical, distinct, encode, read_together, read_values


def text(value: Any, kind: str = "numeric", dtype: Any = None) -> str | None:
    return canonical(pl.Series([value], dtype=dtype), kind)[0][0]


def number(value: Any, kind: str = "numeric", dtype: Any = None) -> float:
    return float(canonical(pl.Series([value], dtype=dtype), kind)[1][0])


# Rows


@pytest.mark.parametrize("given, found", [([], []), ([5], [5]), ([3, 1, 3, 3, 2, 1], [1, 2, 3]), ([2, 2], [2])])
def test_distinct_numbers(given: list[int], found: list[int]) -> None:
    assert distinct(np.array(given, dtype=np.int64)).tolist() == found


def test_two_columns_have_one_dictionary() -> None:
    values, theirs = read_together(pl.Series(["2.0", "x", None]), pl.Series(["x", "7", "2"]), "numeric")
    assert values.texts.to_list() == ["2", "x", None, "7"]
    assert values.codes.tolist() == [0, 1, 2]
    assert theirs.tolist() == [1, 3, 0]
    assert np.array_equal(values.numbers, [2, np.nan, np.nan, 7], equal_nan=True)


def test_spellings_are_merged_before_they_are_counted() -> None:
    values = read_values(pl.Series(["3", "4", "3.0", "03"]), "numeric")
    assert (values.codes.tolist(), values.texts.to_list()) == ([0, 1, 0, 0], ["3", "4"])
    assert values.numbers.tolist() == [3, 4]
    codes, found = encode(pl.Series([], dtype=pl.String))
    assert (len(codes), len(found)) == (0, 0)


# Types


@pytest.mark.parametrize(
    "series",
    [
        pl.Series("q", [[1], [2]]), pl.Series("q", [{"a": 1}]), pl.Series("q", [b"a"]),
        pl.Series("q", [object()], dtype=pl.Object),
    ],
)  # fmt: skip
def test_values_of_values_are_refused(series: pl.Series) -> None:
    with pytest.raises(VerificationError, match=r"^The column 'q' holds \w+.* values, which cannot be verified: "):
        canonical(series, "categorical")


@pytest.mark.parametrize("kind", ["numeric", "date", "ordinal", "categorical"])
@pytest.mark.parametrize("dtype", [pl.Categorical, pl.Enum(["7", "2020-01-02", "<missing>"]), pl.String])
def test_however_texts_are_stored(dtype: Any, kind: str) -> None:
    found, numbers = canonical(pl.Series(["7", "2020-01-02", "<missing>", None], dtype=dtype), kind)
    assert found.to_list() == ["7", "2020-01-02", None, None]
    readable = {"numeric": [7.0], "date": [18263.0]}.get(kind, [])
    assert numbers[~np.isnan(numbers)].tolist() == readable


@pytest.mark.parametrize("kind", ["numeric", "date", "categorical"])
def test_a_column_of_nothing(kind: str) -> None:
    for series in (pl.Series([None, None]), pl.Series([None, None], dtype=pl.Float64)):
        found, numbers = canonical(series, kind)
        assert found.to_list() == [None, None]
        assert np.isnan(numbers).all()
    assert len(canonical(pl.Series([], dtype=pl.Int64), kind)[0]) == 0


def test_whole_numbers_of_every_width() -> None:
    assert text(2**64 - 1, dtype=pl.UInt64) == str(2**64 - 1)
    assert text(-(2**63), dtype=pl.Int64) == str(-(2**63))
    assert [text(True), text(False), number(True)] == ["1", "0", 1.0]
    assert text(True, "categorical") == "true"


# Numbers


@pytest.mark.parametrize(
    "spellings",
    [
        [0.1, "0.1", "0.1000000000000000000", "1e-1", "100000000000000000e-18"],
        [-2.5, "-2.5", "-2.50000000000000000"],
        [5e-324, "5e-324", "0.5e-323"],
        ["0.123456789012345678", "0.1234567890123456780", "123456789012345678e-18", "+.123456789012345678"],
        ["-0.123456789012345678", "-123456789012345678.0e-18"],
        [18014398509481992.0, "1.801439850948199e+16", "18014398509481990"],
        [float(2**53), "9007199254740992", "9007199254740992.0", 2**53],
        [-0.0, 0.0, "-0", "-0.0", "0e5", "-0.00000000000000000000"],
        ["1" + "0" * 30, "1e30", 1e30, "1000000000000000000000000000000.000"],
    ],
)
def test_one_number_has_one_text(spellings: list[Any]) -> None:
    assert len({text(one) for one in spellings}) == 1


@pytest.mark.parametrize(
    "one, other",
    [
        ("0.123456789012345678", "0.123456789012345677"), ("0.123456789012345678", "1.23456789012345678"),
        ("0.123456789012345678", "-0.123456789012345678"), ("0.1", "0.10000000000000000555"),
        ("1e-20", "2e-20"), (1e-20, 2e-20), (0.1, 0.1 + 2**-56), (2.5, -2.5), (2.5, "2.5000000000000001"),
        ("9007199254740993", "9007199254740992"), (106.5, 106.25), ("100000000000000000.1", "100000000000000000.2"),
        (18014398509481988.0, 18014398509481992.0), ("1.5", "1"), ("-1.5", "-1"),
        ("1234567890123456.5", "1234567890123456"),
    ],
)  # fmt: skip
def test_two_numbers_have_two_texts(one: Any, other: Any) -> None:
    assert text(one) != text(other)


@pytest.mark.parametrize(
    "given, kept",
    [
        (7, "7"), (7.0, "7"), ("007", "7"), ("+7", "7"), (1e16, "10000000000000000"), (0.5, "\x004602678819172646912"),
        ("0.50000000000000000000", "\x004602678819172646912"), ("0.123456789012345678", "\x00123456789012345678e-18"),
        ("-12345678901234567.890", "\x00-1234567890123456789e-2"),
    ],
)  # fmt: skip
def test_texts_go_into_digests_and_so_must_not_change(given: Any, kept: str) -> None:
    assert text(given) == kept


@pytest.mark.parametrize(
    "own",
    [
        "x",
        "inf",
        "1e999",
        "1000000000000000e400",
        "1e-99999999999999999999",
        "nan1234567890123456",
        "one hundred thousand",
        "1_000",
        "0x10",
    ],
)
def test_what_is_no_number_keeps_its_text(own: str) -> None:
    assert text(own) == own
    assert np.isnan(number(own)) or number(own) == 0


def test_infinite_numbers_are_none() -> None:
    found, numbers = canonical(pl.Series([float("inf"), float("nan"), 1.5, -float("inf"), None]), "numeric")
    assert (found[0], found[1], found[3], found[4]) == ("inf", None, "-inf", None)
    assert np.isnan(numbers[[0, 1, 3, 4]]).all()
    assert numbers[2] == 1.5


def test_numbers_as_categories() -> None:
    """A file writes 1.0 where the frame held a whole float; the two are one category."""
    assert [text(1.0, "categorical"), text(1.5, "categorical")] == ["1", text(1.5)]
    found, numbers = canonical(pl.Series([1.5, float("nan"), None]), "categorical")
    assert found.to_list()[1:] == [None, None]
    assert np.isnan(numbers).all()


# Dates


def test_dates_of_every_type() -> None:
    assert text(date(2020, 1, 5), "date") == "2020-01-05"
    assert number(date(1969, 12, 31), "date") == -1
    far = pl.Series([3_000_000], dtype=pl.Int32).cast(pl.Date)  # in a year of five digits
    assert canonical(far, "date")[1].tolist() == [3_000_000]
    for moment in (
        datetime(2020, 1, 5, 12), datetime(2020, 1, 5, 12, tzinfo=UTC), "2020-01-05 12:00:00", " 2020-01-05T12:00:00.0",
    ):  # fmt: skip
        assert text(moment, "date") == "2020-01-05T12:00:00.000000"
        assert number(moment, "date") == 18266.5
    for unit in ("ms", "us", "ns"):
        assert text(datetime(2020, 1, 5, 0, 0, 0, 1000), "date", pl.Datetime(unit)) == "2020-01-05T00:00:00.001000"


@pytest.mark.parametrize("own", ["05.01.2020", "2020-02-30", "2020-01", "soon", "2020-01-05 noon"])
def test_what_is_no_date_keeps_its_text(own: str) -> None:
    assert text(own, "date") == own
    assert np.isnan(number(own, "date"))
