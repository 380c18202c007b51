"""The grammar of cells: what is written reads back, and nothing else reads."""

from __future__ import annotations

import math
import subprocess
import sys
from datetime import date
from decimal import Decimal
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import shoal.recoding.cell_text
from shoal.data.values import format_date, format_number
from shoal.errors import InputError, InternalError, ParameterError
from shoal.recoding.cell_text import (
    Interval,
    Label,
    Missing,
    Set,
    Star,
    Value,
    escape,
    format_interval,
    format_set,
    interval_texts,
    parse,
    unescape,
)

# Plain text would seldom hit the grammar, so its own characters come up often.
texts = (
    st.text(st.sampled_from("\\{}|*[]<>,\"'\n\r\t ab0é漢\U0001f41f\u0000"))
    | st.text()
    | st.sampled_from(
        [
            "",
            "*",
            "<missing>",
            "\\",
            "[1,2]",
            "{a|b}",
            "\\*",
            "**",
            "[",
            "<",
            "{",
            "}",
            "|",
            ",",
            "]",
            "a,b]",
            "\\\\",
        ]
    )
)
integers = st.integers(-(10**40), 10**40)
floats = st.floats(allow_nan=False, allow_infinity=False)
decimals = st.decimals(allow_nan=False, allow_infinity=False)
days = st.integers(date.min.toordinal() - 719163, date.max.toordinal() - 719163)
KINDS = ["interval", "label", "set", "value"]
TYPES = ["numeric", "date", "ordinal", "categorical"]


@pytest.mark.parametrize(
    "number, text",
    [
        (0, "0"), (-7, "-7"), (10**40, "1" + "0" * 40), (-(10**20), "-1" + "0" * 20), (10**41, "1e41"),
        (12345 * 10**40, "1.2345e44"), (True, "1"), (np.int64(5), "5"), (np.float64(2.5), "2.5"),
        (3.0, "3"), (-0.0, "0"), (0.1, "0.1"), (1e15, "1" + "0" * 15), (1e16, "1" + "0" * 16),
        (1.5e20, "150000000000000000000"), (1e300, "1e300"), (-1.5e300, "-1.5e300"), (5e-324, "5e-324"),
        (1e-7, "0.0000001"), (1e-8, "1e-8"), (1.25e-8, "1.25e-8"), (123456.789, "123456.789"),
        (Decimal("1.50"), "1.5"), (Decimal("-0.00"), "0"), (Decimal("1E+3"), "1000"), (Decimal("0E+50"), "0"),
        (Decimal("100.0"), "100"), (Decimal("1234567890" * 3 + "1.50"), "1234567890" * 3 + "1.5"),
    ],
)  # fmt: skip
def test_numbers(number: int | float | Decimal, text: str) -> None:
    assert format_number(number) == text


@given(integers)
def test_integers_are_written_out(number: int) -> None:
    assert format_number(number) == str(number)


@given(floats)
@example(5e-324)
@example(2.2250738585072014e-308)
@example(1e300)
@example(-0.0)
@example(math.pi)
@example(9007199254740993.0)
def test_floats_read_back(number: float) -> None:
    text = format_number(number)
    assert float(text) == number
    assert len(text.lstrip("-").replace(".", "").split("e")[0].strip("0")) <= 17


@given(integers | floats | decimals)
def test_equal_numbers_have_equal_text(number: int | float | Decimal) -> None:
    exact = Decimal(repr(number)) if isinstance(number, float) else Decimal(number)
    text = format_number(number)
    assert Decimal(text) == exact
    assert format_number(Decimal(text)) == text
    assert format_number(exact) == text
    assert text != "-0"


@pytest.mark.parametrize(
    "number", [math.inf, -math.inf, math.nan, Decimal("NaN"), Decimal("Infinity"), Decimal("sNaN")]
)
def test_numbers_are_finite(number: float | Decimal) -> None:
    with pytest.raises(InputError, match="finite"):
        format_number(number)


@given(days)
def test_dates_read_back(day: int) -> None:
    text = format_date(day)
    assert (date.fromisoformat(text) - date(1970, 1, 1)).days == day
    assert len(text) == 10


@pytest.mark.parametrize("day, text", [(0, "1970-01-01"), (-719162, "0001-01-01"), (2932896, "9999-12-31")])
def test_dates(day: int, text: str) -> None:
    assert format_date(day) == text


@pytest.mark.parametrize("day", [-719163, 2932897])
def test_dates_outside_the_calendar(day: int) -> None:
    with pytest.raises(InputError, match="years 1 to 9999"):
        format_date(day)


