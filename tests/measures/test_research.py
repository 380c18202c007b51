"""Research value: levels priced from the definition, rules, weights, and what bad parameters get."""

from __future__ import annotations

import datetime as dt
import itertools
import math
from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.data.table import Table
from shoal.engines.memory import MemoryRows
from shoal.errors import ParameterError
from shoal.recipe.source import read
from shoal.recoding.recoded import apply_recoding
from shoal.recoding.recodings import FullDomain
from shoal.registry import make
from shoal.utility.association import Joints, association, association_weights, pairs
from shoal.utility.research_value import ResearchValue
from tests.table.random_tables import hierarchy_rows

WHOLE = [-3, 0, 1, 2, 7, 40]
REAL = [-1.5, 0.0, 0.25, 2.0, 3.75, 10.125]
DAYS = ["1999-12-31", "2000-01-01", "2000-03-01", "2001-01-01", "2023-06-30"]
NAMES = ["ash", "bay", "elm", "fir", "oak", "yew"]
VALUES: dict[str, tuple[str, list[Any]]] = {
    "whole": ("numeric", WHOLE), "real": ("numeric", REAL), "date": ("date", DAYS), "names": ("categorical", NAMES),
}  # fmt: skip
AGES = [[str(age), f"{age // 10}", f"{age // 20} x 20", "*"] for age in range(10, 50)]
TOWNS = [["Aby", "east", "*"], ["Eke", "east", "*"], ["Ry", "west", "*"]]


def town() -> Table:
    frame = pl.DataFrame({"age": [12, 20, 21, 21, 33, 48], "town": ["Aby", "Aby", "Ry", "Ry", "Eke", "Ry"]})
    return read(frame, quasi=["age", "town"], hierarchies={"age": AGES, "town": TOWNS})


def joint(table: Table) -> Joints:
    return {names: table.joined(names) for names in pairs(table.quasi)}


def level_values(table: Table, **parameters: Any) -> dict[str, list[float]]:
    found = ResearchValue(**parameters).level_values(table.quasi, table.domain.quasi_weights, joint(table))
    return {column.name: mine.tolist() for column, mine in zip(table.quasi, found, strict=True)}


def text(value: Any) -> str:
    return str(value) if not isinstance(value, float) or not value.is_integer() else str(int(value))


def number(kind: str, value: str) -> float:
    return dt.date.fromisoformat(value).toordinal() if kind == "date" else float(value)


def naive(kind: str, rows: list[list[str]], cells: list[str], rules: list[dict[str, Any]]) -> list[float]:
    """Section 15.1 for one column of weight 1, label by label."""
    found = []
    total = sum(rule["importance"] for rule in rules) or 1.0
    leaves = [row[0] for row in rows]
    for level in range(len(rows[0])):
        label = {row[0]: row[level] for row in rows}
        kept = sum(rule["importance"] for rule in rules if holds(kind, rule, label)) if rules else 1.0
        if level and len(set(label.values())) == 1:
            found.append(0.0)
        elif kind == "names":
            found.append(len(set(label.values())) / len(leaves) * kept / total)
        else:
            worth = sum(count * span(kind, leaves, label, one) for one, count in Counter(map(label.get, cells)).items())
            found.append(len(cells) / worth * kept / total)
    return found


def span(kind: str, leaves: list[str], label: dict[str, str], one: str | None) -> float:
    mine = sorted(number(kind, leaf) for leaf in leaves if label[leaf] == one)
    if kind == "real":
        return sum(mine[0] <= number(kind, leaf) <= mine[-1] for leaf in leaves)
    return mine[-1] - mine[0] + 1


def holds(kind: str, rule: dict[str, Any], label: dict[str, str]) -> bool:
    if "separate" in rule:
        one, other = rule["separate"]
        return label[one] != label[other]
    below = {label[leaf] for leaf in label if number(kind, leaf) <= number(kind, text(rule["boundary"]))}
    above = {label[leaf] for leaf in label if number(kind, leaf) > number(kind, text(rule["boundary"]))}
    return not below & above


