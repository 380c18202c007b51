"""Hierarchies proposed by type: dates, numbers, codes, categories."""

from __future__ import annotations

import random
from datetime import date, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.data.hierarchy import MISSING
from shoal.data.hierarchy_files import build
from shoal.data.hierarchy_suggest import HOWS, Suggestion, guess_type, suggest

ICD = ["E11.9", "E11.65", "E10.1", "E10", "I10", "I21.0", "I21.4", "J45.9", "J44.1", "J44.0"]
ZIPS = [f"{area}{street:02d}" for area in ("101", "102", "801", "803", "809") for street in range(0, 90, 7)]


def first(name: str, values: list[str], **more: object) -> Suggestion:
    return suggest(name, dict.fromkeys(values, 2), **more)[0]  # type: ignore[arg-type]


def test_dates_get_the_levels_that_join_something() -> None:
    days = [(date(1931, 1, 5) + timedelta(days=97 * at)).isoformat() for at in range(300)]
    found = first("born", days)
    assert found.spec == {"dates": ["year", "decade"]}  # months and quarters would leave most days alone
    within = [(date(2025, 1, 1) + timedelta(days=at)).isoformat() for at in range(200)]
    assert first("admitted", within).spec == {"dates": ["month", "quarter"]}


def test_numbers_get_round_steps_that_nest() -> None:
    found = first("age", [str(age) for age in range(97)])
    assert found.spec == {"widths": [5, 10, 20]}
    assert found.hierarchy.labels[1][0] == "[0,4]"


def test_steps_do_not_depend_on_where_numbers_begin() -> None:
    assert first("year", [str(year) for year in range(1931, 2021)]).spec == {"widths": [5, 10, 20]}


def test_decimals_get_steps_below_one() -> None:
    found = first("lactate", [f"{value / 100:g}" for value in range(13, 490, 3)])
    assert found.how == "widths"
    assert found.spec["widths"][0] == pytest.approx(0.5)


def test_a_lopsided_column_gets_quantiles_first() -> None:
    counts = {str(value): 1000 // value for value in range(1, 300)} | {"90000": 1}
    found = suggest("income", counts)
    assert [one.how for one in found] == ["quantiles", "widths"]
    assert "follow the data" in found[0].why


def test_codes_of_one_length_are_grouped_by_prefix_and_made_categorical() -> None:
    found = first("plz", ZIPS)
    assert (found.how, found.spec, found.type) == ("prefix", {"prefix": [4, 3, 1]}, "categorical")


def test_numbers_of_one_length_are_codes_only_by_their_name() -> None:
    assert "prefix" not in [one.how for one in suggest("income", dict.fromkeys(ZIPS, 2))]


def test_a_leading_zero_makes_a_code() -> None:
    assert guess_type(dict.fromkeys(["01067", "10115"], 1)) == "categorical"
    assert first("place", [f"0{zip}" for zip in ZIPS]).how == "prefix"


def test_codes_of_several_lengths_meet_in_one_stem() -> None:
    found = first("diagnosis", ICD)
    assert found.how == "stems"
    paths = {path[0]: path for path in found.hierarchy.rows()}
    assert paths["E10"][1] == paths["E10.1"][1] == "E10*"
    assert paths["E10"][-2] == paths["E11.65"][-2] == "E*"


def test_words_are_no_codes() -> None:
    towns = {"Aachen": 90, "Bonn": 80, "Cottbus": 5, "Dresden": 70, "Essen": 4, "Fulda": 3, "Gera": 2}
    assert [one.how for one in suggest("town", towns)] == ["rare"]


def test_rare_categories_become_one_and_the_limit_is_round() -> None:
    counts = {"a": 500, "b": 300, "c": 100, "d": 43, "e": 31, "f": 2}
    found = suggest("group", counts)[0]
    assert found.how == "rare"
    assert found.spec == {"rare": 110}
    assert len(found.hierarchy.labels[1]) == 3


def test_categories_that_keep_the_same_company_are_grouped() -> None:
    counts = {"miner": 50, "welder": 40, "nurse": 60, "doctor": 30, "teacher": 20, "clerk": 25}
    beside = {"works in": np.array([[50, 0, 0], [40, 0, 0], [0, 60, 0], [0, 30, 0], [5, 0, 15], [1, 0, 24]])}
    found = suggest("job", counts, beside=beside)[0]
    assert found.how == "together"
    groups = {frozenset(label.split(" / ")) for label in found.hierarchy.labels[1]}
    assert {frozenset({"miner", "welder"}), frozenset({"nurse", "doctor"})} <= groups


def test_nothing_is_proposed_where_two_levels_are_all_there_can_be() -> None:
    assert suggest("sex", {"f": 3, "m": 4, MISSING: 2}) == []


def test_missing_values_stay_under_the_root() -> None:
    counts = {str(age): 1 for age in range(90)} | {MISSING: 7}
    for found in suggest("age", counts):
        assert found.hierarchy.rows()[-1] == [*[MISSING] * found.hierarchy.height, "*"]


def test_a_reason_holds_no_value() -> None:
    secrets = ["Mrs Miller", "Mr Smith", "Ms Brown", "Dr Jones", "Sir Paul", "Dame Judi"]
    counts = {name: 2**place for place, name in enumerate(secrets)}
    for found in suggest("name", counts, beside={"x": np.eye(6)}):
        assert not [name for name in secrets if name in found.why]


VALUES = st.one_of(
    st.lists(st.integers(-(10**6), 10**6).map(str), unique=True, min_size=1, max_size=60),
    st.lists(st.decimals(-1000, 1000, places=2).map(lambda one: f"{one.normalize():f}"), unique=True, max_size=40),
    st.lists(st.dates().map(date.isoformat), unique=True, max_size=60),
    st.lists(st.text("AB12. -", min_size=1, max_size=5).map(str.strip).filter(bool), unique=True, max_size=40),
)


@settings(max_examples=40, deadline=None)
@given(values=VALUES, seed=st.integers(0, 9))
def test_whatever_is_proposed_can_be_built_from_its_description(values: list[str], seed: int) -> None:
    draw = random.Random(seed)
    counts = {value: draw.randint(1, 50) for value in values}
    beside = {"other": np.array([[draw.randint(0, 9) for _ in range(3)] for _ in values]).reshape(-1, 3)}
    for found in suggest("zip", counts, beside=beside):
        assert found.how in HOWS
        tree = build("zip", found.spec, list(counts), counts=list(counts.values()))
        assert sorted(tree.rows()) == sorted(found.hierarchy.rows())
        sizes = [len(labels) for labels in found.hierarchy.labels]
        assert sizes == sorted(sizes, reverse=True)
        assert sizes[-1] == 1
        assert set(found.hierarchy.labels[0]) == set(counts)