@pytest.mark.parametrize(
    "text, cell",
    [
        ("plain", "plain"), ("", ""), ("*", r"\*"), ("a*", "a*"), ("*a", "*a"), ("[x]", "[x]"), ("a[", "a["),
        ("<missing>", r"\<missing>"), ("<=50K", "<=50K"), ("a|b", "a|b"), ("{}", r"\{}"), ("\\", r"\\"),
        ("a,b", "a,b"), ("a\\", "a\\"), ("}", "}"),
    ],
)  # fmt: skip
def test_escaping(text: str, cell: str) -> None:
    assert escape(text) == cell
    assert unescape(cell) == text


@given(texts, st.sampled_from(["interval", "set"]))
def test_escaping_reads_back(text: str, kind: str) -> None:
    assert unescape(escape(text, kind)) == text


def test_only_what_would_be_read_otherwise_is_escaped() -> None:
    assert escape("[15,19]") == "[15,19]"
    assert escape("[15,19]", "interval") == "\\[15,19]"
    assert escape("{a}", "interval") == "{a}"
    assert format_set(["<=50K", "{a}", "b\\c", "d|e", "*"]) == "{<=50K|{a}|b\\\\c|d\\|e|*}"


@pytest.mark.parametrize("kind, type", list(product(KINDS, TYPES)))
def test_star_and_missing_are_the_same_everywhere(kind: str, type: str) -> None:
    assert parse("*", kind, type) == Star()
    assert parse("<missing>", kind, type) == Missing()


@given(texts.filter(lambda text: text not in ("*", "<missing>")), st.sampled_from(TYPES))
def test_labels_are_never_parsed(text: str, type: str) -> None:
    assert parse(text, "label", type) == Label(text)


@given(texts, st.sampled_from(["ordinal", "categorical"]), st.sampled_from(["interval", "set"]))
def test_values_of_text_read_back(text: str, type: str, kind: str) -> None:
    assert parse(escape(text, kind), kind, type) == Value(text)


@given(texts.filter(lambda text: text not in ("*", "<missing>")))
def test_values_stand_as_they_are(text: str) -> None:
    assert parse(text, "value", "categorical") == Value(text)


@given(integers | floats | decimals, st.sampled_from(["interval", "set", "value"]))
def test_numbers_read_back(number: int | float | Decimal, kind: str) -> None:
    text = format_number(number)
    assert escape(text) == text
    assert parse(text, kind, "numeric") == Value(text)


@given(days, st.sampled_from(["interval", "set", "value"]))
def test_days_read_back(day: int, kind: str) -> None:
    text = format_date(day)
    assert escape(text) == text
    assert parse(text, kind, "date") == Value(text)


@given(texts, texts, st.sampled_from(["ordinal", "categorical"]))
def test_intervals_of_text_read_back(low: str, high: str, type: str) -> None:
    expected = Value(low) if low == high else Interval(low, high)
    assert parse(format_interval(low, high), "interval", type) == expected


@given(st.lists(integers | floats | decimals, min_size=2, max_size=2))
def test_intervals_of_numbers_read_back(numbers: list[int | float | Decimal]) -> None:
    low, high = sorted(map(format_number, numbers), key=Decimal)
    cell = format_interval(low, high)
    assert cell == (low if low == high else f"[{low},{high}]")
    assert parse(cell, "interval", "numeric") == (Value(low) if low == high else Interval(low, high))


@given(days, days)
def test_intervals_of_dates_read_back(one: int, other: int) -> None:
    low, high = format_date(min(one, other)), format_date(max(one, other))
    cell = format_interval(low, high)
    assert parse(cell, "interval", "date") == (Value(low) if low == high else Interval(low, high))


@given(st.lists(texts, min_size=1, max_size=5, unique=True), st.sampled_from(["ordinal", "categorical"]))
def test_sets_read_back(values: list[str], type: str) -> None:
    expected = Value(values[0]) if len(values) == 1 else Set(tuple(values))
    assert parse(format_set(values), "set", type) == expected


@given(
    st.lists(texts, min_size=2, max_size=2, unique=True), st.lists(texts, min_size=2, max_size=3, unique=True)
)
def test_different_cells_have_different_text(ends: list[str], values: list[str]) -> None:
    interval, members = format_interval(*ends), format_set(values)
    assert len({"*", "<missing>", escape(ends[0]), members}) == 4
    assert len({"*", "<missing>", escape(ends[0], "interval"), interval}) == 4
    assert (format_set(ends) == members) == (ends == values)


