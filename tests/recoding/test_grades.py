"""Graded grouping: strictly increasing, exactly reversible, and refused wherever it would not be."""

from __future__ import annotations

import datetime as dt
import operator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shoal.errors import DomainError, InputError, ParameterError
from shoal.recoding.grading import RULES, GradingTable, correlation

SIGNS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq, "!=": operator.ne}


def grading(bounds: Any, names: Any = None, **given: Any) -> GradingTable:
    pairs = [(Decimal(str(low)), Decimal(str(high))) for low, high in bounds]
    return GradingTable("x", bounds=pairs, names=names or list(range(1, len(pairs) + 1)), **{"decimals": 0, **given})


@st.composite
def gradings(draw: st.DrawFn, rules: tuple[str, ...] = RULES, names: int = 1000) -> tuple[GradingTable, list[int]]:
    """Some categories of whole numbers, and values inside them that the rule allows."""
    ends = sorted(draw(st.lists(st.integers(-(10**6), 10**6), min_size=2, max_size=12, unique=True)))
    pairs = list(zip(ends[::2], ends[1::2], strict=False))
    chosen = sorted(draw(st.lists(st.integers(1, names), min_size=len(pairs), max_size=len(pairs), unique=True)))
    table = grading(pairs, chosen, rule=draw(st.sampled_from(rules)))
    place = st.sampled_from(pairs).flatmap(lambda pair: st.integers(*pair))
    values = sorted(draw(st.sets(place, min_size=1, max_size=20)))
    return table, values


def reference(pairs: list[tuple[int, int]], names: list[int], rule: str, x: int) -> Fraction:
    """The paper's steps, one value at a time."""
    for (low, high), name in zip(pairs, names, strict=True):
        if low <= x <= high:
            if low == high or x == low:
                return Fraction(name)
            member = Fraction(x - low, high - low)
            if rule == "scaled":
                member *= Fraction(999, 1000)
            elif x == high:
                member = Fraction(999, 1000) if rule == "paper" else Fraction(1)
            return name + member
    raise AssertionError("outside")


@given(gradings())
def test_codes_are_those_of_the_definition(case: tuple[GradingTable, list[int]]) -> None:
    table, values = case
    plain = table.reveal()
    pairs = [(int(low), int(high)) for low, high in plain["bounds"]]
    _, codes, _ = table.place(np.array(values))
    expected = [float(reference(pairs, plain["names"], plain["rule"], x)) for x in values]
    assert codes == pytest.approx(expected, abs=1e-12, rel=1e-14)


@given(gradings(rules=("scaled",)))
def test_scaled_codes_rise_strictly_and_come_back(case: tuple[GradingTable, list[int]]) -> None:
    table, values = case
    codes = table.encode(pl.Series(values))
    assert (np.diff(codes.to_numpy()) > 0).all()
    assert table.decode(codes).to_list() == values
    ends = [int(high) for _, high in table.reveal()["bounds"]]
    names = [table.reveal()["names"][np.searchsorted(ends, x)] for x in values]
    assert np.floor(codes.to_numpy()).astype(int).tolist() == names


@given(gradings(rules=("paper", "table8")))
def test_other_rules_come_back_or_are_refused(case: tuple[GradingTable, list[int]]) -> None:
    table, values = case
    try:
        codes = table.encode(pl.Series(values))
    except ParameterError:
        return
    assert (np.diff(codes.to_numpy()) > 0).all()
    assert table.decode(codes).to_list() == values


@given(st.lists(st.floats(-1e12, 1e12), min_size=2, max_size=30, unique=True), st.integers(1, 6))
def test_any_floats_come_back_within_a_billionth_of_the_range(values: list[float], parts: int) -> None:
    ordered = np.unique(np.array(values) + 0.0)
    assume(len(ordered) > 1)
    cut = np.array_split(ordered, min(parts, len(ordered)))
    table = grading([(repr(float(part[0])), repr(float(part[-1]))) for part in cut], decimals=None)
    codes = table.place(ordered)[1]
    if (np.diff(codes) <= 0).any():
        with pytest.raises(ParameterError, match="too close"):
            table.encode_numbers(ordered)
        return
    assert np.array_equal(table.encode_numbers(ordered), codes)
    back = table.decode(pl.Series(codes)).to_numpy()
    assert np.abs(back - ordered).max() <= 1e-9 * (ordered[-1] - ordered[0])


@given(st.integers(10**20, 10**30), st.sets(st.integers(0, 500), min_size=2, max_size=20))
def test_numbers_beyond_floats_are_refused(base: int, offsets: set[int]) -> None:
    values = [base + offset for offset in sorted(offsets)]
    assume(any(int(float(value)) != value for value in values))
    table = grading([(values[0], values[-1])])
    with pytest.raises(InputError, match="more digits than 64-bit floats keep"):
        table.encode(pl.Series([str(value) for value in values]))


@given(gradings(), st.sampled_from(list(SIGNS)), st.floats(0, 1001))
def test_a_threshold_means_the_same(case: tuple[GradingTable, list[int]], sign: str, code: float) -> None:
    table, values = case
    try:
        codes = table.encode(pl.Series(values)).to_list()
    except ParameterError:
        assume(False)
    if sign in ("=", "!="):
        code = codes[int(code) % len(codes)]
    # At a distance of less than a thousandth of a millionth both sides of a threshold are the same code.
    assume(all(abs(one - code) > 1e-8 or one == code for one in codes))
    told, text = table.threshold(sign, code)
    assert [SIGNS[told](x, int(text)) for x in values] == [SIGNS[sign](one, code) for one in codes]


