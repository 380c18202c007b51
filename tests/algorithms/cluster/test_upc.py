"""UPC against Algorithm 6 read line by line, through the gate, its options and its errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import shoal
from shoal.algorithms.cluster.upc import UPC
from shoal.data.policies import set_policies
from shoal.errors import InfeasibleError, ParameterError
from shoal.kernels.cores import use_cores
from shoal.recipe.source import read
from shoal.registry import make
from shoal.verify.recheck import recheck
from tests.algorithms.cluster.loukides import Loukides, problem_of
from tests.table.random_tables import VALUES, Case, cases


def groups_of(ids: np.ndarray) -> list[list[int]]:
    return sorted(np.flatnonzero(ids == group).tolist() for group in range(ids.max(initial=-1) + 1))


def blocks_of(case: Case, cut: int) -> dict[str, list[list[Any]]]:
    """A policy of two sensitive ranges for every column without a hierarchy."""
    return {
        name: [block for block in (VALUES[kind][:cut], VALUES[kind][cut:]) if block]
        for name, kind in case.kinds.items()
        if name in case.sensitive and kind != "tree"
    }


def with_policies(case: Case, blocks: dict[str, list[list[Any]]]) -> Any:
    table = case.table()
    given_ = {
        name: {"ranges": found if case.kinds[name] == "flat" else [[b[0], b[-1]] for b in found], "else": "value"}
        for name, found in blocks.items()
    }
    return set_policies(table, given_)


def models_of(spec: UPC) -> list[dict[str, Any]]:
    return [model.parameters() for model in spec.models()]


@pytest.mark.reference("limit_subspaces", "join_limited")
@settings(max_examples=20)
@given(
    case=cases(rows=(3, 24), sensitive=(1, 2)),
    k=st.integers(2, 4),
    utility=st.sampled_from([0.0, 0.2, 0.4, 0.6, 0.8, 1.0]),
    protection=st.sampled_from([0.3, 0.4, 0.5, 0.65, 0.8, 1.0]),
    size=st.integers(4, 12),
    cut=st.integers(0, 5),
    everywhere=st.booleans(),
    increment=st.booleans(),
    strict=st.booleans(),
    listing=st.sampled_from(["grown", "corrected", "printed"]),
    limited=st.booleans(),
)
def test_clusters_are_those_of_the_reference(
    case: Case, k: int, utility: float, protection: float, size: int, cut: int, everywhere: bool, increment: bool,
    strict: bool, listing: str, limited: bool,
) -> None:  # fmt: skip
    blocks = blocks_of(case, cut) if cut else {}
    naive = Loukides(case, blocks)
    fewest = max(k, int(np.ceil(1 / protection - 1e-9)))
    assume(case.n >= fewest)
    limits = (protection, protection if strict else 1.0)
    grows = listing == "grown"
    most = 2 * fewest - 1 if limited else fewest if grows else case.n + 1
    free = k if listing == "printed" else fewest
    expected = naive.algorithm_6(naive.subspaces(size), k, utility, limits, free, most, grows)
    spec = UPC(
        k=k, utility=utility, protection=protection, size=size, strict=strict, listing=listing,
        assign="increment" if increment else "value", leftover_scope="all" if everywhere else "near",
        max_size=most if limited else None,
    )  # fmt: skip
    problem = problem_of(with_policies(case, blocks), models_of(spec))
    if not expected.all:
        with pytest.raises(InfeasibleError, match="UPC can release nothing"):
            spec.group(problem)
        return
    naive.step_7(expected, utility, limits, everywhere=everywhere, increment=increment)
    found = spec.group(problem)
    assert groups_of(found.ids) == sorted(sorted(cluster) for cluster in expected.all)
    assert found.notes["suppressed"] == case.n - sum(len(cluster) for cluster in expected.all)


@settings(max_examples=20)
@given(
    case=cases(rows=(4, 40), sensitive=(1, 2), subjects=True),
    people=st.booleans(),
    k=st.integers(2, 3),
    utility=st.sampled_from([0.2, 0.5, 0.8]),
    protection=st.sampled_from([0.4, 0.6, 1.0]),
    cut=st.integers(0, 4),
    strict=st.booleans(),
    seed=st.integers(0, 9),
)
def test_released_classes_keep_the_limits(
    case: Case, people: bool, k: int, utility: float, protection: float, cut: int, strict: bool, seed: int
) -> None:
    if not people:
        case = Case(**(case.__dict__ | {"subject": None}))
    table = with_policies(case, blocks_of(case, cut) if cut else {})
    spec = UPC(k=k, utility=utility, protection=protection, strict=strict)
    try:
        accepted = [f"W-UNMODELLED:{name}" for name in case.sensitive]  # no value may be known, or all be alike
        release = shoal.anonymize(table, algorithm=spec, seed=seed, acknowledge=accepted)
    except InfeasibleError:
        return
    found = {verdict.model["name"]: verdict for verdict in release.verdict}
    assert {"k", "worst-group-utility", "range-diversity"} <= set(found)
    assert ("range-confidence" in found) == strict
    assert all(verdict.holds for verdict in release.verdict)
    report = recheck(release.frame, {**release.manifest, "data": {"rows": release.frame.height}})
    assert report.passed
    counts = release.evidence["counts"]
    assert counts["released"] + counts["suppressed"] == case.n


def patients(n: int, seed: int = 4) -> Any:
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "age": rng.integers(18, 90, n), "zip": rng.integers(0, 30, n).astype(str),
            "pay": rng.integers(0, 50, n), "ill": rng.integers(0, 6, n).astype(str),
        }
    )  # fmt: skip
    return read(
        frame, quasi=["age", "zip"], sensitive=["pay", "ill"], policies={"pay": {"ranges": [[0, 19], [20, 49]]}}
    )


@pytest.mark.parametrize("options", [{}, {"strict": True}, {"max_size": 9, "assign": "increment"}])
def test_one_core_or_two_give_the_same(options: dict[str, Any]) -> None:
    spec = UPC(k=4, utility=0.25, protection=0.5, size=16, **options)
    problem = problem_of(patients(6000), models_of(spec), seed=5)
    found = []
    for threads in (1, 3):
        use_cores(threads)
        try:
            found.append(spec.group(problem))
        finally:
            use_cores(None)
    assert found[0].notes["subspaces"] > 128
    assert found[0].notes["leftovers"] > 0
    assert found[0].notes == found[1].notes
    assert (found[0].ids == found[1].ids).all()


@pytest.mark.parametrize("weight", [1e-7, 1e-12])
def test_u_counts_columns_alike_however_little_they_weigh(weight: float) -> None:
    rng = np.random.default_rng(3)
    frame = pl.DataFrame(
        {"age": rng.integers(0, 90, 200), "height": rng.normal(0, 1, 200).round(5), "ill": rng.choice([*"abcd"], 200)}
    )
    table = read(
        frame, quasi=["age", "height"], sensitive=["ill"], weights={"height": weight},
        settings={"age": {"snap": "off"}, "height": {"snap": "off"}},
    )  # fmt: skip
    spec = UPC(k=3, utility=0.1, protection=0.8, max_size=6)
    found = spec.group(problem_of(table, models_of(spec), seed=1)).ids
    numbers = np.stack([table.frame["age"].to_numpy(), table.frame["height"].to_numpy()])
    whole = np.ptp(numbers, axis=1)
    spreads = [(np.ptp(numbers[:, rows], axis=1) / whole).mean() for rows in groups_of(found)]
    assert len(spreads) > 5
    assert max(spreads) <= 0.1 + 1e-9


def test_p_below_one_over_k_raises_the_smallest_class() -> None:
    """The listing asks a class of k for a P that it cannot meet, and suppresses everybody."""
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({"a": rng.integers(0, 50, 2000), "s": rng.integers(0, 40, 2000).astype(str)})
    table = read(frame, quasi=["a"], sensitive=["s"])
    spec = UPC(k=2, utility=0.9, protection=0.3)
    found = spec.group(problem_of(table, models_of(spec), seed=1))
    assert found.notes["fewest"] == 4
    assert found.notes["suppressed"] < 20
    with pytest.raises(InfeasibleError, match="UPC can release nothing"):
        UPC(k=2, utility=0.9, protection=0.3, listing="printed").group(problem_of(table, models_of(spec), seed=1))


def test_rd_within_p_hides_a_range_that_holds_more_and_strict_does_not() -> None:
    """Range diversity is an average (LP-28): the share of one range stays above P unless it is limited too."""
    rng = np.random.default_rng(3)
    values = rng.choice([1, 30, 60, 90], 1500, p=[0.5, 0.2, 0.2, 0.1])
    frame = pl.DataFrame({"a": rng.integers(0, 100, 1500), "s": values})
    table = read(frame, quasi=["a"], sensitive=["s"])
    shares = []
    for strict in (False, True):
        spec = UPC(k=5, utility=0.5, protection=0.5, strict=strict, max_size=9)
        release = shoal.anonymize(table, algorithm=spec, seed=1)
        by_class = release.frame.group_by("a", "s").len().group_by("a").agg(pl.col("len").max() / pl.col("len").sum())
        shares.append(by_class["len"].max())
    assert shares[0] > 0.5
    assert shares[1] <= 0.5


def test_nothing_can_be_released_says_which_limits_would_do() -> None:
    frame = pl.DataFrame({"a": list(range(0, 200, 10)), "s": ["x", "y"] * 10})
    table = read(frame, quasi=["a"], sensitive=["s"])
    spec = UPC(k=3, utility=0.05, protection=0.6)
    with pytest.raises(InfeasibleError) as error:
        spec.group(problem_of(table, models_of(spec), seed=1))
    text = str(error.value)
    assert text.startswith("UPC can release nothing at U = 0.05 and P = 0.6: U = ")
    utility = float(text.split("U = ")[2].split(" ")[0])
    wider = UPC(k=3, utility=utility, protection=0.6)
    assert wider.group(problem_of(table, models_of(wider), seed=1)).groups > 0
    closer = UPC(k=3, utility=utility - 0.01, protection=0.6)
    with pytest.raises(InfeasibleError):
        closer.group(problem_of(table, models_of(closer), seed=1))


def test_p_below_one_over_n_is_infeasible() -> None:
    table = read(pl.DataFrame({"a": [1, 1, 1], "s": ["x", "y", "z"]}), quasi=["a"], sensitive=["s"])
    spec = UPC(k=2, utility=1.0, protection=0.3)
    with pytest.raises(InfeasibleError, match="at least 4 records, and the table has 3; set it to at least 0.333"):
        spec.group(problem_of(table, models_of(spec)))


def test_limits_may_come_from_models() -> None:
    table = patients(400)
    specs = [
        {"name": "k", "k": 4}, {"name": "worst-group-utility", "u": 0.5},
        {"name": "range-diversity", "p": 0.6, "on": "pay"}, {"name": "range-confidence", "p": 0.7, "on": "ill"},
    ]  # fmt: skip
    release = shoal.anonymize(table, algorithm=UPC(), models=[make("model", spec) for spec in specs], seed=1)
    assert all(verdict.holds for verdict in release.verdict)
    assert release.evidence["counts"]["suppressed"] < 100
    for missing, sentence in ((1, "needs a limit on loss"), (2, "needs a limit on range diversity")):
        some = [spec for place, spec in enumerate(specs) if place != missing]
        with pytest.raises(ParameterError, match=sentence):
            UPC().group(problem_of(table, some))


def test_other_models_suppress_classes_within_the_limit() -> None:
    table = patients(600)
    spec = UPC(k=4, utility=0.3, protection=0.5, guide=0.5)
    diverse = make("model", {"name": "entropy-l", "l": 5, "on": "ill"})
    release = shoal.anonymize(table, algorithm=spec, models=[diverse], seed=1)
    assert release.evidence["counts"]["suppressed"] > 0
    assert all(verdict.holds for verdict in release.verdict)
    with pytest.raises(InfeasibleError, match="suppress"):
        shoal.anonymize(table, algorithm=UPC(k=4, utility=0.05, protection=0.5, suppression_limit=0.01), seed=1)


@pytest.mark.parametrize(
    "given_",
    [
        {"utility": 1.5}, {"utility": -0.1}, {"protection": 0.0}, {"protection": 1.1}, {"k": 5, "size": 4},
        {"k": 5, "max_size": 4}, {"assign": "best"}, {"leftover_scope": "here"}, {"strict": True},
        {"listing": "corrected again"}, {"polish": "dm"},
    ],
)  # fmt: skip
def test_bad_parameters_get_one_sentence(given_: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="of UPC (must|needs) ") as error:
        UPC(**given_)
    assert "\n" not in str(error.value)


def test_shorthand_stands_for_models() -> None:
    spec = UPC(k=5, utility=0.7, protection=0.5, strict=True)
    assert [model.name for model in spec.models()] == [
        "k", "worst-group-utility", "range-diversity", "range-confidence",
    ]  # fmt: skip
    assert set(spec.parameters()) == {
        "name", "listing", "assign", "leftover_scope", "suppression_limit",
    }  # fmt: skip


def test_a_cluster_that_fails_p_grows_as_long_as_that_helps() -> None:
    """Of five people with a balanced attribute of two values three always share one: 0.52, and 0.5 from six on."""
    frame = pl.DataFrame({"a": list(range(40)), "s": ["x", "y"] * 20})
    table = read(frame, quasi=["a"], sensitive=["s"])
    spec = UPC(k=5, utility=1.0, protection=0.5)
    release = shoal.anonymize(table, algorithm=spec, seed=1)
    assert release.evidence["counts"]["suppressed"] < 6
    assert release.measure("wgp").value == pytest.approx(0.5)
    for listing in ("corrected", "printed"):
        with pytest.raises(InfeasibleError, match="UPC can release nothing"):
            shoal.anonymize(table, algorithm=UPC(k=5, utility=1.0, protection=0.5, listing=listing), seed=1)


@pytest.mark.sample(12)
@pytest.mark.parametrize("seed", range(60))
def test_whatever_mondrian_can_release_upc_can(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, values = int(rng.integers(12, 60)), int(rng.integers(2, 5))
    frame = pl.DataFrame(
        {"a": rng.integers(0, 30, n), "b": rng.integers(0, 4, n).astype(str), "s": rng.integers(0, values, n)}
    )
    table = read(frame, quasi=["a", "b"], sensitive=["s"], settings={"s": {"type": "categorical"}})
    whole = float(((np.bincount(frame["s"]) / n) ** 2).sum())
    limit = {"k": int(rng.integers(2, 7)), "p": min(1.0, whole + float(rng.uniform(0.0, 0.15)))}
    models = [
        {"name": "k", "k": limit["k"]}, {"name": "range-diversity", "p": limit["p"]},
        {"name": "worst-group-utility", "u": 1.0},
    ]  # fmt: skip
    given_ = [make("model", one) for one in models]
    shoal.anonymize(table, algorithm=shoal.Mondrian(), models=given_, seed=seed)
    release = shoal.anonymize(table, algorithm=UPC(suppression_limit=0.0, polish_rounds=1), models=given_, seed=seed)
    assert release.evidence["counts"]["released"] == n


def test_too_many_suppressed_are_the_fewest_of_all_starts() -> None:
    rng = np.random.default_rng(1)
    table = read(
        pl.DataFrame(
            {"a": rng.integers(0, 1000, 60), "b": rng.integers(0, 1000, 60), "s": rng.choice(["x", "y", "z"], 60)}
        ),
        quasi=["a", "b"],
        sensitive=["s"],
    )
    limits = {"k": 3, "utility": 0.1, "protection": 0.6}
    same = UPC(**limits).models()
    starts = [UPC(guide=0.5), UPC(guide=1.0), shoal.Mondrian(mode="relaxed", suppression_limit=1.0, polish="lm")]
    lost = [
        shoal.anonymize(table, algorithm=start, models=same, seed=1).evidence["counts"]["suppressed"]
        for start in starts
    ]
    assert lost[0] > min(lost)
    with pytest.raises(InfeasibleError, match=f"UPC would suppress {min(lost)} of 60 rows"):
        shoal.anonymize(table, algorithm=UPC(suppression_limit=0.1, **limits), seed=1)


def test_clusters_that_p_needs_larger_are_not_limited_to_less() -> None:
    table = patients(40)
    spec = UPC(k=2, utility=1.0, protection=0.3, max_size=3)
    with pytest.raises(ParameterError, match="'max_size' of UPC must be a whole number of at least 4. Got 3"):
        spec.group(problem_of(table, models_of(spec)))


def test_the_start_that_loses_least_is_kept() -> None:
    spec = UPC(k=4, utility=1.0, protection=0.4)
    problem = problem_of(patients(300), models_of(spec), seed=2)
    found = spec.run(problem)
    starts = found.notes["starts"]
    assert set(starts) == {"guide 0.5", "guide 1", "mondrian"}
    assert starts[found.notes["start"]] == min(starts.values())
    assert found.notes["polish"]["after"] <= min(starts.values())
    one = UPC(k=4, utility=1.0, protection=0.4, guide=0.5).run(problem)
    assert starts["guide 0.5"] == one.notes["polish"]["after"]