@st.composite
def valued_columns(draw: st.DrawFn) -> tuple[str, list[list[str]], list[str], list[dict[str, Any]]]:
    kind = draw(st.sampled_from(list(VALUES)))
    leaves = [text(value) for value in VALUES[kind][1]]
    rows = draw(hierarchy_rows(leaves))
    cells = draw(st.lists(st.sampled_from(leaves), min_size=1, max_size=12))
    pairs = draw(st.lists(st.lists(st.sampled_from(leaves), min_size=2, max_size=2, unique=True), max_size=2))
    rules: list[dict[str, Any]] = [{"separate": pair, "importance": 2.0} for pair in pairs]
    if kind != "names":
        for at in draw(st.lists(st.sampled_from(VALUES[kind][1][:-1]), max_size=2)):
            rules.append({"boundary": at, "importance": 0.5})
    return kind, rows, cells, [{"column": "q"} | rule for rule in rules]


@settings(max_examples=75)
@given(valued_columns())
def test_level_values_follow_the_definition(drawn: Any) -> None:
    kind, rows, cells, rules = drawn
    specs = {"q": {"type": VALUES[kind][0]}}
    table = read(pl.DataFrame({"q": cells}), quasi=["q"], hierarchies={"q": rows}, settings=specs)
    found = level_values(table, rules=rules)["q"]
    assert found == pytest.approx(naive(kind, rows, cells, rules), abs=1e-12)
    assert found[0] == 1.0
    assert all(later <= earlier + 1e-12 for earlier, later in itertools.pairwise(found))


def test_missing_is_a_value_of_its_own() -> None:
    frame = pl.DataFrame({"age": [12, None, 21, 33], "town": ["Aby", "Ry", None, None]})
    table = read(frame, quasi=["age", "town"], hierarchies={"age": AGES, "town": TOWNS}, missing="value")
    found = level_values(table, normalise=False)
    assert found["age"] == pytest.approx([1.0, 4 / (3 * 10 + 1), 4 / (10 + 2 * 20 + 1), 0.0])
    assert found["town"] == pytest.approx([1.0, 3 / 4, 0.0])


def test_a_constant_column_is_worth_its_weight_until_it_is_starred() -> None:
    table = read(pl.DataFrame({"q": ["x", "x"]}), quasi=["q"], hierarchies={"q": [["x", "all", "*"]]})
    assert level_values(table) == {"q": [1.0, 0.0, 0.0]}


@pytest.mark.parametrize(
    "boundary, kept",
    [(20, [1, 0, 0, 0]), (19, [1, 1, 1, 0]), (29, [1, 1, 0, 0]), (19.5, [1, 1, 1, 0]), (20.5, [1, 0, 0, 0])],
)
def test_a_boundary_is_kept_where_no_group_reaches_over_it(boundary: float, kept: list[float]) -> None:
    plain = level_values(town())["age"]
    found = level_values(town(), rules=[{"column": "age", "boundary": boundary}])["age"]
    assert found == pytest.approx([value * flag for value, flag in zip(plain, kept, strict=True)])


def test_importances_are_shares_within_a_column() -> None:
    rules = [
        {"column": "town", "separate": ["Aby", "Eke"], "importance": 30},
        {"column": "town", "separate": ["Aby", "Ry"], "importance": 10},
        {"column": "age", "separate": [20, 21]},
    ]
    plain, found = level_values(town()), level_values(town(), rules=rules)
    assert found["town"] == pytest.approx([0.5, plain["town"][1] * 10 / 40, 0.0])
    assert found["age"] == pytest.approx([0.5, 0.0, 0.0, 0.0])


def test_dates_have_boundaries() -> None:
    rows = [["2020-01-30", "2020", "*"], ["2020-02-02", "2020", "*"], ["2021-05-01", "2021", "*"]]
    table = read(pl.DataFrame({"d": ["2020-01-30", "2021-05-01"]}), quasi=["d"], hierarchies={"d": rows})
    assert level_values(table)["d"] == pytest.approx([1.0, 2 / (4 + 1), 0.0])
    for at in ("2020-12-31", dt.date(2020, 12, 31)):
        assert level_values(table, rules=[{"column": "d", "boundary": at}])["d"][1] == pytest.approx(0.4)
    assert level_values(table, rules=[{"column": "d", "boundary": "2020-01-31"}])["d"][1] == 0.0


