"""People with several rows count once: linkage, the attacks on classes, descriptions and limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.data.keys import Keys
from shoal.risk.attacks.base import by_person
from shoal.risk.attacks.case import AttackCase
from shoal.risk.attacks.limits import class_risks
from shoal.risk.attacks.run import attack, make_case
from shoal.risk.attacks.views import own_people, people_frame, public_view, release_view
from shoal.vault.registry import Registry
from tests.attacks.cases import INTERVAL, TEXT, attacked, covers, figures, manifest


def case_with(released: pl.DataFrame, people: pl.DataFrame, control: pl.DataFrame | None = None) -> AttackCase:
    """A release whose rows are known to be somebody's."""
    described = manifest({"age": INTERVAL}, {"s": TEXT})
    view = public_view(released, described, subject=released["who"])
    return make_case(view, described, Keys.from_seed(1), against=people, control=control)


def test_a_person_counts_once_by_the_mean_of_the_rows() -> None:
    success, cluster = np.array([1.0, 0.0, 1.0, 1.0]), np.array([5, 6, 7, 7])
    found, clusters = by_person(success, cluster, np.array([3, 3, 1, 2]))
    assert found.tolist() == [1.0, 1.0, 0.5]  # the persons 1, 2 and 3
    assert clusters.tolist() == [7, 7, 5]
    assert by_person(success, cluster, None) == (success, cluster)


def test_linkage_by_hand() -> None:
    released = pl.DataFrame({
        "age": ["[20,29]"] * 4 + ["[30,39]"] * 2, "s": list("aabbcc"),
        "who": ["ann", "ann", "ann", "bob", "cat", "cat"],
    })  # fmt: skip
    people = pl.DataFrame({"age": [21, 22, 23, 24, 31, 32], "s": list("aabbcc"), "who": released["who"]})
    found = figures(attacked(case_with(released, people), "linkage"))
    # Three of four records that match ann are hers, one of four is bob's, and both that match cat are hers.
    assert found["linkage"].value == pytest.approx((3 / 4 + 1 / 4 + 1) / 3)
    assert found["linkage"].baseline == pytest.approx(1 / 3)
    assert found["linkage-unique"].value == pytest.approx(1 / 3)
    assert "Records of exactly one person match 33.3% of 3 people." in found["linkage-unique"].sentence
    # The commonest of a, a, b, b is a: right for two of ann's three rows and not for bob's.
    assert found["linkage:s"].value == pytest.approx((2 / 3 + 0 + 1) / 3)
    assert "of 3 people" in found["linkage:s"].sentence
    sure = figures(attacked(case_with(released, people), "homogeneity"))["homogeneity:s"]
    # Ann and bob both have b, and cat has nothing but c.
    assert sure.value == 1.0


def test_intersecting_the_rows_of_a_person_by_hand() -> None:
    released = pl.DataFrame({
        "age": ["[20,29]"] * 3 + ["[30,39]"] * 3, "s": list("abcade"),
        "who": ["ann", "bob", "cat", "ann", "dan", "eve"],
    })  # fmt: skip
    people = released.with_columns(age=pl.Series([21, 22, 23, 31, 32, 33]))
    outside = pl.DataFrame({"age": [25, 35, 25], "s": list("aab"), "who": ["fay", "fay", "gil"]})
    found = attacked(case_with(released, people, outside), "subject-intersection")
    one = figures(found)["subject-intersection:s"]
    # The classes of ann's two rows have a alone in common; the others have one row, in a class of three values.
    assert one.value == pytest.approx(1 / 5)
    assert one.control == pytest.approx(1 / 2)  # fay's classes are ann's
    assert one.baseline < 1 / 5
    assert found.also["values_left"] == {"s": pytest.approx((1 + 3 * 4) / 5)}


