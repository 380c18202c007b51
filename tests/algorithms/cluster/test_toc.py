"""TOC against its algorithms read line by line, its heuristics, its options and its errors."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import shoal
from shoal.algorithms.cluster.toc import TOC
from shoal.errors import InfeasibleError, ParameterError
from shoal.kernels.cores import use_cores
from shoal.recipe.source import read
from tests.algorithms.cluster.loukides import TOLERANCE, Loukides, problem_of
from tests.table.random_tables import Case, cases

Printed = partial(TOC, listing="printed")


def groups_of(ids: np.ndarray) -> list[list[int]]:
    return sorted(np.flatnonzero(ids == group).tolist() for group in range(ids.max(initial=-1) + 1))


@pytest.mark.reference("cluster_subspaces", "join_near", "join_far")
@settings(max_examples=30)
@given(
    case=cases(rows=(2, 24), sensitive=(0, 2), subjects=True),
    people=st.booleans(),
    k=st.integers(2, 4),
    delta=st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.6, 0.75, 0.9, 1.0]),
    weight=st.sampled_from([0.0, 0.3, 0.5, 1.0]),
    size=st.one_of(st.none(), st.integers(4, 9)),
    everywhere=st.booleans(),
    increment=st.booleans(),
    limited=st.booleans(),
    linked=st.booleans(),
)
def test_clusters_are_those_of_the_reference(
    case: Case, people: bool, k: int, delta: float, weight: float, size: int | None, everywhere: bool,
    increment: bool, limited: bool, linked: bool,
) -> None:  # fmt: skip
    if not people:
        case = Case(**(case.__dict__ | {"subject": None}))
    assume(case.sensitive or weight == 0.0)
    naive, weights = Loukides(case, {}), (1.0 - weight, weight)
    assume(naive.people(range(case.n)) >= k)
    most = 2 * k - 1 if limited else k if linked else case.n + 1
    expected = naive.algorithm_1(naive.subspaces(size), k, delta, weights, most, linked)
    for cluster in expected.all:
        assert naive.mr_wtd(cluster, *weights) <= Fraction(delta) + TOLERANCE
    spec = Printed(
        linkage="cluster" if linked else "record", utility_weight=weights[0], protection_weight=weight, delta=delta,
        size=size, prepartition=size is not None,
        leftover_scope="all" if everywhere else "near", assign="increment" if increment else "value",
        max_size=2 * k - 1 if limited else None,
    )  # fmt: skip
    problem = problem_of(case.table(), [{"name": "k", "k": k}])
    if not expected.all:
        with pytest.raises(InfeasibleError, match="larger delta"):
            spec.group(problem)
        return
    before = spec.__class__(**{**spec.__dict__, "leftover": "suppress", "suppression_limit": 1.0}).group(problem)
    assert groups_of(before.ids) == sorted(sorted(cluster) for cluster in expected.all)
    naive.algorithm_5(expected, weights, everywhere=everywhere, increment=increment)
    found = spec.group(problem)
    assert groups_of(found.ids) == sorted(sorted(cluster) for cluster in expected.all)
    assert found.notes["leftovers"] == int((before.ids < 0).sum())
    assert (found.ids >= 0).all()


def census(n: int, seed: int = 3) -> Any:
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "age": rng.integers(18, 90, n), "zip": rng.integers(0, 40, n).astype(str),
            "pay": rng.integers(0, 100, n), "ill": rng.integers(0, 9, n).astype(str),
        }
    )  # fmt: skip
    return read(frame, quasi=["age", "zip"], sensitive=["pay", "ill"], settings={"age": {"snap": "off"}})


@pytest.mark.parametrize("options", [{}, {"delta": 0.4, "size": 8}, {"delta": 0.35, "size": 6, "max_size": 6}])
def test_one_core_or_two_give_the_same(options: dict[str, Any]) -> None:
    problem = problem_of(census(6000), [{"name": "k", "k": 4}], seed=5)
    found = []
    for threads in (1, 3):
        use_cores(threads)
        try:
            found.append(Printed(**options).group(problem))
        finally:
            use_cores(None)
    assert found[0].notes["subspaces"] > 128
    assert found[0].notes == found[1].notes
    assert (found[0].ids == found[1].ids).all()
    assert (np.bincount(found[0].ids) >= 4).all()


@settings(max_examples=20)
@given(
    case=cases(rows=(8, 30), sensitive=(0, 2)),
    score=st.sampled_from(["sum", "weighted"]),
    replacement=st.booleans(),
    rounds=st.integers(1, 3),
)
def test_no_extreme_scores_better_than_the_chosen_delta(case: Case, score: str, replacement: bool, rounds: int) -> None:
    weight = 0.5 if case.sensitive else 0.0
    spec = Printed(
        utility_weight=1 - weight, protection_weight=weight, score=score, with_replacement=replacement,
        max_iterations=rounds, fallback="single",
    )  # fmt: skip
    notes = spec.group(problem_of(case.table(), [{"name": "k", "k": 2}], seed=1)).notes
    tried = {one["delta"]: one["score"] for one in notes["deltas"]}
    assert len(tried) == 2 ** (rounds + 1) - 2
    scores = [value for value in tried.values() if value is not None]
    if scores:
        assert tried[notes["delta"]] == pytest.approx(min(scores), abs=1e-9)
        for extreme in (min(tried), max(tried)):
            assert tried[extreme] is None or tried[notes["delta"]] <= tried[extreme] + 1e-12
    assert notes["size"] == notes["sizes"][-1]["size"] in (2, 4, 8)
    assert notes["sample"] == case.n


@pytest.mark.reference("price_clusters")
def test_scores_are_um_and_mpm_of_the_clusters() -> None:
    """The sample is the whole table here, so what the trial says of s is what the release measures."""
    table = census(300)
    problem = problem_of(table, [{"name": "k", "k": 3}], seed=2)
    spec = Printed(delta=0.5, max_iterations=1, leftover_scope="all", sample_fraction=1.0)
    (trial,) = spec.group(problem).notes["sizes"]
    release = shoal.anonymize(
        table, algorithm=Printed(k=3, delta=0.5, size=3, leftover_scope="all"), seed=2,
        acknowledge=["W-UNMODELLED:pay", "W-UNMODELLED:ill", "W-TIGHT"],
    )  # fmt: skip
    assert trial["size"] == 3
    assert trial["um"] == pytest.approx(release.measure("um").value, abs=1e-9)
    assert trial["mpm"] == pytest.approx(release.measure("mpm").value, abs=1e-9)
    assert release.evidence["counts"]["classes"] == trial["clusters"]


def test_s_doubles_until_the_score_settles() -> None:
    problem = problem_of(census(2000), [{"name": "k", "k": 5}], seed=2)
    assert Printed(delta=0.5).group(problem).notes["size"] in (10, 20)
    # Three executions without settling give 4k, as the thesis reports.
    assert Printed(delta=0.5, epsilon=0.0).group(problem).notes["size"] == 20
    assert Printed(delta=0.5, epsilon=2.0).group(problem).notes["size"] == 10


def test_max_size_keeps_clusters_small() -> None:
    """Without it a cluster takes in its whole subspace as soon as delta allows the spread of one."""
    problem = problem_of(census(4000), [{"name": "k", "k": 4}], seed=2)
    loose = Printed(delta=0.6, size=16).group(problem).notes["mean_size"]
    tight = Printed(delta=0.6, size=16, max_size=7).group(problem).notes["mean_size"]
    assert loose > 12
    assert tight < 9


def test_seeds_drawn_or_in_order_differ() -> None:
    problem = problem_of(census(400), [{"name": "k", "k": 4}], seed=2)
    options: dict[str, Any] = {"delta": 0.45, "size": 40, "max_size": 7}
    drawn, ordered = (Printed(**options, seeds=seeds).group(problem).ids for seeds in ("random", "order"))
    assert not (drawn == ordered).all()
    assert (drawn == Printed(**options).group(problem).ids).all()


def test_unknown_values_show_no_protection() -> None:
    """Two who say nothing, and one whose value is unlike theirs: the pair with a spread is the nearest."""
    frame = pl.DataFrame({"a": [1, 1, 1, 1], "s": [None, None, 0, 9]})
    table = read(frame, quasi=["a"], sensitive=["s"], missing="value")
    spec = Printed(utility_weight=0.0, protection_weight=1.0, delta=0.0, prepartition=False, max_size=2)
    found = spec.__class__(**{**spec.__dict__, "leftover": "suppress", "suppression_limit": 1.0}).group(
        problem_of(table, [{"name": "k", "k": 2}])
    )
    assert found.ids.tolist() == [-1, -1, 0, 0]


@pytest.mark.parametrize(
    "given_",
    [
        {"utility_weight": 0.5, "protection_weight": 0.6},
        {"utility_weight": -0.1, "protection_weight": 1.1},
        {"delta": 1.5},
        {"delta": -0.1},
        {"k": 5, "size": 4},
        {"k": 5, "max_size": 4},
        {"seeds": "first"},
        {"leftover": "drop"},
        {"assign": "best"},
        {"leftover_scope": "here"},
        {"scale": "log"},
        {"score": "mean"},
        {"fallback": "none"},
        {"linkage": "nearest"},
        {"listing": "mine"},
        {"protection": "wgp"},
        {"max_iterations": 0},
        {"sample_fraction": 0.0},
        {"epsilon": -1.0},
    ],
)
def test_bad_parameters_get_one_sentence(given_: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=r"TOC must .*\. (Got|Did)") as error:
        Printed(**given_)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("weight", ["half", None, True, 1.5])
def test_weights_are_read_before_what_follows_from_them(weight: Any) -> None:
    with pytest.raises(ParameterError, match=r"weight' of TOC must be a number from 0 to 1\. Got "):
        TOC(protection_weight=weight)


@pytest.mark.parametrize("given_", [{"delta": 0.3}, {"linkage": "cluster"}, {"max_size": 9}, {"polish": "lm"}])
def test_parameters_of_the_printed_listing_are_not_set_in_vain(given_: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="of TOC (belongs to the printed listing|follows from its weights)"):
        TOC(**given_)
    Printed(**given_)


def test_sizes_below_the_models_k_are_refused() -> None:
    problem = problem_of(census(50), [{"name": "k", "k": 5}])
    for name in ("size", "max_size"):
        with pytest.raises(ParameterError, match=f"'{name}' of TOC must be a whole number of at least 5"):
            Printed(delta=0.5, **{name: 4}).group(problem)


def test_protection_needs_a_sensitive_attribute() -> None:
    table = read(pl.DataFrame({"a": [1, 2, 3, 4]}), quasi=["a"])
    problem = problem_of(table, [{"name": "k", "k": 2}])
    with pytest.raises(ParameterError, match="needs a sensitive attribute"):
        Printed(delta=0.5, size=2).group(problem)
    assert Printed(utility_weight=1.0, protection_weight=0.0).group(problem).groups >= 1


def test_nothing_reaches_k() -> None:
    table = read(pl.DataFrame({"a": [1, 2, 3, 4], "s": [1, 1, 1, 1]}), quasi=["a"], sensitive=["s"])
    problem = problem_of(table, [{"name": "k", "k": 2}])
    strict = {"utility_weight": 0.0, "protection_weight": 1.0}
    with pytest.raises(InfeasibleError, match="No cluster of TOC reaches 2 records at delta = 0.9375"):
        Printed(**strict, delta=0.9375).group(problem)
    assert Printed(**strict, fallback="single").group(problem).ids.tolist() == [0, 0, 0, 0]
    # A delta chosen here is one under which there is a release.
    chosen = Printed(**strict).group(problem)
    assert chosen.notes["delta"] == 1.0
    assert chosen.ids.tolist() == [0, 0, 0, 0]


def test_a_delta_that_leaves_too_many_over_is_not_chosen() -> None:
    """Leftovers are suppressed, and only a large delta has few enough of them."""
    problem = problem_of(census(600), [{"name": "k", "k": 8}], seed=3)
    options: dict[str, Any] = {"leftover": "suppress", "size": 40, "max_size": 9}
    worst = Printed(**options, suppression_limit=1.0).group(problem)
    few = Printed(**options, suppression_limit=0.15).group(problem)
    assert (worst.ids < 0).mean() > 0.15
    assert (few.ids < 0).mean() <= 0.15
    assert few.notes["delta"] != worst.notes["delta"]


def test_suppressing_leftovers_stays_within_the_limit() -> None:
    table = read(pl.DataFrame({"a": [1, 1, 9]}), quasi=["a"])
    problem = problem_of(table, [{"name": "k", "k": 2}])
    options: dict[str, Any] = {
        "utility_weight": 1.0, "protection_weight": 0.0, "delta": 0.1, "prepartition": False, "leftover": "suppress",
    }  # fmt: skip
    with pytest.raises(InfeasibleError, match="leaves 1 of 3 rows over"):
        Printed(**options).group(problem)
    assert Printed(**options, suppression_limit=0.4).group(problem).ids.tolist() == [0, 0, -1]