def test_weights_are_given_or_found_and_sum_to_one_unless_told_not_to() -> None:
    frame = pl.DataFrame({"a": list("xyxy"), "b": list("uuvv"), "c": list("xyxy")})
    trees = {"a": [["x"], ["y"]], "b": [["u"], ["v"]], "c": [["x"], ["y"]]}
    table = read(frame, quasi=["a", "b", "c"], hierarchies=trees, weights={"b": 3.0})

    def first(**parameters: Any) -> list[float]:
        return [mine[0] for mine in level_values(table, **parameters).values()]

    assert first() == pytest.approx([0.2, 0.6, 0.2])
    assert first(normalise=False) == [1.0, 3.0, 1.0]
    assert first(weights="association") == pytest.approx([0.25, 0.5, 0.25])
    assert first(weights="association", normalise=False) == pytest.approx([0.5, 1.0, 0.5])
    same = read(frame, quasi=["a", "c"], hierarchies={"a": trees["a"], "c": trees["c"]}, drop=["b"])
    assert [mine[0] for mine in level_values(same, weights="association").values()] == [0.5, 0.5]


def test_associations_of_every_pair_of_kinds() -> None:
    frame = pl.DataFrame(
        {
            "n": [1, 2, 3, 4, 5, 6], "r": [2.0, 1.0, 4.0, 3.0, 6.0, 5.0], "c": list("uuvvww"), "d": list("ttssss"),
            "one": list("zzzzzz"),
        }
    )  # fmt: skip
    table = read(frame, quasi=frame.columns)
    found = association(table.quasi, joint(table))
    assert (found == found.T).all()
    assert np.diag(found).tolist() == [1.0] * 5
    pearson = float(np.corrcoef(frame["n"], frame["r"])[0, 1])
    assert found[0, 1] == pytest.approx(abs(pearson))
    # Between the groups 1.5, 3.5 and 5.5: 2 (4 + 0 + 4) of a total of 17.5.
    assert found[0, 2] == pytest.approx(math.sqrt(16 / 17.5))
    assert found[2, 3] == pytest.approx(1.0)
    assert found[4].tolist() == [0.0, 0.0, 0.0, 0.0, 1.0]
    assert association_weights(table.quasi[:1], {}).tolist() == [1.0]


@settings(max_examples=30)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz")), min_size=1, max_size=20))
def test_cramers_v_from_its_table(rows: list[tuple[str, str]]) -> None:
    table = read(pl.DataFrame(rows, schema=["a", "b"], orient="row"), quasi=["a", "b"])
    one, other = Counter(a for a, _ in rows), Counter(b for _, b in rows)
    cells = Counter(rows)
    chi = sum(
        (cells[a, b] - one[a] * other[b] / len(rows)) ** 2 / (one[a] * other[b] / len(rows)) for a in one for b in other
    )
    smaller = min(len(one), len(other)) - 1
    expected = math.sqrt(chi / len(rows) / smaller) if smaller else 0.0
    assert association(table.quasi, joint(table))[0, 1] == pytest.approx(expected, abs=1e-7)


def test_the_measure_adds_up_columns() -> None:
    table = town()
    released = apply_recoding(MemoryRows(table), FullDomain(levels={"age": 1, "town": 1}))
    found = make("measure", {"name": "rv"}).score(released.price_stats())
    assert found.also == pytest.approx({"age": 0.05, "town": 0.5 * 2 / 3})
    assert found.value == pytest.approx(sum(value for value in found.also.values() if value is not None))
    assert (found.better, found.low, found.high) == ("up", 0.0, 1.0)
    by_hand = ResearchValue(rv={"town": [7.0, 2.0, 0.0]}).score(released.price_stats())
    assert (by_hand.value, by_hand.high) == (pytest.approx(2.05), 7.5)