def test_the_classes_of_a_persons_rows_have_a_control_where_they_overlap() -> None:
    """Ann's own classes have a alone in common; who cannot tell the classes apart keeps more of them."""
    released = {
        "age": ["[30,35]"] * 3 + ["[40,45]"] * 3 + ["[20,45]"] * 2,
        "s": [*"abc", *"ade", *"fg"],
        "who": ["ann", "bob", "cat", "ann", "dan", "eve", "gus", "hal"],
    }
    people = {"age": [31, 32, 33, 41, 42, 43, 20, 36], "s": released["s"], "who": released["who"]}
    outside = {"age": [30, 44, 21, 46], "s": ["a", "a", "f", "g"], "who": ["fay", "fay", "ivy", "jon"]}
    case = case_with(pl.DataFrame(released), pl.DataFrame(people), pl.DataFrame(outside))
    result = attacked(case, "subject-intersection")
    found = figures(result)
    own, beside = found["subject-intersection:s"], found["subject-intersection-pooled:s"]
    assert own.control is None
    assert "no class" in result.note
    assert own.value == pytest.approx(1 / 7)
    # The class of gus and hal covers the rows of ann as well, so that a, f and g are left.
    assert beside.value == 0.0
    assert beside.control == 0.0
    assert "Without knowing which of the classes" in beside.sentence
    assert result.value == own.value


def test_people_of_whom_one_value_is_left_are_told_from_those_outside_where_classes_overlap() -> None:
    released = {"age": ["[30,35]"] * 2 + ["[30,32]"] * 2, "s": [*"aa", *"ab"], "who": ["ann", "bob", "ann", "bob"]}
    people = {"age": [34, 35, 31, 31], "s": released["s"], "who": released["who"]}
    outside = {"age": [33, 31, 33], "s": ["a", "a", "b"], "who": ["fay", "fay", "gil"]}
    case = case_with(pl.DataFrame(released), pl.DataFrame(people), pl.DataFrame(outside))
    beside = figures(attacked(case, "subject-intersection"))["subject-intersection-pooled:s"]
    # Of ann (bob's values differ) and of fay a is left; gil is covered by the class of a as well, and has b.
    assert beside.value == 1.0
    assert beside.control == pytest.approx(1 / 2)


def test_intersecting_needs_to_know_whose_rows_are_whose() -> None:
    described = manifest({"age": INTERVAL}, {"s": TEXT})
    view = public_view(pl.DataFrame({"age": ["[20,29]"] * 2, "s": list("ab")}), described)
    case = make_case(view, described, Keys.from_seed(1), against=pl.DataFrame({"age": [21, 22], "s": list("ab")}))
    assert "needs to know whose rows are whose" in attacked(case, "subject-intersection").note


def test_without_the_subjects_of_records_people_still_count_once() -> None:
    released = pl.DataFrame({"age": ["[20,29]", "[20,29]", "[30,39]"], "s": list("abc")})
    people = {"age": [21, 22, 31], "s": list("abc"), "who": ["ann", "ann", "bob"]}
    described = manifest({"age": INTERVAL}, {"s": TEXT})
    view = public_view(released, described)
    case = make_case(view, described, Keys.from_seed(1), against=pl.DataFrame(people), subject="who")
    found = figures(attacked(case, "linkage"))
    assert found["linkage"].value == pytest.approx((1 / 2 + 1) / 2)
    assert found["linkage-unique"].value == pytest.approx(1 / 2)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(1, 4))
def test_linkage_is_the_plain_way(seed: int, rows: int, many: int) -> None:
    rng = np.random.default_rng(seed)
    low = rng.integers(0, 4, rows)
    cells = ["*" if rng.random() < 0.1 else f"[{one},{one + 1 + rng.integers(0, 3)}]" for one in low]
    who = rng.integers(0, many, rows).astype(str)
    released = pl.DataFrame({"age": cells, "s": ["x"] * rows, "who": who})
    people = pl.DataFrame({"age": low + rng.integers(0, 2, rows), "s": ["x"] * rows, "who": rng.permutation(who)})
    success: dict[str, list[float]] = {}
    single: dict[str, list[bool]] = {}
    for age, whose in zip(people["age"], people["who"], strict=True):
        mine = [other for cell, other in zip(cells, who, strict=True) if covers(cell, INTERVAL, age)]
        success.setdefault(whose, []).append(mine.count(whose) / len(mine) if mine else 0.0)
        single.setdefault(whose, []).append(len(set(mine)) == 1)
    found = figures(attacked(case_with(released, people), "linkage"))
    assert found["linkage"].value == pytest.approx(np.mean([np.mean(one) for one in success.values()]))
    assert found["linkage-unique"].value == pytest.approx(np.mean([any(one) for one in single.values()]))


