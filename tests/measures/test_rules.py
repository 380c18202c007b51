"""Rules by what is published: labels over boundaries that nobody stands at, domains of values, and what breaks."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.data.column import Column
from shoal.engines.memory import MemoryRows
from shoal.errors import ParameterError
from shoal.recipe.source import read
from shoal.recoding.recoded import apply_recoding
from shoal.recoding.recodings import Grouping
from shoal.utility.research_rules import Constraint, breaking_cells

RACES = [["White", "White", "*"], ["Black", "Black", "*"], ["Asian", "Other", "*"], ["Hispanic", "Other", "*"]]


def column(values: list[Any], hierarchy: Any = None, **settings: Any) -> Column:
    table = read(
        pl.DataFrame({"q": values}), quasi=["q"], hierarchies={} if hierarchy is None else {"q": hierarchy},
        settings={"q": settings} if settings else None,
    )  # fmt: skip
    return table.columns["q"]


def kept(one: Column, **rule: Any) -> list[bool]:
    return Constraint.of({"column": "q"} | rule).kept(one).tolist()  # type: ignore[no-any-return]


def test_a_label_reaches_over_values_that_nobody_has() -> None:
    """Nobody is 66 to 69, and [60,69] still says nothing about which side of 66 somebody is on."""
    ages = column([60, 61, 65, 70, 71], {"widths": [5, 10]})
    assert kept(ages, boundary=66) == [True, False, False, False]
    assert kept(ages, boundary=64) == [True, True, False, False]
    assert kept(ages, boundary=69) == [True, True, True, False]
    assert kept(ages, separate=["[60,65]", "[66,80]"]) == [True, False, False, False]
    assert kept(ages, separate=[60, 61]) == [True, False, False, False]


@pytest.mark.parametrize(
    "values, separate, expected",
    [
        # 31 to 39 is what the first side leaves, though nobody is so old.
        ([20, 25, 30, 45, 50, 60], [["[20,30]", "45"], "*"], [True, False, False, False]),
        ([20, 25, 30, 45, 50, 60], [["[20,39]", "25"], "*"], [True, True, True, False]),
        ([20, 22, 33, 40], [["[20,24]", "[40,49]"], "*"], [True, False, False, False]),
        ([20, 22, 33, 40], [["[40,49]", "[20,29]"], "*"], [True, True, False, False]),
        ([20, 22, 33, 40], [["[20,39]", "[30,49]"], 40], None),
        ([20, 30, 31], [20, "*"], [True, False, False, False]),
        ([20, 30, 31], ["*", ["<25", "[20,29]"]], [True, True, False, False]),
    ],
)  # fmt: skip
def test_numbers_against_everything_else(values: list[int], separate: Any, expected: list[bool] | None) -> None:
    """A label reaches into the rest by what it covers, whether one value is set apart, or a stretch, or several."""
    ages = column(values, {"widths": [10, 20]})
    if expected is None:
        with pytest.raises(ParameterError, match="has '40' on both sides"):
            kept(ages, separate=separate)
    else:
        assert kept(ages, separate=separate) == expected


def test_a_name_stands_for_what_the_labels_under_it_reach_over() -> None:
    rows = [["60", "[60,69]", "old", "*"], ["71", "[70,79]", "old", "*"], ["30", "[30,39]", "young", "*"]]
    ages = column([60, 71, 30], rows)
    assert kept(ages, separate=["old", "*"]) == [True, True, True, False]
    assert kept(ages, separate=["[60,69]", "*"]) == [True, True, False, False]
    assert kept(ages, separate=[["60", "71"], "*"]) == [True, False, False, False]


def test_one_of_numbers_that_are_not_whole_against_everything_else() -> None:
    rows = [["1.5", "[1,2)", "*"], ["2.5", "2.5", "*"]]
    assert kept(column([1.5, 2.5], rows), separate=[2.5, "*"]) == [True, True, False]
    assert kept(column([1.5, 2.5], rows), separate=[1.5, "*"]) == [True, False, False]


def test_an_interval_is_judged_by_the_end_that_is_published() -> None:
    """Nobody of the class is 6, somebody else is, and the cell begins there on its grid."""
    values = [6.0] * 5 + [6.1, 6.4, 6.6, 6.7, 6.8]
    table = read(pl.DataFrame({"q": values}), quasi=["q"], settings={"q": {"snap": 1.0}})
    grouping = Grouping(ids=np.array([0] * 5 + [1] * 5, dtype=np.int32), groups=2)
    found = apply_recoding(MemoryRows(table), grouping).cells["q"]
    assert found.texts().to_list()[-1] == "[6,7]"
    assert breaking_cells(Constraint.of({"column": "q", "boundary": 6}), found) == ["[6,7]"]


@pytest.mark.parametrize(
    "labels, boundary, expected",
    [
        (["60+", "60+"], 66, False), (["old", "old"], 66, True), (["60s", "60s"], 66, True), (["6*", "6*"], 66, False),
        (["6", "6"], 66, True), (["<70", "<70"], 66, False), (["<=66", "<=66"], 66, True),
        (["60-66", "60-66"], 66, True), (["[60,67[", "[60,67["], 66, True), (["[60,68[", "[60,68["], 66, False),
    ],
)  # fmt: skip
def test_labels_as_they_are_written(labels: list[str], boundary: int, expected: bool) -> None:
    """What cannot be read as a stretch that holds its values is a name, and means the values under it."""
    rows = [["60", labels[0], "*"], ["61", labels[1], "*"], ["90", "90", "*"]]
    assert kept(column([60, 61, 90], rows), boundary=boundary)[1] is expected


def test_real_numbers_may_end_where_a_boundary_is() -> None:
    rows = [["1.5", "[0,2)", "*"], ["2.5", "[2,4)", "*"]]
    assert kept(column([1.5, 2.5], rows), boundary=2) == [True, True, False]
    assert kept(column([1.5, 2.5], rows), boundary=2.2) == [True, False, False]
    there = [*rows, ["2", "[2,4)", "*"]]
    assert kept(column([1.5, 2.0, 2.5], there), boundary=2) == [True, False, False]


def test_a_level_above_a_broken_one_is_broken() -> None:
    rows = [["60", "[60,69]", "old", "*"], ["61", "[60,69]", "old", "*"], ["90", "[90,99]", "oldest", "*"]]
    assert kept(column([60, 61, 90], rows), boundary=66) == [True, False, False, False]


@pytest.mark.parametrize(
    "levels, boundary, expected",
    [
        (["month"], "2020-02-29", True), (["month"], "2020-02-15", False), (["quarter"], "2020-03-31", True),
        (["quarter"], "2020-02-29", False), (["year"], "2020-12-31", True), (["decade"], "2024-12-31", False),
        (["decade"], "2019-12-31", True),
    ],
)  # fmt: skip
def test_months_quarters_years_and_decades(levels: list[str], boundary: str, expected: bool) -> None:
    days = column(["2020-02-10", "2011-01-01", "2021-01-01", "2030-01-01"], {"dates": levels})
    assert kept(days, boundary=boundary)[1] is expected


@pytest.mark.parametrize(
    "separate, expected",
    [
        (["White", "Black"], [True, True, False]), (["White", "Other"], [True, True, False]),
        (["Asian", "Hispanic"], [True, False, False]),
        ([["White", "Black"], ["Asian", "Hispanic"]], [True, True, False]),
        ([["White", "Asian"], ["Black", "Hispanic"]], [True, False, False]), (["White", "*"], [True, True, False]),
        (["*", "Asian"], [True, False, False]), ([["White", "Other"], "*"], [True, True, False]),
    ],
)  # fmt: skip
def test_domains_of_values_are_kept_apart(separate: Any, expected: list[bool]) -> None:
    races = column(["White", "Black", "Asian", "Hispanic"], RACES)
    assert kept(races, separate=separate) == expected


def test_an_interval_against_everything_else() -> None:
    ages = column(list(range(10, 30)), {"widths": [5, 10]})
    assert kept(ages, separate=["[10,14]", "*"]) == [True, True, False, False]
    assert kept(ages, separate=["[12,18]", "*"]) == [True, False, False, False]


@pytest.mark.parametrize(
    "rule, message",
    [
        ({"separate": ["White", "Wite"]}, "'Wite', which is not one of its values; the nearest is 'White'"),
        ({"separate": ["White", "Othr"]}, "the nearest is 'Other'"),
        ({"separate": [["White", "Asian"], "Other"]}, "has 'Asian' on both sides"),
        ({"separate": [["White", "Black", "Other"], "*"]}, "no value on one of its sides"),
        ({"separate": ["White", []]}, "has an empty list"),
        ({"separate": ["White", "Black"], "keep": "yes"}, "'keep' of a rule on 'q' must be true or false"),
        ({"separate": [["White"], ["White"]]}, "separates 'White' from itself"),
    ],
)
def test_rules_that_cannot_be_meant(rule: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        kept(column(["White", "Black", "Asian", "Hispanic"], RACES), **rule)


def test_a_rule_reads_back_as_a_recipe_writes_it() -> None:
    given = {"column": "q", "separate": ["White", ["Asian", "Other"]], "importance": 2.0, "keep": True}
    rule = Constraint.of(given)
    assert rule.parameters() == given
    assert Constraint.of(rule.parameters()) == rule
    assert rule.text == "q: White | Asian, Other"
    assert Constraint.of({"column": "q", "boundary": 20}).text == "q: up to 20 | above"


@pytest.mark.parametrize(
    "values, hierarchy, rule, cells",
    [
        ([60, 61, 70, 90], None, {"boundary": 66}, []),
        ([60, 70, 71, 90], None, {"boundary": 66}, ["[60,70]"]),
        ([60, 61, 70, 90], {"widths": [10]}, {"boundary": 66}, ["[60,69]", "*"]),
        (["a", "b", "c", "d"], None, {"separate": ["a", "b"]}, ["{a|b}"]),
        (["a", "b", "c", "d"], None, {"separate": ["a", "c"]}, []),
    ],
)
def test_cells_that_break_a_rule(values: list[Any], hierarchy: Any, rule: dict[str, Any], cells: list[str]) -> None:
    """Two groups of two rows each, whatever their cells are."""
    trees = {} if hierarchy is None else {"q": hierarchy}
    table = read(pl.DataFrame({"q": values}), quasi=["q"], hierarchies=trees, settings={"q": {"snap": "off"}})
    grouping = Grouping(ids=np.array([0, 0, 1, 1], dtype=np.int32), groups=2)
    found = apply_recoding(MemoryRows(table), grouping).cells["q"]
    assert breaking_cells(Constraint.of({"column": "q"} | rule), found) == cells
