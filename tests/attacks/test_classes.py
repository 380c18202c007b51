"""Attacks on classes: known answers, no false alarm where values are about nobody, and leaks that must be found."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.data.keys import Keys
from shoal.errors import ParameterError
from shoal.recoding.kinds import GENERALISED
from shoal.registry import load
from shoal.risk.attacks.base import AttackFigure, clustered
from shoal.risk.attacks.case import AttackCase
from shoal.risk.attacks.classes import Background
from shoal.risk.attacks.run import attack
from shoal.risk.attacks.views import own_people, release_view
from tests.attacks.cases import INTERVAL, NUMBER, TEXT, attacked, case_of, figures
from tests.conftest import many

TREE = [["a", "ab", "*"], ["b", "ab", "*"], ["c", "cd", "*"], ["d", "cd", "*"], ["e", "e", "*"]]
TREED = {**TEXT, "hierarchy": TREE}
SEEDS = many(40, 100)
RULES = ["homogeneity", "background", "skewness", "similarity", "divergence"]


def classes(*values: str) -> dict[str, list[str]]:
    """One class a text, one record a letter."""
    return {
        "age": [f"[{10 * at},{10 * at + 9}]" for at, text in enumerate(values) for _ in text],
        "s": [letter for text in values for letter in text],
    }


def one(name: str, *values: str, column: dict[str, Any] = TREED) -> AttackFigure:
    found = figures(attacked(case_of(classes(*values), {"age": INTERVAL}, {"s": column}), name))
    return found[f"{name}:s"]


def test_homogeneity_is_the_share_in_classes_of_one_value() -> None:
    found = one("homogeneity", "aaa", "aab", "cc")
    assert found.value == pytest.approx(5 / 8)
    # Three times a, which 5 of 8 have, and twice c, which 2 of 8 have.
    assert found.baseline == pytest.approx((3 * 5 / 8 + 2 * 2 / 8) / 8, abs=0.15)


def test_background_excludes_the_next_commonest_values() -> None:
    case = case_of(classes("aaabbc", "ccde"), {"age": INTERVAL})
    found = figures(attacked(case, "background"))
    # Not b: a is right for 3 of 4. Not d (or e): c is right for 2 of 3.
    assert found["background:s"].value == pytest.approx(5 / 7)
    assert found["background-two:s"].value == pytest.approx(5 / 5)


def test_background_excludes_whole_ranges_where_there_are_some() -> None:
    frame = pl.DataFrame({"age": [1] * 6, "x": [1, 2, 3, 11, 12, 21]})
    table = shoal.read(frame, quasi=["age"], sensitive=["x"], policies={"x": [[0, 9], [10, 19], [20, 29]]})
    release = shoal.anonymize(table, algorithm="none", models=[shoal.KAnonymity(k=2)], seed=1,
                              acknowledge=["W-UNMODELLED:x"])  # fmt: skip
    found = figures(attack(release, only=["background"])[0])
    # Not in 10 to 19: 0 to 9 is right for 3 of 4.
    assert found["background:x"].value == pytest.approx(3 / 4)


def test_skewness_speaks_where_a_share_has_doubled() -> None:
    # a: 4 of 12 in the release, 3 of 4 in the first class. In the second c goes from 2 of 12 to 2 of 8 only.
    found = one("skewness", "aaab", "abbbccdd", column=TEXT)
    assert found.value == pytest.approx(3 / 12)
    assert found.baseline is not None
    assert found.baseline < found.value


def test_similarity_lifts_values_to_a_level() -> None:
    assert one("similarity", "ab", "cd", "ac", "ee").value == pytest.approx(6 / 8)
    assert one("homogeneity", "ab", "cd", "ac", "ee").value == pytest.approx(2 / 8)


def test_similarity_needs_a_level_below_the_root() -> None:
    case = case_of(classes("ab"), {"age": INTERVAL})
    found = attacked(case, "similarity")
    assert not found.figures
    assert "does not apply to 's'" in found.note


def test_divergence_sets_the_commonest_group_aside() -> None:
    found = figures(attacked(case_of(classes("abbc", "aced"), {"age": INTERVAL}, {"s": TREED}), "divergence"))
    # Class one: a and b aside, c is right for 1 of 1. Class two: c and d aside, a (or e) for 1 of 2.
    assert found["divergence:s"].value == pytest.approx(2 / 3)
    # Not one's own: 3/4 for a, 1/2 for b, b and 3/4 for c; 3/4 for all four.
    assert found["divergence-breach:s"].value == pytest.approx((6 * 0.75 + 2 * 0.5) / 8)
    assert found["divergence-breach-worst:s"].value == pytest.approx(0.75)
    # Unlike: 1/4 for a, b, b and 3/4 for c; 3/4, 1/2, 3/4, 1/2.
    assert found["divergence-unlike:s"].value == pytest.approx((3 * 0.25 + 0.75 + 2 * 0.75 + 2 * 0.5) / 8)
    flat = figures(attacked(case_of(classes("abbc", "aced"), {"age": INTERVAL}, {"s": TEXT}), "divergence"))
    assert flat == {name: found[name] for name in ("divergence-breach:s", "divergence-breach-worst:s")}


def test_proximity_guesses_the_densest_number() -> None:
    released = {"age": ["[0,9]"] * 5 + ["[10,19]"] * 2, "s": ["100", "101", "102", "150", "<missing>", "0", "200"]}
    case = case_of(released, {"age": INTERVAL}, {"s": NUMBER})
    found = load("attack", "proximity")(eps=1).run(case).figures[0]
    # 101 has two within 1; in the second class either is right for itself.
    assert found.value == pytest.approx((3 + 1) / 6)
    assert "within 1" in found.sentence


def test_unknown_values_are_neither_guessed_nor_scored() -> None:
    column = {**TEXT, "non_answers": ["refused"]}
    released = {"age": ["[0,9]"] * 4, "s": ["a", "<missing>", "refused", "*"]}
    found = figures(attacked(case_of(released, {"age": INTERVAL}, {"s": column}), "homogeneity"))["homogeneity:s"]
    assert (found.value, found.trials) == (1.0, 1)


def test_controls_are_people_outside_the_data() -> None:
    people = {"age": [1, 2, 3, 11, 12], "s": list("aaabc")}
    outside = {"age": [4, 5, 6, 13], "s": list("abca")}
    case = case_of(classes("aaa", "bc"), {"age": INTERVAL}, against=people, control=outside)
    found = figures(attacked(case, "homogeneity"))["homogeneity:s"]
    assert found.value == pytest.approx(3 / 5)
    # Of four people outside, the one with an a is told right; of another class nothing is said.
    assert found.control == pytest.approx(1 / 4)
    assert found.excess == pytest.approx((3 / 5 - 1 / 4) / (3 / 4))
    assert found.control_interval is not None
    assert found.control_interval[0] < found.control < found.control_interval[1]


def test_people_whose_values_the_release_lacks_are_missed() -> None:
    people = {"age": [1, 2, 3], "s": ["a", "z", None]}
    case = case_of(classes("aaa"), {"age": INTERVAL}, against=people)
    assert figures(attacked(case, "homogeneity"))["homogeneity:s"].value == pytest.approx(1 / 2)


def test_people_without_known_values_leave_the_released_records_to_attack() -> None:
    case = case_of(classes("aaa", "bc"), {"age": INTERVAL}, against={"age": [1, 2]})
    assert figures(attacked(case, "homogeneity"))["homogeneity:s"].value == pytest.approx(3 / 5)


def test_numbers_are_the_same_however_they_are_written() -> None:
    released = {"age": ["[0,9]"] * 2, "s": ["15", "15"]}
    case = case_of(released, {"age": INTERVAL}, {"s": NUMBER}, against={"age": [1, 2], "s": ["15.0", "16"]})
    assert figures(attacked(case, "homogeneity"))["homogeneity:s"].value == pytest.approx(1 / 2)


def test_members_of_a_class_are_worth_fewer_trials_than_there_are() -> None:
    success = np.repeat([1.0, 0.0, 1.0, 0.0], 25)
    share, trials = clustered(success, np.repeat(np.arange(4), 25))
    assert (share, trials) == (0.5, 4)
    assert clustered(success, np.arange(100)) == (0.5, 100)
    assert clustered(np.ones(100), np.repeat(np.arange(4), 25)) == (1.0, 4)
    assert clustered(np.empty(0), np.empty(0)) == (0.0, 0)


@pytest.mark.parametrize("name, given", [
    ("skewness", {"factor": 1.0}), ("similarity", {"level": 0}), ("proximity", {"eps": -1}),
    ("divergence", {"level": 0}), ("minimality", {"draws": 1}), ("relinking", {"rounds": -1}),
    ("rank-matching", {"shares": [0.0]}),
])  # fmt: skip
def test_parameters_are_checked(name: str, given: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        load("attack", name)(**given)


def random_release(rng: np.random.Generator, n: int = 400, size: int = 4) -> dict[str, list[str]]:
    """Classes of four with values that follow the class: there is much to find, if the truth is theirs."""
    cells = [f"[{10 * (row // size)},{10 * (row // size) + 9}]" for row in range(n)]
    likely = np.repeat(rng.choice(list("abcde"), n // size), size)
    values = np.where(rng.random(n) < 0.7, likely, rng.choice(list("abcde"), n))
    return {"age": cells, "s": values.tolist()}


@pytest.mark.parametrize("name", [*RULES, "linkage"])
def test_no_false_alarm_about_people_whose_values_are_not_theirs(name: str) -> None:
    """Shuffling true values among people leaves guesses that are about nobody: the interval covers the baseline."""
    covered = 0
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        released = random_release(rng)
        people = {"age": [int(cell[1:].split(",")[0]) for cell in released["age"]], "s": rng.permutation(released["s"])}
        case = case_of(released, {"age": INTERVAL}, {"s": TREED}, against=people, seed=seed)
        found = figures(attacked(case, name))[f"{name}:s"]
        assert found.baseline is not None
        covered += found.low <= found.baseline <= found.high
    assert covered >= 0.9 * SEEDS


def test_no_false_alarm_about_numbers_that_are_not_theirs() -> None:
    covered = 0
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        ages, numbers = np.repeat(np.arange(100), 4), np.repeat(rng.integers(0, 1000, 100), 4) + rng.integers(0, 9, 400)
        released = {"age": [f"[{10 * age},{10 * age + 9}]" for age in ages], "s": numbers.astype(str)}
        people = {"age": 10 * ages, "s": rng.permutation(numbers)}
        case = case_of(released, {"age": INTERVAL}, {"s": NUMBER}, against=people, seed=seed)
        found = figures(attacked(case, "proximity"))["proximity:s"]
        assert found.baseline is not None
        covered += found.low <= found.baseline <= found.high
    assert covered >= 0.9 * SEEDS


WIDE = {**TEXT, "hierarchy": [[f"{node}{leaf}", node, "*"] for node in "vwxyz" for leaf in "12"]}


def planted(seed: int, share: float) -> dict[str, list[str]]:
    """400 classes of five, each with one value of every node, which tells little; some have a single value instead."""
    rng = np.random.default_rng(seed)
    values = np.array([rng.permutation(list("vwxyz")) for _ in range(400)]).astype("U2")
    values = np.char.add(values, rng.choice(["1", "2"], values.shape))
    leaking = rng.choice(400, round(share * 400), replace=False)
    values[leaking] = np.char.add(rng.choice(list("vwxyz"), leaking.size), "1")[:, None]
    cells = [f"[{10 * (row // 5)},{10 * (row // 5) + 9}]" for row in range(2000)]
    return {"age": cells, "s": values.ravel().tolist()}


@pytest.mark.parametrize("share", [0.01, 0.05, 0.2])
@pytest.mark.parametrize("name", ["homogeneity", "similarity"])
def test_planted_leaks_are_found(name: str, share: float) -> None:
    found = 0
    for seed in range(SEEDS):
        case = case_of(planted(seed, share), {"age": INTERVAL}, {"s": WIDE}, seed=seed)
        made = figures(attacked(case, name))[f"{name}:s"]
        found += made.beats and made.value == pytest.approx(share)
    assert found >= 0.95 * SEEDS


def test_own_records_and_the_input_give_the_same_figures() -> None:
    rng = np.random.default_rng(3)
    frame = pl.DataFrame({"age": rng.integers(0, 40, 200), "s": rng.choice(list("abc"), 200)})
    table = shoal.read(frame, quasi=["age"], sensitive=["s"])
    release = shoal.anonymize(
        table, algorithm="mondrian", models=[shoal.KAnonymity(k=3)], seed=1, acknowledge=["W-UNMODELLED:s"]
    )
    # Cells of one column that is cut strictly do not overlap, so that people are in the class that covers them.
    view = release_view(release)
    case = AttackCase(
        kind=GENERALISED, made=GENERALISED, view=view, keys=Keys.from_seed(1), people=own_people(view)
    )
    assert case.people.n == 200
    mine, by_input = figures(Background().run(case)), figures(attack(release, only=["background"], seed=1)[0])
    for name in ("background:s", "background-two:s"):
        assert mine[name].value == pytest.approx(by_input[name].value)
    assert Background().parameters() == {"name": "background"}