def test_a_description_that_fits_two_rows_of_a_person_singles_out() -> None:
    released = pl.DataFrame({"age": ["[20,29]"] * 3, "s": list("abb"), "who": ["ann", "bob", "cat"]})
    twice = pl.DataFrame({"age": [21, 22, 23, 24], "s": list("aabb"), "who": ["ann", "ann", "bob", "cat"]})
    assert figures(attacked(case_with(released, twice), "singling-out"))["singling-out:s"].value == 1
    other = twice.with_columns(who=pl.Series(["ann", "dan", "bob", "cat"]))
    assert figures(attacked(case_with(released, other), "singling-out"))["singling-out:s"].value == 0


def test_limits_count_people() -> None:
    frame = pl.DataFrame({
        "who": [f"p{one // 3}" for one in range(36)], "age": [20 + one // 3 for one in range(36)],
        "s": ["a", "b", "c"] * 12,
    })  # fmt: skip
    # Tight, so that no class reaches into another and linking is picking from one's own.
    table = shoal.read(frame, subject="who", quasi=["age"], sensitive=["s"], settings={"age": {"snap": "off"}})
    codes = ["W-UNMODELLED:s", "W-TIGHT"]
    release = shoal.anonymize(table, algorithm=shoal.Mondrian(k=4), seed=1, acknowledge=codes)
    classes: dict[Any, set[str]] = {}
    for place, whose in zip(release.released.classes, frame["who"], strict=True):
        classes.setdefault(place, set()).add(whose)
    sizes = [len(one) for one in classes.values()]
    assert min(sizes) >= 4
    assert class_risks(release) == pytest.approx(
        {"prosecutor_max": 1 / min(sizes), "prosecutor_mean": len(sizes) / sum(sizes)}
    )
    # Everybody has as many rows as anybody else, so that records are people here.
    found = figures(attack(release, only=["linkage"])[0])["linkage"]
    assert found.value == pytest.approx(class_risks(release)["prosecutor_mean"])
    assert "of 12 people" in found.sentence


def test_counterfeits_are_nobody_to_be_attacked_but_stay_in_their_class() -> None:
    """Three people in one class; one leaves, and a counterfeit takes the place."""
    frame = pl.DataFrame({"who": list("abc"), "age": [10, 15, 16], "illness": ["flu", "cold", "gout"]})
    roles: dict[str, Any] = {"subject": "who", "quasi": ["age"], "sensitive": ["illness"]}
    first = shoal.anonymize(shoal.read(frame, **roles), algorithm=shoal.MInvariant(m=2), seed=1)
    table = shoal.read(frame.head(2), **roles)
    history = Registry(source="x").with_release(first, "first").history_of(table)
    release = shoal.anonymize(table, algorithm=shoal.MInvariant(m=2, counterfeits=True), history=history, seed=1)
    assert (release.frame.height, release.table.counterfeits) == (3, 1)
    assert people_frame(release)["who"].to_list() == ["a", "b"]
    view = release_view(release)
    own = own_people(view)
    assert (view.rows, own.n, own.count) == (3, 2, 2)
    known = view.sensitive["illness"].texts
    assert sorted(known.gather(own.truth["illness"])) == ["cold", "flu"]
    found = figures(shoal.attack(release, only=["linkage"], seed=1)[0])
    # Two people, each of them one of three records that match; without the counterfeit it would be one of two.
    assert found["linkage"].value == pytest.approx(1 / 3)
    assert "of 2 people" in found["linkage"].sentence
