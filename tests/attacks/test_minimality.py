"""Minimality and downcoding: worked examples in which the deduction is known, and releases that give nothing away."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import InfeasibleError
from shoal.registry import make
from shoal.results import Release
from shoal.risk.attacks.run import attack
from tests.algorithms.lattice.lattices import MODELS, cases
from tests.attacks.cases import figures

ALGORITHMS = ["mondrian", "k-members", "optimal", "top-down-subtree"]
TWO = [["z1", "*"], ["z2", "*"]]


def released(
    data: dict[str, list[Any]], trees: dict[str, Any], algorithm: Any, models: list[dict[str, Any]], **more: Any
) -> Release:
    table = shoal.read(
        pl.DataFrame(data), quasi=list(trees), sensitive=["s"],
        hierarchies={name: tree for name, tree in trees.items() if tree}, **more,
    )  # fmt: skip
    made = [make("model", model) for model in models]
    return shoal.anonymize(table, algorithm=algorithm, models=made, seed=1, acknowledge=["W-UNMODELLED:s", "W-TIGHT"])


def found(release: Release, name: str) -> Any:
    return attack(release, only=[name], seed=1)[0]


def test_wong_s_example_discloses_both_patients() -> None:
    """Two people with z1, both ill: at most half may be, so z had to go. Nobody else could have been the reason."""
    data = {"z": ["z1"] * 2 + ["z2"] * 4, "s": ["hiv", "hiv", "none", "none", "none", "none"]}
    model = {"name": "alpha-k-simple", "alpha": 0.5, "k": 2, "value": "hiv", "on": "s"}
    release = released(data, {"z": TWO}, "optimal", [model])
    assert release.released.levels == {"z": 1}
    result = found(release, "minimality")
    made = figures(result)["minimality:s"]
    assert result.also["all"]
    # Of 15 ways to deal two cases to six people one would have forbidden the lower node.
    assert result.also["consistent"] == pytest.approx(1 / 15)
    assert (made.value, made.baseline) == (1.0, pytest.approx(4 / 6))


def test_guesses_are_put_to_people_outside_the_data() -> None:
    """Who is at z1 is guessed ill, who is at z2 well, and of who is nowhere nothing is guessed."""
    data = {"z": ["z1"] * 2 + ["z2"] * 4, "s": ["hiv", "hiv", "none", "none", "none", "none"]}
    model = {"name": "alpha-k-simple", "alpha": 0.5, "k": 2, "value": "hiv", "on": "s"}
    release = released(data, {"z": [*TWO, ["z3", "*"]]}, "optimal", [model])
    outside = {"z": ["z1", "z1", "z1", "z2", "z2", "z3"], "s": ["hiv", "none", "none", "none", "hiv", "none"]}
    control = pl.DataFrame(outside)
    made = figures(attack(release, only=["minimality"], seed=1, control=control, no_control="")[0])["minimality:s"]
    # Right of those at z1: one; at z2: one. Nobody of the release is at z3, whose class says none.
    assert made.control == pytest.approx(3 / 6)
    assert made.control_interval is not None
    assert made.control_interval[0] < 0.5 < made.control_interval[1]


def test_a_node_that_was_chosen_by_hand_was_not_forced() -> None:
    data = {"z": ["z1"] * 2 + ["z2"] * 4, "s": list("aabbbb")}
    release = released(data, {"z": TWO}, shoal.Optimal(node=[1]), [{"name": "k", "k": 2}])
    assert not found(release, "minimality").figures
    assert figures(found(release, "downcoding"))["downcoding"].value == 0.0


def test_numbers_of_people_explain_a_release_and_nothing_follows() -> None:
    data = {"z": ["z1"] + ["z2"] * 4, "s": ["hiv", "hiv", "none", "none", "none"]}
    model = {"name": "alpha-k-simple", "alpha": 0.5, "k": 2, "value": "hiv", "on": "s"}
    result = found(released(data, {"z": TWO}, "optimal", [model]), "minimality")
    made = figures(result)["minimality:s"]
    assert result.also["constraints"] == 0
    assert made.value == made.baseline
    assert "does not beat" in made.told()


def test_many_possible_reasons_tell_little() -> None:
    # Three more than allowed in the first half; in about half of all dealings there are too many in some half.
    data = {"z": ["z1"] * 150 + ["z2"] * 150, "s": (["hiv"] * 76 + ["none"] * 74) + (["hiv"] * 71 + ["none"] * 79)}
    model = {"name": "alpha-k-simple", "alpha": 0.49, "k": 2, "value": "hiv", "on": "s"}
    result = found(released(data, {"z": TWO}, "optimal", [model]), "minimality")
    assert not result.also["all"]
    made = figures(result)["minimality:s"]
    assert made.low <= (made.baseline or 0.0) <= made.high


@settings(max_examples=20)
@given(cases(MODELS[:8], rows=14, people=False))
def test_the_truth_is_always_among_the_assignments_that_fit(case: Any) -> None:
    """An optimal release was forced by what is true, so the attacker never excludes it."""
    try:
        release = shoal.anonymize(
            case.table, algorithm="optimal", models=case.models, seed=1,
            acknowledge=["W-UNMODELLED:s", "W-UNMODELLED:x", "W-NO-K"],
        )  # fmt: skip
    except (InfeasibleError, shoal.ShoalError):
        return
    result = found(release, "minimality")
    if result.also["constraints"] and result.also["all"]:
        assert result.also["consistent"] > 0


def test_minimality_needs_a_full_domain_recoding() -> None:
    release = released({"z": ["z1", "z2"] * 3, "s": list("ababab")}, {"z": TWO}, "mondrian", [{"name": "k", "k": 2}])
    result = found(release, "minimality")
    assert not result.figures
    assert "needs the best full-domain recoding" in result.note


def test_ends_of_intervals_and_values_of_sets_are_in_their_class() -> None:
    data = {"age": [20, 22, 27, 40, 44, 49], "job": list("ababcc"), "s": list("uvwuvw")}
    tight = {"age": {"snap": "off"}}
    release = released(data, {"age": None, "job": None}, "mondrian", [{"name": "k", "k": 3}], settings=tight)
    assert release.released.n_classes == 2
    result = found(release, "downcoding")
    made = figures(result)["downcoding"]
    # Twelve cells, all wider than a value: [20,27] and [40,49] give two ends each, {a|b} and {b|c} (or so) two values.
    assert made.value == pytest.approx(8 / 12)
    assert result.also["columns"] == {"age": pytest.approx(4 / 6), "job": pytest.approx(4 / 6)}
    assert made.beats or made.baseline is not None


def test_snapped_intervals_do_not_give_their_ends_away() -> None:
    rng = np.random.default_rng(2)
    data = {"income": (rng.random(600) * 1e6).round(1).tolist(), "s": ["x"] * 600}
    model = [{"name": "k", "k": 5}]
    snapped = figures(found(released(data, {"income": None}, "mondrian", model), "downcoding"))["downcoding"]
    assert snapped.value < 0.02


def test_a_node_of_two_children_splits_only_where_it_must() -> None:
    tree = [["a", "ab", "*"], ["b", "ab", "*"], ["c", "cde", "*"], ["d", "cde", "*"], ["e", "cde", "*"]]
    data = {"z": list("ab") * 2 + list("cd") * 2, "s": list("uvuvuvuv")}
    release = released(data, {"z": tree}, "mondrian", [{"name": "k", "k": 4}])
    made = figures(found(release, "downcoding"))["downcoding"]
    # Class ab must hold a and b; of c, d and e nobody knows which two.
    assert made.value == pytest.approx(2 / 8)


def test_one_class_that_had_to_split_is_downcoded_and_two_are_not() -> None:
    tree = [["a", "ab", "*"], ["b", "ab", "*"], ["c", "cd", "*"], ["d", "cd", "*"]]
    alone = released({"z": list("aaab"), "s": list("uvuv")}, {"z": tree}, "optimal", [{"name": "k", "k": 2}])
    assert figures(found(alone, "downcoding"))["downcoding"].value == pytest.approx(2 / 4)
    both = released({"z": list("aaabcccd"), "s": list("uvuvuvuv")}, {"z": tree}, "optimal", [{"name": "k", "k": 2}])
    assert both.released.levels == {"z": 1}
    assert figures(found(both, "downcoding"))["downcoding"].value == 0.0
    # One row may go, and each class can have had but one too few: so both had.
    loose = shoal.Optimal(suppression_limit=0.125)
    limit = released({"z": list("aaabcccd"), "s": list("uvuvuvuv")}, {"z": tree}, loose, [{"name": "k", "k": 2}])
    assert limit.released.levels == {"z": 1}
    assert figures(found(limit, "downcoding"))["downcoding"].value == pytest.approx(4 / 8)


@settings(max_examples=25)
@given(cases(MODELS[:2], rows=25, people=False), st.sampled_from(ALGORITHMS))
def test_what_is_deduced_is_true(case: Any, algorithm: str) -> None:
    try:
        release = shoal.anonymize(
            case.table, algorithm=algorithm, models=case.models, seed=1,
            acknowledge=["W-UNMODELLED:s", "W-UNMODELLED:x"],
        )  # fmt: skip
    except (InfeasibleError, shoal.ShoalError):
        return
    result = found(release, "downcoding")
    made = figures(result)["downcoding"]
    cells = sum(
        int((release.released.sizes * (column.covered() > 1)).sum()) for column in release.released.cells.values()
    )
    assert result.also["claims"] == pytest.approx(made.value * cells)
    assert 0.0 <= made.low <= made.value <= made.high <= 1.0