def test_an_empty_release_has_no_research_value() -> None:
    table = town()
    whole = apply_recoding(MemoryRows(table), FullDomain(levels={}))
    empty = whole.suppress(np.ones(whole.n_classes, dtype=bool))
    assert ResearchValue().score(empty.price_stats()).reason == "the release is empty"


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"weights": "asociation"}, "must be one of given, association. Got 'asociation'. Did you mean 'association'"),
        ({"normalise": "no"}, "must be true or false"),
        ({"rules": {"column": "age"}}, "'rules' of research value must be a list of tables"),
        ({"rules": ["age"]}, "must be a table that names its column"),
        ({"rules": [{"boundary": 20}]}, "must be a table that names its column"),
        ({"rules": [{"column": "age", "bondary": 20}]}, "no entry 'bondary'. Did you mean 'boundary'"),
        ({"rules": [{"column": "age", "importance": 20}]}, "needs either 'separate' or 'boundary'"),
        ({"rules": [{"column": "age", "boundary": 20, "separate": [1, 2]}]}, "needs either 'separate' or 'boundary'"),
        ({"rules": [{"column": "age", "boundary": 20, "importance": 0}]}, "must be a number above 0. Got 0"),
        ({"rules": [{"column": "age", "separate": [20]}]}, "must be a list of two values"),
        ({"rules": [{"column": "age", "separate": "ab"}]}, "must be a list of two values"),
        ({"rules": [{"column": "age", "separate": [20, 20.0]}]}, "separates '20' from itself"),
        ({"rv": [1, 2]}, "'rv' of research value must be a table"),
        ({"rv": {"age": 1.0}}, "must be a list of a value a level"),
        ({"rv": {"age": [1.0, -1.0]}}, "must be a number of at least 0"),
    ],
)
def test_parameters_that_cannot_be_meant(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        ResearchValue(**parameters)


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"rules": [{"column": "aeg", "boundary": 20}]}, "'aeg', which is not a quasi-identifier. Did you mean 'age'"),
        ({"rules": [{"column": "income", "boundary": 20}]}, "They are: age, town"),
        ({"rules": [{"column": "town", "separate": ["Aby", "Rye"]}]}, "'Rye', .*; the nearest is 'Ry'"),
        ({"rules": [{"column": "town", "separate": ["Aby", "Paris"]}]}, "there are 'Aby', 'Eke', 'Ry'"),
        ({"rules": [{"column": "age", "separate": [20, 75]}]}, "'75', which is not .*; the nearest is '49'"),
        ({"rules": [{"column": "town", "boundary": 20}]}, "'town', which is categorical: use 'separate'"),
        ({"rules": [{"column": "age", "boundary": "young"}]}, "must be a number. Got 'young'"),
        ({"rules": [{"column": "age", "boundary": 49}]}, "no value on one side of it: its values go from 10 to 49"),
        ({"rv": {"twon": [1.0, 0.0]}}, "'rv' names 'twon', .* Did you mean 'town'"),
        ({"rv": {"town": [1.0, 0.0]}}, "must have 3 values, one for each of its levels 0 to 2.* Got 2"),
        ({"rv": {"town": [1.0, 0.5, 0.1]}}, "must end with 0, since its level 2 publishes nothing of it. Got 0.1"),
    ],
)  # fmt: skip
def test_parameters_that_do_not_fit_the_table(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        level_values(town(), **parameters)


def test_parameters_read_back_as_a_recipe_writes_them() -> None:
    spec = {
        "name": "rv-global", "weights": "association", "rv": {"town": [1.0, 0.4, 0.0]},
        "rules": [
            {"column": "age", "boundary": 20, "importance": 10},
            {"column": "town", "separate": ["Aby", "Ry"]},
        ],
    }  # fmt: skip
    made = make("algorithm", spec)
    assert make("algorithm", made.parameters()) == made
    assert hash(made) == hash(make("algorithm", made.parameters()))
