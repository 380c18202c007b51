"""A whole assessment: hand-made tables, record by record in plain Python, and what must always hold."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.data.table import Table
from shoal.errors import InputError, ParameterError, SchemaError
from shoal.risk.assess import assess
from shoal.risk.report import RiskReport
from tests.strategies import frames

# Classes of 3, 1 and 2.
PEOPLE = pl.DataFrame({
    "age": ["30", "30", "30", "41", "41", "41"],
    "sex": ["f", "f", "f", "m", "f", "f"],
    "disease": ["flu", "flu", "cold", "flu", "gout", "gout"],
    "home": ["a", "b", "c", "a", "b", "b"],
    "w": [2.0, 3.0, 5.0, 4.0, 1.0, 3.0],
})  # fmt: skip
WORLD = pl.concat([PEOPLE, PEOPLE, pl.DataFrame({"age": ["99"] * 8, "sex": ["f"] * 8}).pipe(
    lambda more: more.with_columns(disease=pl.lit("flu"), home=pl.lit("z"), w=pl.lit(1.0)))])  # fmt: skip


def table(frame: pl.DataFrame = PEOPLE, **roles: Any) -> Table:
    given: dict[str, Any] = {"quasi": ["age", "sex"], "sensitive": ["disease"]} | roles
    used = {*given["quasi"], *given["sensitive"], given.get("subject"), given.get("weight")}
    return shoal.read(frame, drop=[name for name in frame.columns if name not in used], missing="value", **given)


def values(report: RiskReport) -> dict[str, float]:
    return {name: one.value for name, one in report.figures.items()}


def test_a_table_by_hand() -> None:
    report = assess(table())
    found = values(report)
    assert found["prosecutor-max"] == 1
    assert found["prosecutor-mean"] == 3 / 6  # classes over records
    assert found["prosecutor-above"] == 1
    assert found["prosecutor-expected"] == 3
    assert found["marketer-mean"] == 3 / 6
    assert found["marketer-expected"] == 3
    assert found["sample-unique"] == 1 / 6
    assert found["homogeneous disease"] == 3 / 6
    assert found["confidence disease"] == 1
    assert report.figures["confidence disease"].baseline == 3 / 6
    assert report.class_sizes == {1: 1, 2: 1, 3: 1}
    assert report.curves["prosecutor"][:4] == [(1, 1 / 6), (1 / 2, 3 / 6), (1 / 3, 1), (1 / 4, 1)]
    assert report.figures["prosecutor-mean"].baseline == 1 / 6
    assert not any(name.startswith(("journalist", "population", "household")) for name in found)
    assert (report.population, report.population_size) == (None, None)
    assert assess(table(), threshold=0.5).figures["prosecutor-above"].value == 1 / 6


def test_a_population_table() -> None:
    report = assess(table(), population=table(WORLD))
    found = values(report)
    # F = 6, 2 and 4 for f = 3, 1 and 2.
    assert found["journalist-max"] == 1 / 2
    assert found["journalist-mean"] == pytest.approx((3 / 6 + 1 / 2 + 2 / 4) / 6)
    assert found["journalist-above"] == 3 / 6
    assert found["journalist-expected"] == found["marketer-expected"] == 1.5
    assert found["population-unique"] == 0
    assert report.figures["journalist-max"].baseline == 1 / 20
    assert report.population_size == 20
    assert not report.figures["journalist-mean"].estimated
    # D = U f / (U f + P (1 - f)) with U = 1, P = 2 and f = 6/20.
    assert found["dis"] == pytest.approx((6 / 20) / (6 / 20 + 2 * 14 / 20))


def test_weights_give_each_class_its_own_share() -> None:
    report = assess(table(weight="w"))
    shares = {3: 3 / 10, 1: 1 / 4, 2: 2 / 4}  # f over the sum of the weights
    one = lambda p: -p / (1 - p) * math.log(p)  # noqa: E731
    two = lambda p: p / (1 - p) ** 2 * (p * math.log(p) + 1 - p)  # noqa: E731
    three = lambda p: p / (2 * (1 - p) ** 3) * ((1 - p) * (1 - 3 * p) - 2 * p * p * math.log(p))  # noqa: E731
    risks = {3: three(shares[3]), 1: one(shares[1]), 2: two(shares[2])}
    expected = sum(size * risk for size, risk in risks.items())
    assert report.figures["journalist-expected"].value == pytest.approx(expected)
    assert report.figures["journalist-max"].value == pytest.approx(max(risks.values()))
    assert report.population_size == pytest.approx(10 + 4 + 4)
    assert report.by_record.journalist is not None
    assert report.by_record.journalist.tolist() == pytest.approx([risks[size] for size in (3, 3, 3, 1, 2, 2)])
    low, high = report.figures["journalist-mean"].interval
    assert low < expected / 6 < high


def test_equal_weights_are_a_fraction() -> None:
    tens = PEOPLE.with_columns(w=pl.lit(10))
    assert values(assess(table(tens, weight="w"))) == pytest.approx(values(assess(table(), fraction=0.1)))


def test_a_fraction_of_one_is_the_table_itself() -> None:
    found = values(assess(table(), fraction=1.0))
    for name in ("max", "mean", "above", "expected"):
        assert found[f"journalist-{name}"] == pytest.approx(found[f"prosecutor-{name}"])
    assert found["population-unique-pitman"] == found["sample-unique"]
    assert found["dis"] == 1


def test_households() -> None:
    report = assess(table(), household="home")
    # Records by row: 1/3, 1/3, 1/3, 1, 1/2, 1/2. Households: a = {1/3, 1}, b = {1/3, 1/2, 1/2}, c = {1/3}.
    homes = {"a": 1.0, "b": 1 - (2 / 3) * (1 / 2) * (1 / 2), "c": 1 / 3}
    assert report.figures["household-max"].value == 1
    assert report.figures["household-expected"].value == pytest.approx(sum(homes.values()))
    assert report.figures["household-mean"].value == pytest.approx(sum(homes.values()) / 3)
    assert report.by_record.household is not None
    assert report.by_record.household.tolist() == pytest.approx([homes[home] for home in PEOPLE["home"]])
    estimated = assess(table(), household="home", fraction=0.2).figures["household-expected"]
    assert estimated.interval[0] < estimated.value < estimated.interval[1]


def test_a_member_with_several_rows_counts_once() -> None:
    frame = pl.DataFrame({"age": ["30", "30", "41"], "who": ["ann", "ann", "bob"], "home": ["a", "a", "b"]})
    report = assess(table(frame, quasi=["age"], sensitive=[], subject="who"), household="home", fraction=0.5)
    assert report.figures["household-max"].value == pytest.approx(math.log(2))
    assert (report.rows, report.records) == (3, 2)
    assert report.figures["sample-unique"].value == 1


def test_people_hide_among_people() -> None:
    frame = pl.DataFrame({"age": ["30"] * 4, "who": ["ann", "ann", "ann", "bob"], "w": [3, 3, 3, 5]})
    report = assess(table(frame, quasi=["age"], sensitive=[], subject="who", weight="w"))
    assert report.figures["prosecutor-max"].value == 1 / 2
    assert report.population_size == 8


def test_special_uniques_by_hand() -> None:
    # Row 4 is alone with sex = m: one minimal unique of one key; K = 2, so its score is (2 - 1)! = 1.
    report = assess(table(), fraction=0.1)
    assert report.suda is not None
    assert report.suda.by_size == {1: 1}
    assert (report.suda.records, report.suda.contributions) == (1, {"age": 0.0, "sex": 1.0})
    assert report.by_record.suda is not None
    assert report.by_record.suda.tolist() == [0, 0, 0, 1, 0, 0]
    chance = 0.1 / (0.1 + 2 * 0.9)
    assert report.figures["dis"].value == pytest.approx(chance)
    # With one scored record, A = 1/S**Q, so that its DIS-SUDA score is D itself.
    assert report.by_record.dis is not None
    assert report.by_record.dis.tolist() == pytest.approx([0, 0, 0, chance, 0, 0])
    assert report.riskiest(1).tolist() == [3]
    assert report.by_record.numbers[3] == 4
    assert assess(table(), suda=0).suda is None


def test_scores_are_products_of_the_keys_left() -> None:
    # Three keys. Row 1 is alone on {a}; the others only on {b, c}, and rows 2 and 3 on {a, b} or {a, c} never.
    frame = pl.DataFrame({"a": list("xyyyy"), "b": list("00110"), "c": list("01010")})
    report = assess(table(frame, quasi=["a", "b", "c"], sensitive=[]))
    sets: list[set[tuple[str, ...]]] = []
    rows = frame.rows(named=True)
    for row in rows:
        mine: list[tuple[str, ...]] = []
        for size in (1, 2, 3):
            for keys in combinations("abc", size):
                alone = sum(all(row[key] == other[key] for key in keys) for other in rows) == 1
                if alone and not any(set(part) <= set(keys) for part in mine):
                    mine.append(keys)
        sets.append(set(mine))
    expected = [sum(math.factorial(3 - len(keys)) for keys in mine) for mine in sets]
    assert report.by_record.suda is not None
    assert report.by_record.suda.tolist() == expected
    assert max(expected) == 2
    # Sets of one key at most: the product of K - i over i = 1 .. 1.
    short = assess(table(frame, quasi=["a", "b", "c"], sensitive=[]), suda=1)
    assert short.by_record.suda is not None
    assert short.by_record.suda.tolist() == [2, 0, 0, 0, 0]


def test_contributions_by_counting_again() -> None:
    frame = shoal.example_census(120).select("age", "sex", "region", "education")
    names = list(frame.columns)
    report = assess(table(frame, quasi=names, sensitive=[]), pairs=True)
    assert len(report.contributions) == 4 + 6
    whole = Counter(frame.rows())
    for one in report.contributions:
        counts = Counter(frame.drop(one.columns).rows())
        assert one.mean == pytest.approx(len(counts) / 120)
        assert one.unique == pytest.approx(sum(count == 1 for count in counts.values()) / 120)
        assert one.mean_drop == pytest.approx((len(whole) - len(counts)) / 120)
        assert one.mean_drop >= 0
    drops = [one.mean_drop for one in report.contributions if len(one.columns) == 1]
    assert drops == sorted(drops, reverse=True)


def test_ranges_of_a_policy() -> None:
    frame = PEOPLE.with_columns(income=pl.Series([1, 2, 9, 5, 6, 7]))
    given = shoal.read(
        frame.select("age", "sex", "income"), quasi=["age", "sex"], sensitive=["income"],
        policies={"income": [[0, 4], [5, 9]]},
    )  # fmt: skip
    found = assess(given).figures
    assert found["range-confidence income"].value == 1
    assert found["range-confidence income"].baseline == 4 / 6
    assert found["confidence income"].value == 1


@settings(max_examples=20, deadline=None)
@given(frames(max_rows=25), st.floats(0.01, 1.0), st.data())
def test_what_always_holds(made: tuple[pl.DataFrame, dict[str, Any]], fraction: float, data: st.DataObject) -> None:
    frame, roles = made
    report = assess(shoal.read(frame, **roles), fraction=fraction)
    for name, one in report.figures.items():
        low, high = one.interval
        assert 0.0 <= low <= high
        assert low - 1e-9 <= one.value <= high + 1e-9
        assert one.sentence.endswith(".")
        assert one.sentence.count(". ") == 0
        if not name.endswith("-expected"):
            assert high <= 1.0 + 1e-12
    found = values(report)
    for name in ("max", "mean", "expected"):
        # Nobody hides among fewer people of the population than of the table.
        assert found[f"journalist-{name}"] <= found[f"prosecutor-{name}"] + 1e-9
    assert np.all(report.by_record.journalist <= report.by_record.prosecutor + 1e-12)
    assert sum(size * count for size, count in report.class_sizes.items()) == report.records
    for points in report.curves.values():
        shares = [share for _, share in points]
        assert shares == sorted(shares)
    # Coarser cells can only put more people together.
    column = data.draw(st.sampled_from(roles["quasi"]))
    coarse = values(assess(shoal.read(frame.with_columns(pl.lit("*").alias(column)), **roles), fraction=fraction))
    for name in ("prosecutor-max", "journalist-max"):
        assert coarse[name] <= found[name] + 1e-12
    if "subject" not in roles:  # the number of records stays the same
        for name in ("prosecutor-mean", "prosecutor-above", "prosecutor-expected", "sample-unique", "journalist-mean"):
            assert coarse[name] <= found[name] + 1e-12


@settings(max_examples=20, deadline=None)
@given(frames(max_rows=20, people=False))
def test_a_table_is_its_own_population(made: tuple[pl.DataFrame, dict[str, Any]]) -> None:
    frame, roles = made
    given = shoal.read(frame, **roles)
    found = values(assess(given, population=given))
    for name in ("max", "mean", "above", "expected"):
        assert found[f"journalist-{name}"] == pytest.approx(found[f"prosecutor-{name}"])
    assert found["population-unique"] == found["sample-unique"]


def test_a_population_that_tells_more_apart_counts_nobody_twice() -> None:
    """Ann has two homes and is one of the two people of her class; whoever has one row is counted as ever."""
    world = pl.DataFrame({
        "age": ["30", "30", "30"], "sex": ["f", "f", "f"], "home": ["a", "b", "a"], "who": ["ann", "ann", "eve"],
    })  # fmt: skip
    sample = table(world.filter(pl.col("home") == "b"), sensitive=[])
    everybody = table(world, quasi=["home", "age", "sex"], sensitive=[], subject="who")
    found = assess(sample, population=everybody)
    assert found.population_size == 2
    assert found.figures["journalist-mean"].value == 1 / 2
    by_rows = table(world, quasi=["home", "age", "sex"], sensitive=[])
    assert assess(sample, population=by_rows).population_size == 3


def test_a_population_coded_otherwise_is_compared_by_its_texts() -> None:
    sample = shoal.read(pl.DataFrame({"age": [30, 41]}), quasi=["age"])
    world = shoal.read(pl.DataFrame({"age": ["41", "30", "30", "7"]}), quasi=["age"])
    assert assess(sample, population=world).figures["journalist-mean"].value == pytest.approx((1 / 2 + 1) / 2)


@pytest.mark.parametrize(
    "roles, options, error, message",
    [
        ({}, {"fraction": 0.0}, ParameterError, "'fraction' of the risk must be a number above 0 and up to 1"),
        ({}, {"fraction": 1.5}, ParameterError, "'fraction'"),
        ({}, {"threshold": 0.0}, ParameterError, "'threshold'"),
        ({}, {"suda": -1}, ParameterError, "'suda'"),
        ({}, {"household": "hom"}, SchemaError, "There is no household column 'hom' in the table. Did you mean 'home'"),
        ({"weight": "w"}, {"fraction": 0.1}, ParameterError, "A fraction and a weight column both say"),
        ({}, {"fraction": 0.1, "population": table()}, ParameterError, "A population and a fraction both say"),
        ({}, {"population": table(quasi=["age"])}, SchemaError, "The population has no quasi-identifier 'sex'"),
        ({}, {"population": table(PEOPLE.head(4))}, InputError, "1 of 3 classes have more records in the table"),
    ],
)  # fmt: skip
def test_bad_input(roles: dict[str, Any], options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message.replace("?", r"\?")):
        assess(table(**roles), **options)


@pytest.mark.parametrize(
    "weights, message",
    [
        ([1.0, 2.0, 3.0, 4.0, 5.0, 0.5], "'w' has 1 weights below 1"),
        (["1", "2", "x", "4", "5", "6"], "'w' has 1 cells that are not numbers"),
        ([1, 2, None, 4, 5, 6], "The weight column 'w' has 1 missing cells"),
    ],
)
def test_bad_weights(weights: list[Any], message: str) -> None:
    frame = PEOPLE.with_columns(pl.Series("w", weights))
    with pytest.raises(InputError, match=message):
        assess(table(frame, weight="w"))


def test_more_bad_columns() -> None:
    with pytest.raises(InputError, match="household column 'home' has 1 missing cells"):
        assess(table(PEOPLE.with_columns(home=pl.Series(["a", None, "c", "a", "b", "b"]))), household="home")
    frame = pl.DataFrame({"age": ["30", "30"], "who": ["ann", "ann"], "w": [2, 3]})
    with pytest.raises(InputError, match="1 subjects have rows of different weight in 'w'"):
        assess(table(frame, quasi=["age"], sensitive=[], subject="who", weight="w"))


def test_nothing_about_single_records_is_printed_or_serialised() -> None:
    report = assess(table(), fraction=0.1)
    assert "by_record" not in report.as_dict()
    assert "by_record" not in repr(report)
    for word in ("flu", "gout", "'41'"):
        assert word not in repr(report) + repr(report.as_dict())


def test_the_steps_are_told() -> None:
    told: list[str] = []
    assess(table(), fraction=0.1, progress=told.append)
    assert "counting classes" in told
    assert "looking for minimal uniques, key 2 of 2" in told
