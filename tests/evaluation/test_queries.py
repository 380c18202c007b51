"""Workloads of count queries, and queries in words."""

from __future__ import annotations

import numpy as np
import pytest

import shoal
from shoal.errors import InputError, ParameterError
from shoal.utility.queries import (
    PointQueries,
    Query,
    RandomQueries,
    RangeQueries,
    parse_queries,
    parse_query,
    workload_of,
)
from shoal.utility.reading import Reading, read_release
from tests.evaluation.test_reading import people, released


@pytest.fixture(scope="module")
def reading() -> Reading:
    return read_release(released(shoal.Mondrian(k=3), people()))


def columns(query: Query) -> list[str]:
    return [one.column for one in query.conditions]


def test_random_queries_ask_for_some_quasi_identifiers_and_the_sensitive_one(reading: Reading) -> None:
    queries = RandomQueries(count=600, quasi=3).make(reading)
    assert {len(query.conditions) for query in queries} == {4}
    assert all(columns(query)[-1] == "disease" for query in queries)
    asked = np.array([columns(query).count("age") for query in queries])
    assert asked.mean() == pytest.approx(0.5, abs=0.1)  # three of six
    # The number of values is uniform from one to all, and every value is as likely.
    ill = [query.conditions[-1].values for query in queries]
    sizes = np.bincount([len(values) for values in ill], minlength=6)[1:]
    assert sizes == pytest.approx(np.full(5, 120), abs=45)
    each = [sum(value in values for values in ill) for value in reading.features["disease"].values]
    assert each == pytest.approx(np.full(5, 360), abs=60)
    assert queries == RandomQueries(count=600, quasi=3).make(reading)


def test_a_workload_does_not_depend_on_the_release(reading: Reading) -> None:
    other = read_release(released(shoal.Mondrian(k=10), people()))
    for workload in (RandomQueries(count=50), PointQueries(count=50), RangeQueries(count=50)):
        assert workload.make(reading) == workload.make(other)
    assert workload_of("type-2") == RangeQueries(span=0.0)


def test_point_queries_ask_for_one_value_each(reading: Reading) -> None:
    for query in PointQueries(count=50, columns=["age", "sex", "disease"]).make(reading):
        assert columns(query) == ["age", "sex", "disease"]
        assert all(len(one.values) == 1 for one in query.conditions)
    with pytest.raises(InputError, match="Did you mean 'age'"):
        PointQueries(columns=["agee"]).make(reading)


def test_range_queries_follow_the_thesis() -> None:
    """Type 1: a range of 15 for numbers, a level-1 node, a leaf where that is the root; the sensitive u to u + 10."""
    trees = {
        "job": [["nurse", "care", "*"], ["doctor", "care", "*"], ["clerk", "office", "*"], ["lawyer", "office", "*"],
                ["cook", "other", "*"]],
        "sex": [["f", "*"], ["m", "*"]],
    }  # fmt: skip
    roles = {"quasi": ["age", "sex", "job"], "sensitive": ["born", "weight"], "neutral": ["ward", "size", "disease"]}
    settings = {"age": {"snap": "off"}}
    made = released(shoal.NoAlgorithm(), people(), read={"hierarchies": trees, "settings": settings, **roles})
    reading = read_release(made)
    seen = set()
    for query in RangeQueries(count=200).make(reading):
        first, born, weight = query.conditions
        seen.add(first.column)
        if first.column == "age":
            assert float(first.high) - float(first.low) == 15
        elif first.column == "sex":
            assert first.values in (("f",), ("m",))
        else:
            assert first.values in (("nurse", "doctor"), ("clerk", "lawyer"), ("cook",))
        assert np.datetime64(born.high) - np.datetime64(born.low) == 10
        assert float(weight.high) - float(weight.low) == pytest.approx(10)
    assert seen == {"age", "sex", "job"}
    for query in RangeQueries(count=50, span=0, share=0.2).make(reading):
        first, *rest = query.conditions
        assert all(len(one.values) == 1 for one in rest)
        if first.column == "age":
            assert float(first.high) - float(first.low) == 10  # a fifth of 20 to 69
    for query in RangeQueries(count=50, u=(52.0, 53.0), span=2).make(reading):
        assert 52 <= float(query.conditions[2].low) <= 53


def test_queries_in_words(reading: Reading) -> None:
    text = "age in [30, 40] and sex = \"f\" and disease in {flu, 'gout'} and job = care and size in [small, medium]"
    query = parse_query(text, reading)
    assert [(one.column, one.values, one.low, one.high) for one in query.conditions] == [
        ("age", (), "30", "40"), ("sex", ("f",), "", ""), ("disease", ("flu", "gout"), "", ""),
        ("job", ("nurse", "doctor"), "", ""), ("size", ("small", "medium"), "", ""),
    ]  # fmt: skip
    assert parse_query(str(query), reading) == query
    born = parse_query("born in [1990-01-02, 1990-02-01]", reading)
    assert parse_query(str(born), reading) == born
    assert parse_query("weight = 50.0", reading).conditions[0].values == ("50",)
    assert len(parse_queries(["# a comment", "", "sex = f"], reading)) == 1


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("agee = 30", "no column 'agee'. Did you mean 'age'"),
        ("job = nurs", "no value 'nurs'. Did you mean 'nurse'"),
        ("age in [40, 30]", "upside down"),
        ("age in [a, 30]", "not a number"),
        ("born in [1990, 1991]", "not a date"),
        ("sex in [f, m]", "no order"),
        ("sex = f and sex = m", "two conditions"),
        ("sex = f or sex = m", "'or' stands where 'and'"),
        ("sex in f", "a list"),
        ("sex f", "'=' or 'in'"),
        ("sex =", "ends where a value"),
        ("sex in {f", "'}' was expected"),
        ('sex = "f', "character 6"),
    ],
)
def test_queries_that_cannot_be_asked(reading: Reading, text: str, told: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_queries(["sex = f", text], reading)
    assert str(caught.value).startswith("Query 2: ")
    assert told in str(caught.value)


def test_a_sensitive_value_is_never_proposed(reading: Reading) -> None:
    with pytest.raises(InputError) as caught:
        parse_query("disease = asthm", reading)
    assert str(caught.value) == "Column 'disease' has no value 'asthm'."


def test_parameters_are_checked() -> None:
    with pytest.raises(ParameterError, match="Did you mean 'type-1'"):
        workload_of("type1")
    with pytest.raises(ParameterError, match="'share'"):
        RangeQueries(share=0.0)
    with pytest.raises(InputError, match="no query"):
        parse_queries(["# nothing"], None)  # type: ignore[arg-type]
