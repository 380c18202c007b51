"""The verifier's own reading of values and cells."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

import numpy as np
import polars as pl
import pytest

from shoal.verify.cells import outside_domain, parse_ends, parse_set, parse_text, read_cells, split_cells
from shoal.verify.coverage import uncovered
from shoal.verify.manifest_column import Column
from shoal.verify.values import canonical, encode, group_rows, read_values


def column(cells: str, kind: str = "categorical", **changes: object) -> Column:
    fields = {
        "name": "q", "role": "quasi", "type": kind, "cells": cells, "hierarchy": None, "order": None,
        "domain": None, "non_answers": (),
    }  # fmt: skip
    return Column.model_construct(**(fields | changes))  # type: ignore[arg-type]


def covers(described: Column, cell: str, value: object) -> bool:
    values = read_values(pl.Series([value], dtype=pl.String if value is None else None), described.type)
    cells = read_cells(described, pl.Series([cell]))
    return uncovered(described, cells, np.array([0]), values, values.codes) == 0


# Values


@pytest.mark.parametrize(
    "spellings, kind",
    [
        ([3, 3.0, "3", "3.0", "+3", "03", " 3", Decimal("3.00"), "3e0"], "numeric"),
        ([0.1, "0.1", "0.10", "1e-1", ".1", Decimal("0.100")], "numeric"),
        ([0, -0.0, "-0", "0.0"], "numeric"),
        ([1e20, "100000000000000000000", "1e20"], "numeric"),
        ([1234567890123456789, "1234567890123456789", "+01234567890123456789"], "numeric"),
        ([date(2020, 1, 5), datetime(2020, 1, 5), "2020-01-05", "2020-01-05T00:00:00"], "date"),
        ([datetime(2020, 1, 5, 13, 4), "2020-01-05 13:04:00", "2020-01-05T13:04:00.000"], "date"),
        ([1, 1.0, "1"], "categorical"),
        (["100000000000000000000000", "1e23", 1e23], "numeric"),
        ([True, "true"], "categorical"),
        ([None, "<missing>", float("nan")], "numeric"),
    ],
)
def test_spellings_of_one_value_agree(spellings: list[object], kind: str) -> None:
    texts = {canonical(pl.Series([value]), kind)[0][0] for value in spellings}
    assert len(texts) == 1


@pytest.mark.parametrize(
    "values, kind",
    [
        (["3", "3.1", "x", None, "*", "inf", "1234567890123456789", "1234567890123456788"], "numeric"),
        (["2020-01-05", "2020-01-06", "05.01.2020", "2020-13-01"], "date"),
        (["1", "01", "1.00", "1.5", "a", "A", " a"], "categorical"),
    ],
)
def test_different_values_stay_different(values: list[str], kind: str) -> None:
    assert canonical(pl.Series(values), kind)[0].n_unique() == len(values)


def test_numbers_of_values() -> None:
    assert canonical(pl.Series(["2", "x", "inf", None]), "numeric")[1].tolist()[0] == 2
    assert np.isnan(canonical(pl.Series(["2", "x", "inf", None]), "numeric")[1][1:]).all()
    assert canonical(pl.Series([date(1970, 1, 3)]), "date")[1].tolist() == [2]
    assert canonical(pl.Series(["1970-01-03"]), "date")[1].tolist() == [2]


def test_single_precision_is_read_as_it_is_written() -> None:
    assert (
        canonical(pl.Series([0.1], dtype=pl.Float32), "numeric")[0][0]
        == canonical(pl.Series([0.1]), "numeric")[0][0]
    )


def test_groups_are_by_exact_equality_and_null_equals_null() -> None:
    group, first = group_rows(pl.DataFrame({"a": ["x", "y", "x", None, None], "b": [1, 1, 1, 2, 2]}))
    assert group.tolist() == [0, 1, 0, 2, 2]
    assert first.tolist() == [0, 1, 3]
    codes, values = encode(pl.Series(["b", "a", "b"]))
    assert codes.tolist() == [0, 1, 0]
    assert values.to_list() == ["b", "a"]


# Texts and sets


@pytest.mark.parametrize(
    "cell, value",
    [
        ("a", "a"), ("", ""), ("a|b", "a|b"), (r"\*", "*"), ("[x", "[x"), (r"\<missing>", "<missing>"),
        (r"\\", "\\"), (r"\{}", "{}"), ("2*3", "2*3"), ("a,b", "a,b"), ("ä\n", "ä\n"), ("<=50K", "<=50K"),
        (r"a\|b", r"a\|b"), ("a\\", "a\\"), ("**", "**"), (r"\\a", r"\a"),
        ("*", None), ("<missing>", None), (r"\[x", None), (r"\<x", None), ("{a}", None), (r"\a", None), ("\\", None),
    ],
)  # fmt: skip
def test_texts(cell: str, value: str | None) -> None:
    assert parse_text(cell) == value


def test_which_mark_opens_several_texts() -> None:
    assert (parse_text("[a", "["), parse_text("{a", "["), parse_text(r"\[a", "[")) == (None, "{a", "[a")


@pytest.mark.parametrize(
    "cell, values",
    [
        ("{a|b}", ["a", "b"]), ("a", ["a"]), ("{|a}", ["", "a"]), (r"{a\|b|{}", ["a|b", "{"]),
        ("{*|b}", ["*", "b"]), ("{<=50K|>50K}", ["<=50K", ">50K"]), (r"{a\\|b}", ["a\\", "b"]),
        ("{a|b|c}", ["a", "b", "c"]), ("a|b}", ["a|b}"]), ("{a|{b}}", ["a", "{b}"]), ("{a|}b}", ["a", "}b"]),
        ("{a}", None), ("{}", None), ("{a|b", None), (r"{\*|b}", None), (r"{a\|b}", None),
        ("{a|b\\}", None),
    ],
)  # fmt: skip
def test_sets(cell: str, values: list[str] | None) -> None:
    assert parse_set(cell) == values


# Coverage by kind


@pytest.mark.parametrize(
    "cell, value, expected",
    [
        ("[1,3]", 1, True), ("[1,3]", 3, True), ("[1,3]", 2.5, True), ("[1,3]", "2", True),
        ("[1,3]", 3.1, False),
        ("3", 3.0, True), ("3", "3.0", True), ("3", 4, False), ("[-2,-1]", -1.5, True),
        ("[1e-07,0.5]", 0.1, True),
        ("*", 9, True), ("*", None, True), ("<missing>", None, True), ("<missing>", 1, False),
        ("[1,3]", None, False),
        ("[3,1]", 2, False), ("[1,3)", 2, False), ("[1;3]", 2, False), ("", 2, False), ("[1,2,3]", 2, False),
        ("[1,3]", "x", False), ("x", "x", False),
    ],
)  # fmt: skip
def test_number_intervals(cell: str, value: object, expected: bool) -> None:
    assert covers(column("interval", "numeric"), cell, value) is expected


@pytest.mark.parametrize(
    "cell, value, expected",
    [
        ("[2020-01-01,2020-12-31]", date(2020, 2, 29), True),
        ("[2020-01-01,2020-12-31]", "2020-02-29", True),
        ("[2020-01-01,2020-12-31]", "2021-01-01", False),
        ("2020-01-01", datetime(2020, 1, 1), True),
        ("[2020-13-01,2021-01-01]", "2020-12-31", False),
        ("2020", "2020-01-01", False),
    ],
)
def test_date_intervals(cell: str, value: object, expected: bool) -> None:
    assert covers(column("interval", "date"), cell, value) is expected


@pytest.mark.parametrize(
    "cell, value, expected",
    [
        ("[low,high]", "mid, or so", True), (r"[low,mid\, or so]", "high", False),
        (r"[low,mid\, or so]", "low", True),
        ("mid, or so", "mid, or so", True), ("low", "high", False), ("[high,low]", "mid, or so", False),
        ("[low,mid, or so]", "low", False), ("[low,top]", "low", False),
    ],
)  # fmt: skip
def test_ordinal_intervals(cell: str, value: str, expected: bool) -> None:
    described = column("interval", "ordinal", order=["low", "mid, or so", "high"])
    assert covers(described, cell, value) is expected


TREE = [
    ["17", "teen", "*"],
    ["18", "teen", "*"],
    ["40", "40", "*"],
    ["<missing>", "<missing>", "*"],
]


@pytest.mark.parametrize(
    "cell, value, expected",
    [
        ("teen", 17, True), ("teen", "18", True), ("teen", 40, False), ("40", 40.0, True), ("17", 17, True),
        ("17", 18, False),
        ("*", 40, True), ("*", 99, True), ("teen", 99, False), ("<missing>", None, True),
        ("teen", None, False),
        ("adult", 40, False),
    ],
)  # fmt: skip
def test_labels(cell: str, value: object, expected: bool) -> None:
    assert covers(column("label", "numeric", hierarchy=TREE), cell, value) is expected


def test_a_root_with_another_name_covers_the_missing_leaf_below_it() -> None:
    rows = [["a", "any"], ["<missing>", "any"]]
    assert covers(column("label", hierarchy=rows), "any", None)
    assert not covers(column("label", hierarchy=[["a", "any"]]), "any", None)


@pytest.mark.parametrize(
    "kind, cell, value, expected",
    [
        ("set", "{a|b}", "a", True), ("set", "{a|b}", "c", False), ("set", "a", "a", True),
        ("set", r"{a\|b|c}", "a|b", True),
        ("set", r"\*", "*", True), ("set", r"\*", "x", False), ("value", "a", "a", True),
        ("value", "{a|b}", "a", False),
        ("value", "a|b", "a|b", True), ("set", "{a|b}", None, False),
    ],
)  # fmt: skip
def test_sets_and_values(kind: str, cell: str, value: object, expected: bool) -> None:
    assert covers(column(kind), cell, value) is expected


def test_a_set_of_numbers_with_something_else_in_it_covers_nothing() -> None:
    assert covers(column("set", "numeric"), "{1|2}", 2.0)
    assert not covers(column("set", "numeric"), "{1|two}", 1)


def test_declared_domains_bound_intervals() -> None:
    described = column("interval", "numeric", domain=(0.0, 10.0))
    cells = read_cells(described, pl.Series(["[0,10]", "[-1,5]", "[5,11]", "*", "<missing>"]))
    assert outside_domain(described, cells) == 2


def test_ends_of_a_domain_are_in_it() -> None:
    described = column("interval", "numeric", domain=(0.0, 10.0))
    for cell, outside in (("[0,10]", 0), ("0", 0), ("10", 0), ("[0,10.5]", 1), ("[-0.5,10]", 1), ("*", 0)):
        assert outside_domain(described, read_cells(described, pl.Series([cell]))) == outside
    free = column("interval", "numeric")
    assert outside_domain(free, read_cells(free, pl.Series(["[0,99]"]))) == 0
    numbers = column("set", "numeric", domain=(0.0, 10.0))
    assert outside_domain(numbers, read_cells(numbers, pl.Series(["{1|99}"]))) == 0


# Which cells can be read

ORDER = ["low", "mid, or so", "high"]


@pytest.mark.parametrize(
    "described, good, bad",
    [
        (column("label", "numeric", hierarchy=TREE), ["17", "teen"], ["18.0", "19", "adult", "Teen"]),
        (column("label", hierarchy=[["a", None, "any"], [None, "b+", "any"]]), ["a", "b+", "any"], ["b", ""]),
        (column("interval", "numeric"), ["3", "[1,3]", "[3,3]"], ["[3,1]", "x", "[1,x]", "[x,3]", "{1|3}", ""]),
        (column("bounds", "date"), ["2020-01-01", "[2020-01-01,2020-01-02]"], ["2020", "[2020-01-02,2020-01-01]"]),
        (column("interval", "ordinal", order=ORDER), ["low", "[low,high]"], ["[high,low]", "top", "[low]"]),
        (column("representative", "ordinal", order=[*ORDER, "[low,high]"]), ["low", "[low,high]"], ["top"]),
        (column("set"), ["a", "{a|b}", "12", r"\*", "{a|*}", "[a", "<=5"], ["{a}", "{a", r"\a"]),
        (column("set", "numeric"), ["1", "{1|2.5}"], ["{1|two}", "two", "{1|}", "{two|1}"]),
        (column("set", "date"), ["2020-01-01", "{2020-01-01|2020-01-03}"], ["{2020-01-01|soon}", "soon"]),
        (column("value"), ["a", "a,b", r"a\|b", "{a|b}", "[a", r"\*"], []),
        (column("value", "numeric"), ["1", "-5e3", " 7"], ["one", "{1|2}", "[1,2]", r"\*"]),
        (column("value", "date"), ["2020-01-01"], ["soon", "{2020-01-01|2020-01-02}"]),
    ],
)  # fmt: skip
def test_cells_that_can_be_read(described: Column, good: list[str], bad: list[str]) -> None:
    cells = read_cells(described, pl.Series([*good, *bad, "*", "<missing>"]))
    assert cells.valid.tolist() == [True] * len(good) + [False] * len(bad) + [True, True]
    assert cells.star.tolist() == [False] * len(good + bad) + [True, False]
    assert cells.missing.tolist() == [False] * len(good + bad) + [False, True]


def test_members_of_cells() -> None:
    """Of a set with something unreadable in it no member is left, and ``*`` and ``<missing>`` have none."""
    texts = pl.Series(["*", "{1|2.0}", "<missing>", "{3|x}", "4"])
    assert read_cells(column("set", "numeric"), texts).members.rows() == [(1, "1"), (1, "2"), (4, "4")]
    assert read_cells(column("value"), pl.Series([r"\*", "*", "{a"])).members.rows() == [(0, r"\*"), (2, "{a")]
    cells = read_cells(column("interval", "numeric"), pl.Series(["[1,3]", "5"]))
    assert (cells.low.tolist(), cells.high.tolist(), cells.members.height) == ([1, 5], [3, 5], 0)


@pytest.mark.parametrize(
    "cell, ends",
    [
        ("[a,b]", ["a", "b"]), (r"[a\,b,c]", ["a,b", "c"]), ("[,]", ["", ""]), (r"[\\,b]", ["\\", "b"]),
        ("[a,b,c]", None), ("[a]", None), ("a,b", None), ("[a,b", None), ("a,b]", None), ("[a\n,b]", ["a\n", "b"]),
    ],
)  # fmt: skip
def test_ends_of_intervals(cell: str, ends: list[str] | None) -> None:
    assert parse_ends(cell) == ends


def test_cells_are_split_as_they_are_parsed_one_by_one() -> None:
    rng = np.random.default_rng(5)
    marks = np.array([*"ab{}|*[<\\,\n é"])
    texts = ["".join(rng.choice(marks, rng.integers(0, 7))) for _ in range(3000)]
    cells = list(dict.fromkeys([*texts, *(f"{{{text}}}" for text in texts), "{a|b}", "{a||b}", "{|}", "{a|*}", "{a}"]))
    for sets in (True, False):
        parsed = [parse_set(cell) if sets else [cell][: cell not in ("*", "<missing>")] for cell in cells]
        wanted = [(place, value) for place, values in enumerate(parsed) for value in values or () if value is not None]
        assert sorted(split_cells(pl.Series(cells), sets=sets).rows()) == sorted(wanted)
