"""Intersecting releases and singling out, on tables where the answer is known by counting."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.data.keys import Keys
from shoal.risk.attacks.case import AttackCase
from shoal.risk.attacks.run import attack, make_case
from shoal.risk.attacks.views import public_view
from tests.attacks.cases import INTERVAL, TEXT, attacked, case_of, figures, manifest
from tests.conftest import many

SEEDS = many(40, 100)
AGE: dict[str, Any] = {"age": INTERVAL}


def several(
    first: dict[str, Any], second: dict[str, Any], people: dict[str, Any], control: dict[str, Any] | None = None
) -> AttackCase:
    described = manifest(AGE, {"s": TEXT})
    outside = None if control is None else pl.DataFrame(control)
    return make_case(
        public_view(pl.DataFrame(first), described), described, Keys.from_seed(1), against=pl.DataFrame(people),
        control=outside, others=[(pl.DataFrame(second), described)],
    )  # fmt: skip


def test_what_two_releases_have_in_common_is_one_value() -> None:
    first = {"age": ["[0,9]"] * 2 + ["[10,19]"] * 2, "s": list("abcd")}
    second = {"age": ["[5,14]"] * 2 + ["[0,4]", "[15,19]"], "s": list("bcad")}
    people = {"age": [1, 7, 12, 18], "s": list("abcd")}
    result = attacked(several(first, second, people), "intersection")
    made = figures(result)["intersection:s"]
    # 1 and 18 are alone in the second; 7 is {a,b} and {b,c}, 12 is {c,d} and {b,c}: all four are open together.
    assert made.value == 1.0
    assert made.baseline == pytest.approx(0.5, abs=0.26)
    assert result.also["sizes"]["s"] == {"intersection": 1.0, "best_alone": 1.5}


def test_the_same_release_twice_adds_nothing() -> None:
    first = {"age": ["[0,9]"] * 2 + ["[10,19]"] * 2, "s": list("abcd")}
    made = figures(attacked(several(first, first, {"age": [1, 2, 11, 12], "s": list("abcd")}), "intersection"))
    assert made["intersection:s"].value == 0.0
    assert not made["intersection:s"].beats


def test_people_outside_the_data_are_the_control() -> None:
    first = {"age": ["[0,9]"] * 2, "s": list("ab")}
    second = {"age": ["[0,5]"] * 2 + ["[6,9]"], "s": list("bca")}
    case = several(first, second, {"age": [1, 7], "s": list("ba")}, {"age": [2, 8, 9, 50], "s": list("bbbb")})
    made = figures(attacked(case, "intersection"))["intersection:s"]
    assert made.value == 1.0
    assert made.control == pytest.approx(1 / 4)


def test_intersection_needs_another_release() -> None:
    found = attacked(case_of({"age": ["1"], "s": ["a"]}, AGE, against={"age": [1], "s": ["a"]}), "intersection")
    assert not found.figures
    assert "--also" in found.note


def test_no_false_alarm_of_intersections_about_other_people() -> None:
    covered = 0
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        ages, values = rng.integers(0, 100, 300), rng.choice(list("abcdef"), 300)
        first = {"age": [f"[{age // 4 * 4},{age // 4 * 4 + 3}]" for age in ages], "s": values}
        second = {"age": [f"[{age // 5 * 5},{age // 5 * 5 + 4}]" for age in ages], "s": values}
        made = figures(attacked(several(first, second, {"age": ages, "s": rng.permutation(values)}), "intersection"))
        one = made["intersection:s"]
        assert one.baseline is not None
        covered += one.low <= one.baseline <= one.high
    assert covered >= 0.9 * SEEDS


def test_descriptions_that_fit_one_person() -> None:
    released = {"age": ["[0,9]"] * 3 + ["[5,14]"] * 3, "s": list("abbabc")}
    # a and c are alone in their classes; [5,14] with a, b or c, [0,9] with a.
    people = {"age": [1, 2, 3, 7, 12, 13], "s": list("abbabc")}
    made = figures(attacked(case_of(released, AGE, against=people), "singling-out"))["singling-out:s"]
    # [0,9]+a fits 1 and 7; [5,14]+a fits 7, +b fits 12, +c fits 13.
    assert made.value == pytest.approx(3 / 4)
    assert made.baseline is not None


def test_singling_out_where_nothing_is_alone() -> None:
    released = {"age": ["[0,9]"] * 4, "s": list("aabb")}
    made = figures(attacked(case_of(released, AGE, against={"age": [1], "s": ["a"]}), "singling-out"))["singling-out:s"]
    assert (made.value, made.trials) == (0.0, 0)


def test_no_false_alarm_of_descriptions_of_other_people() -> None:
    covered = 0
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        ages, values = rng.integers(0, 200, 400), rng.choice(list("abcdef"), 400)
        released = {"age": [f"[{age // 4 * 4},{age // 4 * 4 + 3}]" for age in ages], "s": values}
        case = case_of(released, AGE, against={"age": ages, "s": rng.permutation(values)}, seed=seed)
        one = figures(attacked(case, "singling-out"))["singling-out:s"]
        assert one.baseline is not None
        covered += one.low <= one.baseline <= one.high
    assert covered >= 0.9 * SEEDS


@pytest.mark.parametrize("share", [0.01, 0.05, 0.2])
def test_planted_descriptions_are_found(share: float) -> None:
    """Classes of ten in which each value occurs twice, but for some records with a value of their own."""
    found = 0
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        values = np.tile(np.repeat(list("abcde"), 2), 100).astype("U4")
        rare = rng.choice(1000, round(share * 1000), replace=False)
        values[rare] = [f"r{one}" for one in rng.integers(0, 50, rare.size)]
        ages = np.repeat(np.arange(100), 10) * 10
        released = {"age": [f"[{age},{age + 9}]" for age in ages], "s": values}
        case = case_of(released, AGE, against={"age": ages, "s": values}, seed=seed)
        found += figures(attacked(case, "singling-out"))["singling-out:s"].beats
    assert found >= 0.95 * SEEDS


def test_a_gated_release_is_attacked_with_its_input() -> None:
    rng = np.random.default_rng(2)
    data = {"age": rng.integers(0, 50, 200), "job": rng.choice(list("xyz"), 200), "s": rng.choice(list("abcd"), 200)}
    frame = pl.DataFrame(data)
    table = shoal.read(frame, quasi=["age", "job"], sensitive=["s"])
    release = shoal.anonymize(table, algorithm="mondrian", models=[shoal.KAnonymity(k=4), shoal.DistinctL(l=2)], seed=1)
    other = shoal.anonymize(table, algorithm="k-members", models=[shoal.KAnonymity(k=4), shoal.DistinctL(l=2)], seed=2)
    results = {one.name: one for one in attack(release, others=[(other.frame, other.manifest)], seed=1)}
    assert results["intersection"].figures
    sizes = results["intersection"].also["sizes"]["s"]
    assert sizes["intersection"] < sizes["best_alone"]
    again = {one.name: one for one in attack(release, others=[(other.frame, other.manifest)], seed=1)}
    assert [one.figures for one in results.values()] == [one.figures for one in again.values()]