@pytest.mark.parametrize("values", [[14], [31], [100], [15, 31, 40]])
def test_a_value_outside_all_grades_is_refused(values: list[int]) -> None:
    table = grading([(15, 30), (32, 45)])
    with pytest.raises(DomainError, match="1 values of column 'x' lie outside") as refused:
        table.encode(pl.Series(values))
    assert str(values[0]) not in str(refused.value).replace("'x'", "")


def test_rows_outside_are_counted() -> None:
    with pytest.raises(DomainError, match="3 values"):
        grading([(15, 30)]).encode(pl.Series([31, 31, 20, 99, None]))


def test_the_paper_rule_is_refused_where_it_breaks_the_order() -> None:
    table = grading([(0, 100_000)], rule="paper")
    assert table.encode(pl.Series([5, 99_000, 100_000])).to_list() == pytest.approx([1.00005, 1.99, 1.999])
    for values in ([99_999, 100_000], [99_950], [99_900, 100_000]):
        with pytest.raises(ParameterError, match="breaks the order"):
            table.encode(pl.Series(values))


def test_table8_is_refused_where_codes_would_meet() -> None:
    apart = [(15, 30), (31, 45)]
    with pytest.raises(ParameterError, match="gaps between the names"):
        grading(apart, rule="table8").encode(pl.Series([20, 30]))
    assert grading(apart, rule="table8").encode(pl.Series([20, 31, 45])).to_list() == pytest.approx([4 / 3, 2, 3])
    gapped = grading(apart, [2, 4], rule="table8")
    assert gapped.decode(gapped.encode(pl.Series([30, 31]))).to_list() == [30, 31]
    shared = grading([(15, 30), (30, 45)], rule="table8", shared=True)
    assert shared.decode(shared.encode(pl.Series([30]))).to_list() == [30]


def test_the_first_category_takes_a_shared_bound() -> None:
    table = grading([(15, 30), (30, 45)], [2, 4], shared=True)
    assert table.encode(pl.Series([30])).to_list() == [2.999]


def test_a_category_of_one_value_has_no_membership() -> None:
    for rule in RULES:
        assert grading([(7, 7), (9, 9)], rule=rule).encode(pl.Series([7, 9, None])).to_list() == [1.0, 2.0, None]


@pytest.mark.parametrize(
    "bounds,names,what",
    [
        ([], [], "at least one"),
        ([(1, 2)], [1, 2], "names"),
        ([(2, 1)], [1], "lower bound"),
        ([(1, 3), (2, 4)], [1, 2], "overlap"),
        ([(5, 6), (1, 2)], [1, 2], "overlap"),
        ([(1, 2), (2, 4)], [1, 2], "allow_shared_bounds"),
        ([(1, 2), (3, 4)], [2, 1], "increasing"),
        ([(1, 2), (3, 4)], [1, 1], "increasing"),
        ([(1, 2)], [0], "increasing"),
        ([(1, 2)], [1.5], "increasing"),
        ([(1, 2)], [10**7], "1,000,000"),
    ],
)
def test_bad_grades(bounds: Any, names: Any, what: str) -> None:
    with pytest.raises(ParameterError, match=what):
        GradingTable("x", bounds=[(Decimal(a), Decimal(b)) for a, b in bounds], names=names)


def test_an_unknown_rule_is_refused() -> None:
    with pytest.raises(ParameterError, match="max_rule"):
        grading([(1, 2)], rule="papers")


def test_values_too_close_for_a_float_are_refused() -> None:
    with pytest.raises(ParameterError, match="too close"):
        grading([(0, 10**18)], [900_000]).encode_numbers(np.array([0, 1, 2, 10**18]))


@pytest.mark.parametrize("code", [0.5, 1.9999, 2.5, 7.0, 1.5])
def test_numbers_that_are_no_codes_are_not_decoded(code: float) -> None:
    with pytest.raises(DomainError, match="no codes"):
        grading([(10, 13), (20, 20)]).decode(pl.Series([1.0, code]))


def test_six_digits_of_a_code_are_enough() -> None:
    table = grading([(15, 30), (31, 45)], rule="paper")
    assert table.decode(pl.Series([1.666667, 2.357143])).to_list() == [25, 36]


def test_dates_come_back() -> None:
    days = [dt.date(1999, 12, 31), dt.date(2001, 6, 5), dt.date(2020, 2, 29)]
    table = GradingTable("x", bounds=[(Decimal(10_000), Decimal(20_000))], names=[1], decimals=0, type="date")
    assert table.decode(table.encode(pl.Series(days))).to_list() == days
    assert table.threshold("<", table.encode(pl.Series(days))[1]) == ("<", "2001-06-05")


def test_decimals_come_back() -> None:
    table = grading([("0.1", "9.9")], decimals=1)
    values = [0.1, 0.3, 2.5, 9.9]
    assert table.decode(table.encode(pl.Series(values))).to_list() == values
    assert table.threshold("<", 1.5) == ("<", "5.1")


def test_correlation_counts_every_row() -> None:
    x, y, counts = np.array([1.0, 2.0, 5.0]), np.array([2.0, 1.0, 9.0]), np.array([3, 1, 4])
    assert correlation(x, y, counts) == pytest.approx(np.corrcoef(np.repeat(x, counts), np.repeat(y, counts))[0, 1])
    assert correlation(x, np.ones(3)) is None
    assert correlation(np.empty(0), np.empty(0)) is None


def test_the_neighbour_of_the_largest_of_a_billion_values_is_told_from_it() -> None:
    table = grading([(0, 1_000_000_000)])
    values = pl.Series([0, 999_999_999, 1_000_000_000])
    assert table.decode(table.encode(values)).to_list() == values.to_list()
