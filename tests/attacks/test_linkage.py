"""Linkage: cells of every kind against the plain definition, known answers, and what gated releases allow."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import InfeasibleError, InputError, RefusalError
from shoal.risk.attacks.run import attack
from shoal.risk.attacks.views import identified_people, people_frame, release_view
from shoal.utility.randomised import wilson
from tests.attacks.cases import INTERVAL, LABEL, SET, TEXT, attacked, case_of, covers, figures
from tests.conftest import many
from tests.strategies import frames

TREE = [["cat", "pet", "*"], ["dog", "pet", "*"], ["cow", "farm", "*"], ["pig", "farm", "*"], ["emu", "emu", "*"]]
PETS = {**LABEL, "hierarchy": TREE}
QUASI: dict[str, dict[str, Any]] = {"age": INTERVAL, "pet": PETS, "job": SET, "town": TEXT}
CELLS = {
    "age": ["*", "<missing>", "[1,5]", "[3,8]", "4", "[-2,1.5]", "[5,5.5]"],
    "pet": ["*", "<missing>", "pet", "farm", "cat", "emu"],
    "job": ["*", "<missing>", "{a|b}", "{a|c|d}", "b", "*x"],
    "town": ["*", "<missing>", "x", "y"],
}
VALUES: dict[str, list[Any]] = {
    "age": [None, "1", "1.5", "3", "4.0", "5.25", "9", "-2"],
    "pet": [None, "cat", "dog", "cow", "emu", "wolf"],
    "job": [None, "a", "b", "c", "*x", "zebra"],
    "town": [None, "x", "y", "z"],
}


def rows(options: dict[str, list[Any]], most: int) -> st.SearchStrategy[list[tuple[Any, ...]]]:
    return st.lists(st.tuples(*(st.sampled_from(one) for one in options.values())), min_size=1, max_size=most)


@given(rows(CELLS, 40), rows(VALUES, 30))
def test_matches_are_those_of_the_definition(released: list[Any], people: list[Any]) -> None:
    data = {name: [row[place] for row in released] for place, name in enumerate(QUASI)}
    who = {name: pl.Series([row[place] for row in people], dtype=pl.String) for place, name in enumerate(QUASI)}
    case = case_of(data, QUASI, {}, against=who, aligned=True)
    vectors, vector = case.everybody.places
    counts = case.view.cells.counts(vectors)[vector]
    pairs = list(zip(QUASI, QUASI.values(), strict=True))
    expected = [
        sum(all(covers(row[at], entry, person[at]) for at, (_, entry) in enumerate(pairs)) for row in released)
        for person in people
    ]
    assert counts.tolist() == expected
    assert case.people.n == sum(count > 0 for count in expected)


def test_a_known_table() -> None:
    released = {"age": ["[20,29]", "[20,29]", "[30,39]", "[30,39]", "[30,39]", "[25,34]"], "s": list("aabbca")}
    people = {"age": [21, 27, 31, 38, 50], "s": list("aabcb")}
    found = attacked(case_of(released, {"age": INTERVAL}, against=people), "linkage")
    made = figures(found)
    # 21: 2 records, 27: 3 (all a), 31: 4 (b, b, c, a), 38: 3, 50: none.
    assert made["linkage"].value == pytest.approx((1 / 2 + 1 / 3 + 1 / 4 + 1 / 3) / 4)
    assert "1 of 5 rows of the people are not in the release and do not count." in found.note
    assert made["linkage"].baseline == pytest.approx(1 / 6)
    assert made["linkage-unique"].value == 0.0
    # Guessed a, a, b, b; the truth is a, a, b, c.
    assert made["linkage:s"].value == pytest.approx(3 / 4)
    assert [(one["from"], one["people"]) for one in found.also["matches"]] == [(0, 1), (2, 1), (3, 3)]
    # Records of class one match two people, [30,39] two, [25,34] two (27 and 31).
    assert found.also["records_of_one_person"] == 0.0


def test_a_release_of_exact_values_is_all_unique() -> None:
    released = {"age": [str(age) for age in range(30)], "s": ["x"] * 30}
    made = figures(attacked(case_of(released, {"age": INTERVAL}, against={"age": list(range(30))}), "linkage"))
    assert made["linkage"].value == made["linkage-unique"].value == 1.0
    assert made["linkage"].beats


def test_starred_rows_are_no_records() -> None:
    released = {"age": ["[1,2]", "[1,2]", "*"], "s": ["a", "b", "*"]}
    case = case_of(released, {"age": INTERVAL}, against={"age": [1]}, suppressed="star")
    assert figures(attacked(case, "linkage"))["linkage"].value == pytest.approx(1 / 2)
    case = case_of(released, {"age": INTERVAL}, against={"age": [1]})
    assert figures(attacked(case, "linkage"))["linkage"].value == pytest.approx(1 / 3)


def test_bounds_are_intervals_and_representatives_are_left_out() -> None:
    released = {"age_lo": [1, 1, None], "age_hi": [5, 5, None], "size": [3, 3, 9], "s": list("aab")}
    quasi: dict[str, Any] = {
        "age": {"type": "numeric", "cells": "bounds", "columns": ["age_lo", "age_hi"]},
        "size": {"type": "numeric", "cells": "representative"},
    }
    case = case_of(released, quasi, against={"age": [3, 7], "size": [1, 1]})
    found = attacked(case, "linkage")
    assert figures(found)["linkage"].value == pytest.approx((1 / 3 + 1) / 2)
    assert "size is published by representatives" in found.note


def test_people_need_the_columns_of_the_release() -> None:
    with pytest.raises(InputError, match="no column 'age'"):
        case_of({"age": ["1"], "s": ["a"]}, {"age": INTERVAL}, against={"years": [1]})


def test_people_need_numbers_where_the_release_has_some() -> None:
    with pytest.raises(InputError, match="'age'.*as numbers") as caught:
        case_of({"age": ["1"], "s": ["a"]}, {"age": INTERVAL}, against={"age": ["Anna"]})
    assert "Anna" not in str(caught.value)


def test_the_control_of_those_who_stand_alone_has_an_interval() -> None:
    released = {"age": ["[0,9]", "[0,9]", "[10,19]"], "s": ["x"] * 3}
    outside = {"age": [12, 3, 4, 5]}
    case = case_of(released, {"age": INTERVAL}, against={"age": [1, 2, 13]}, control=outside)
    unique = figures(attacked(case, "linkage"))["linkage-unique"]
    assert (unique.value, unique.control) == (pytest.approx(1 / 3), 1 / 4)
    assert unique.control_interval == wilson(1 / 4, 4)


@pytest.mark.parametrize("share", [0.01, 0.05, 0.2])
def test_records_that_stand_alone_are_found(share: float) -> None:
    for seed in range(5):  # whichever they are, the figures are the same
        rng = np.random.default_rng(seed)
        exact = np.zeros(1000, dtype=bool)
        exact[rng.choice(1000, round(share * 1000), replace=False)] = True
        ages = np.arange(1000)
        cells = np.where(exact, ages.astype(str), [f"[{1000 + age // 50},2000]" for age in ages])
        people = {"age": np.where(exact, ages, 1500)}
        case = case_of({"age": cells, "s": ["x"] * 1000}, {"age": INTERVAL}, against=people, seed=seed)
        unique = figures(attacked(case, "linkage"))["linkage-unique"]
        assert unique.value == pytest.approx(share)
        assert unique.beats


@settings(max_examples=many(10, 100))
@given(frames(max_rows=40, people=False), st.integers(2, 4), st.sampled_from(["mondrian", "k-members"]))
def test_gated_releases_keep_the_attacker_within_their_promises(drawn: Any, k: int, algorithm: str) -> None:
    frame, roles = drawn
    table = shoal.read(frame, **roles)
    models = [shoal.KAnonymity(k=k), shoal.AlphaKGeneral(alpha=0.75, k=k)]
    try:
        release = shoal.anonymize(table, algorithm=algorithm, models=models, seed=1)
    except (InfeasibleError, RefusalError):
        return
    made = figures(attack(release, only=["linkage"])[0])
    assert made["linkage"].value <= 1 / k + 1e-12
    view = release_view(release)
    people = identified_people(view, people_frame(release))
    vectors, vector = people.places
    # Whoever is in the data has at least the own class to hide in.
    assert (view.cells.counts(vectors)[vector] >= k).all()
    if "linkage:s" in made:
        assert made["linkage:s"].low <= 0.75


def test_of_many_releases_the_guess_stays_within_the_share_that_a_class_may_hold() -> None:
    rng = np.random.default_rng(5)
    right = tried = 0.0
    for seed in range(20):
        data = pl.DataFrame({"age": rng.integers(0, 60, 300), "s": rng.choice(list("abcd"), 300)})
        table = shoal.read(data, quasi=["age"], sensitive=["s"])
        models = [shoal.AlphaKGeneral(alpha=0.5, k=4)]
        release = shoal.anonymize(table, algorithm="mondrian", models=models, seed=seed)
        one = figures(attack(release, only=["linkage"])[0])["linkage:s"]
        right, tried = right + one.value * 300, tried + 300
    assert right / tried <= 0.5 + 3 * (0.25 / tried) ** 0.5