def test_sets_keep_the_order_given() -> None:
    assert format_set(["b", "a"]) == "{b|a}"


def test_an_empty_set_is_our_fault() -> None:
    with pytest.raises(InternalError):
        format_set([])


@given(st.sampled_from(["interval", "set"]), st.sampled_from(TYPES), texts)
def test_what_reads_is_written_the_same_way(kind: str, type: str, text: str) -> None:
    try:
        cell = parse(text, kind, type)
    except InputError:
        return
    is_text = type in ("ordinal", "categorical") or kind == "set"
    match cell:
        case Value(value):
            assert (escape(value, kind) if is_text else value) == text
        case Interval(low, high):
            assert format_interval(low, high) == text
        case Set(values):
            assert format_set(values) == text
        case _:
            assert text in ("*", "<missing>")


@pytest.mark.parametrize(
    "cell, kind, type",
    [
        ("[1,2", "interval", "numeric"), ("[1]", "interval", "numeric"), ("[1,2,3]", "interval", "numeric"),
        ("[", "interval", "numeric"), ("[]", "interval", "numeric"), ("[1,1]", "interval", "numeric"),
        ("[2,1]", "interval", "numeric"), ("[1,x]", "interval", "numeric"),
        ("[1,nan]", "interval", "numeric"),
        ("[1, 2]", "interval", "numeric"), ("x", "interval", "numeric"), ("", "interval", "numeric"),
        ("1_0", "interval", "numeric"), ("٣", "interval", "numeric"), ("1e9999999", "interval", "numeric"),
        ("[2020-01-02,2020-01-01]", "interval", "date"), ("[2020-02-30,2020-03-01]", "interval", "date"),
        ("20200101", "interval", "date"), ("1", "interval", "date"),
        ("[a,b\\]", "interval", "ordinal"), ("[a,b", "interval", "ordinal"),
        ("[a\\,b]", "interval", "ordinal"),
        ("{a|b", "set", "categorical"), ("{a}", "set", "categorical"), ("{}", "set", "categorical"),
        ("{", "set", "categorical"), ("{a|a}", "set", "categorical"), ("{a|b\\}", "set", "categorical"),
        ("{a\\b|c}", "set", "categorical"), ("{a\\}", "set", "categorical"), ("{a\\,b|c}", "set", "categorical"),
        ("\\a", "set", "categorical"), ("\\<a", "set", "categorical"), ("\\[a", "set", "categorical"),
        ("\\", "set", "categorical"), ("\\*a", "set", "categorical"), ("\\{a", "interval", "ordinal"),
    ],
)  # fmt: skip
def test_malformed_cells(cell: str, kind: str, type: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(cell, kind, type)
    assert "check" in str(caught.value)


@pytest.mark.parametrize(
    "cell", ["[secret", "[secret,secret]", "{secret", "{secret|secret}", "\\secret", "{se\\cret|a}"]
)
def test_messages_do_not_show_the_cell(cell: str) -> None:
    kind = {"[": "interval", "{": "set"}.get(cell[0], "set")
    with pytest.raises(InputError) as caught:
        parse(cell, kind, "categorical")
    assert "cret" not in str(caught.value)


def test_unknown_kinds_and_types() -> None:
    with pytest.raises(ParameterError, match="Did you mean 'interval'"):
        parse("1", "intervals", "numeric")
    with pytest.raises(ParameterError, match="Did you mean 'numeric'"):
        parse("1", "value", "numerical")


@given(st.lists(st.tuples(texts, texts), max_size=8))
def test_interval_texts_equal_the_scalar(pairs: list[tuple[str, str]]) -> None:
    pairs = [*pairs, *((low, low) for low, _ in pairs)]
    low, high = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    found = interval_texts(low, high)
    assert found.dtype == pl.String
    assert found.to_list() == [format_interval(*pair) for pair in pairs]
    assert interval_texts(pl.Series("a", low, dtype=pl.String), pl.Series("a", high, dtype=pl.String)).equals(
        found
    )


def test_interval_texts_keep_nulls() -> None:
    assert interval_texts(["1", None], ["2", "3"]).to_list() == ["[1,2]", None]  # type: ignore[list-item]


def test_interval_texts_of_different_lengths() -> None:
    with pytest.raises(InternalError, match="1 and 2"):
        interval_texts(["1"], ["1", "2"])


def test_the_module_does_not_load_polars() -> None:
    code = "import sys, shoal.recoding.cell_text; assert 'polars' not in sys.modules"
    source = Path(shoal.recoding.cell_text.__file__).parents[2]
    subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": str(source)}, check=True)
