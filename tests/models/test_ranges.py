"""Models of sensitive ranges and of cells: agreement with the verifier, direction, and what depends on the policy."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.data.classes import RowIds
from shoal.data.policies import set_policies
from shoal.data.table import Table
from shoal.errors import InfeasibleError, ParameterError
from shoal.models.base import merging_keeps
from shoal.recipe.source import read
from shoal.registry import make
from shoal.verify.recheck import recheck
from tests.models.judging import ENGINE, grouped, judge_groups, judge_of, of_classes
from tests.models.test_contract import compare
from tests.table.random_tables import ORDER, VALUES, Case, cases, groupings


@st.composite
def policies(draw: st.DrawFn, case: Case, name: str) -> Any:
    """A policy of any form that fits a column, overlapping and asymmetric ones among them."""
    kind, values = case.kinds[name], VALUES[case.kinds[name]]
    forms = {"tree": ["level", "nodes"], "flat": ["sets"]}.get(kind, ["intervals", "each"])
    form = draw(st.sampled_from(["value", *forms]))
    if form == "value":
        return "value"
    if form == "level":
        return {"level": draw(st.integers(0, len(case.hierarchies[name][0]) - 1))}
    if form == "nodes":
        listed = draw(st.lists(st.sampled_from(case.hierarchies[name]), min_size=1, unique_by=lambda row: row[0]))
        rows = [[row[0], draw(st.sampled_from(row))] for row in listed]
        return {"ranges": {"each": rows}, "else": "value"}
    if form == "sets":
        blocks = draw(st.lists(st.integers(0, 2), min_size=len(values), max_size=len(values)))
        sets = [[value for value, block in zip(values, blocks, strict=True) if block == one] for one in (0, 1)]
        return {"ranges": [one for one in sets if one] or "value", "else": "value"}
    ordered = ORDER if kind == "ordinal" else sorted(values)
    places = st.integers(0, len(ordered) - 1)
    if form == "intervals":
        pairs = [sorted(pair) for pair in draw(st.lists(st.tuples(places, places), min_size=1, max_size=3))]
        return {"ranges": [[ordered[a], ordered[b]] for a, b in pairs], "else": "value"}
    listed = draw(st.lists(places, min_size=1, unique=True))
    rows = [
        [
            str(ordered[at]),
            str(ordered[draw(st.integers(0, at))]),
            str(ordered[draw(st.integers(at, len(ordered) - 1))]),
        ]
        for at in listed
    ]
    return {"ranges": {"each": rows}, "else": "value"}


def with_policies(data: st.DataObject, case: Case) -> Table:
    return set_policies(case.table(), {name: data.draw(policies(case, name)) for name in case.sensitive})


@settings(max_examples=30)
@given(st.data(), st.sampled_from(["range-diversity", "range-confidence"]), st.booleans())
def test_figures_are_the_verifiers_whatever_the_policy(data: st.DataObject, name: str, people: bool) -> None:
    case = data.draw(cases(sensitive=(1, 2), quasi=(1, 2), subjects=people))
    table = with_policies(data, case)
    compare(table, data.draw(groupings(case.n)), {"name": name, "p": data.draw(st.sampled_from([0.3, 0.5, 0.8]))})


@settings(max_examples=25)
@given(st.data())
def test_declared_domains_are_measured_against(data: st.DataObject) -> None:
    values = data.draw(st.lists(st.integers(0, 40), min_size=2, max_size=12))
    frame = pl.DataFrame({"q": ["x"] * len(values), "s": values})
    table = read(frame, quasi=["q"], sensitive=["s"], settings={"s": {"domain": [0, 40]}}, policies={"s": [[0, 40]]})
    compare(table, data.draw(groupings(len(values))), {"name": "range-diversity", "p": 0.5})
    (whole,) = judge_groups(
        table, np.zeros(len(values), dtype=np.int32), make("model", {"name": "range-diversity", "p": 1})
    )
    expected = np.mean([[1 - abs(a - b) / 40 for a in values] for b in values])
    assert whole.worst == pytest.approx(expected)


@settings(max_examples=50)
@given(st.data(), st.sampled_from(["range-diversity", "range-confidence"]))
def test_merging_keeps_what_it_is_said_to_keep(data: st.DataObject, name: str) -> None:
    case = data.draw(cases(sensitive=(1, 1), quasi=(1, 1), rows=(4, 14)))
    table = with_policies(data, case)
    model = make("model", {"name": name, "p": data.draw(st.sampled_from([0.3, 0.4, 0.5, 0.6]))})
    (rules,) = model.all_rules(judge_of(table, model).reference)
    partition = table.sensitive[0].policy.partition
    assert merging_keeps(model, rules) == (partition or name == "range-confidence")
    if not merging_keeps(model, rules):
        return
    ids = data.draw(groupings(case.n, suppressed=False))
    (before,) = judge_groups(table, ids, model)
    for one in range(before.ok.size - 1):
        if before.ok[one] and before.ok[one + 1]:
            (union,) = judge_groups(table, np.where(np.isin(ids, [one, one + 1]), 0, -1).astype(np.int32), model)
            assert union.ok.all()


def test_overlapping_ranges_are_not_kept_by_merging() -> None:
    """Neighbours are in each other's ranges, and each class has every second value."""
    table, ids = of_classes([[0, 2], [1, 3]], domain=[0, 1000])
    table = set_policies(table, {"s": {"each": [["0", "0", "1"], ["1", "0", "2"], ["2", "1", "3"], ["3", "2", "3"]]}})
    model = make("model", {"name": "range-diversity", "p": 0.55})
    (apart,) = judge_groups(table, ids, model)
    (union,) = judge_groups(table, np.zeros_like(ids), model)
    assert apart.values.tolist() == [0.5, 0.5]
    assert union.values.tolist() == pytest.approx([(4 + 6 * 0.999) / 16])
    (rules,) = model.all_rules(judge_of(table, model).reference)
    assert not merging_keeps(model, rules)


def test_searches_that_prune_refuse_a_policy_that_is_no_partition() -> None:
    frame = pl.DataFrame({"q": ["a", "b"] * 4, "s": [0, 1, 2, 3] * 2})
    trees = {"q": [["a", "*"], ["b", "*"]]}
    table = read(frame, quasi=["q"], sensitive=["s"], hierarchies=trees, policies={"s": [[0, 2], [1, 3]]})
    models = [shoal.KAnonymity(k=2), shoal.RangeDiversity(p=0.9)]
    with pytest.raises(ParameterError, match="merging two classes that satisfy it can give one that does not"):
        shoal.anonymize(table, algorithm="incognito", models=models)
    assert shoal.anonymize(table, algorithm="optimal", models=models).verdict[1].holds


@settings(max_examples=30)
@given(st.data())
def test_splitting_keeps_small_cells_small(data: st.DataObject) -> None:
    case = data.draw(cases(quasi=(1, 3), sensitive=(0, 1)))
    table = case.table()
    ids = data.draw(groupings(case.n, suppressed=False))
    whole = grouped(table, np.zeros_like(ids))
    assert (grouped(table, ids).spreads <= whole.spreads[0] + 1e-12).all()


def test_cells_are_judged_after_recoding_and_failing_classes_go() -> None:
    frame = pl.DataFrame({"a": [1, 2, 3, 100, 200, 300], "s": list("xyzxyz")})
    table = read(frame, quasi=["a"], sensitive=["s"], settings={"a": {"snap": "off"}})
    models = [shoal.KAnonymity(k=3), shoal.WorstGroupUtility(u=0.1), shoal.DistinctL(l=2)]
    release = shoal.anonymize(
        table, algorithm=shoal.Mondrian(suppression_limit=0.5), models=models, acknowledge=["W-TIGHT"]
    )
    assert release.frame["a"].unique().to_list() == ["[1,3]"]
    assert release.measure("wgu").value == pytest.approx(2 / 299)
    with pytest.raises(InfeasibleError, match="failing: worst-group-utility"):
        shoal.anonymize(table, algorithm="mondrian", models=models, acknowledge=["W-TIGHT"])


@settings(max_examples=20)
@given(st.data(), st.sampled_from(["optimal", "top-down-subtree"]), st.booleans())
def test_searches_in_hierarchies_judge_cells(data: st.DataObject, algorithm: str, people: bool) -> None:
    """They give up only where no node of the lattice would do, and what they give passes the gate."""
    letters = "abcd"
    frame = pl.DataFrame(
        {name: data.draw(st.lists(st.sampled_from(letters), min_size=12, max_size=12)) for name in ("q", "r")}
        | {"who": data.draw(st.lists(st.sampled_from([f"p{i}" for i in range(9)]), min_size=12, max_size=12))}
    )
    rows = [["a", "ab", "*"], ["b", "ab", "*"], ["c", "cd", "*"], ["d", "cd", "*"]]
    role = {"subject": "who"} if people else {"drop": ["who"]}
    table = read(frame, quasi=["q", "r"], hierarchies={"q": rows, "r": rows}, **role)
    models = [shoal.KAnonymity(k=2), shoal.WorstGroupUtility(u=data.draw(st.sampled_from([0.2, 0.5, 0.7])))]
    limit = data.draw(st.sampled_from([0.0, 0.4]))
    try:
        release = shoal.anonymize(
            table, algorithm=make("algorithm", {"name": algorithm, "suppression_limit": limit}), models=models
        )
    except InfeasibleError:
        if algorithm == "optimal":
            assert not [levels for levels in np.ndindex(3, 3) if allowed(table, levels, models, limit)]
        return
    assert release.measure("wgu").value <= models[1].u + 1e-12


def allowed(table: Table, levels: tuple[int, ...], models: Any, limit: float) -> bool:
    made = {"name": "none", "levels": dict(zip(("q", "r"), levels, strict=True)), "suppression_limit": limit}
    try:
        shoal.anonymize(table, algorithm=make("algorithm", made), models=models)
    except InfeasibleError:
        return False
    return True


def patients(n: int = 240) -> pl.DataFrame:
    rng = np.random.default_rng(5)
    return pl.DataFrame(
        {
            "age": rng.integers(20, 80, n), "sex": rng.choice(["f", "m"], n), "income": rng.integers(0, 100, n),
            "disease": rng.choice(["HIV", "cancer", "flu", "cold"], n),
        }
    )  # fmt: skip


@pytest.mark.parametrize("domain", [None, [0, 99]])
def test_a_release_with_policies_verifies_from_its_manifest_alone(domain: Any) -> None:
    policy = {"income": [[0, 9], [10, 30], [31, 99]], "disease": [["HIV", "cancer"], ["flu", "cold"]]}
    table = read(
        patients(), quasi=["age", "sex"], sensitive=["income", "disease"], policies=policy,
        settings={"income": {"domain": domain}},
    )  # fmt: skip
    models = [shoal.KAnonymity(k=6), shoal.RangeDiversity(p=0.75), shoal.RangeConfidence(p=0.95)]
    release = shoal.anonymize(table, models=models, seed=1)
    manifest = json.loads(json.dumps(release.manifest)) | {"data": {"rows": release.frame.height}}
    columns = {column["name"]: column for column in manifest["columns"]}
    assert columns["income"]["policy"] == {"intervals": [["0", "9"], ["10", "30"], ["31", "99"]], "else": "error"}
    assert columns["disease"]["policy"] == {"sets": policy["disease"], "else": "error"}
    by = {(v["model"]["name"], v["on"]): v["by"] for v in manifest["verdicts"]}
    assert by[("range-diversity", "income")] == ("attested" if domain is None else "rechecked")
    assert by[("range-diversity", "disease")] == "attested"  # how many diseases there are is not public
    assert by[("range-confidence", "income")] == by[("range-confidence", "disease")] == "rechecked"
    assert recheck(release.frame, manifest).passed
    # Wider ranges than those that were promised make the figures worse, and the verifier sees it.
    columns["income"]["policy"] = {"intervals": [["0", "99"]], "else": "error"}
    assert not recheck(release.frame, manifest).passed


def test_the_manifest_says_what_a_mean_over_pairs_leaves_open() -> None:
    table = read(patients(), quasi=["age"], sensitive=["income"], drop=["sex", "disease"])
    pairs = [shoal.KAnonymity(k=3), shoal.RangeDiversity(p=0.9)]
    left = shoal.anonymize(table, models=pairs).manifest["not_protected"]
    assert any("mean over pairs" in sentence and "'income'" in sentence for sentence in left)
    left = shoal.anonymize(table, models=[*pairs, shoal.RangeConfidence(p=0.9)]).manifest["not_protected"]
    assert not any("mean over pairs" in sentence for sentence in left)
    left = shoal.anonymize(table, models=[shoal.KAnonymity(k=3), shoal.MaxRange(limit=0.9)]).manifest["not_protected"]
    assert any("between the extremes of 'income'" in sentence for sentence in left)


def test_a_policy_that_no_model_uses_stays_private() -> None:
    table = read(
        patients(), quasi=["age"], sensitive=["income"], drop=["sex", "disease"], policies={"income": [[0, 99]]}
    )
    release = shoal.anonymize(table, models=[shoal.KAnonymity(k=3), shoal.DistinctL(l=2)])
    assert "policy" not in release.manifest["columns"][-1]


def test_statistics_without_cells_say_nothing_about_them() -> None:
    table, ids = of_classes([["a", "b"], ["c"]])
    model = make("model", {"name": "worst-group-utility", "u": 0.0})
    judge = judge_of(table, model)
    stats = ENGINE.open(table).stats(RowIds(ids, 2), judge.attributes)
    (unknown,) = judge.judge(stats)
    assert (unknown.ok.tolist(), unknown.on) == ([True, True], None)
    assert np.isnan(unknown.values).all()
    (known,) = judge.judge(replace(stats, spreads=np.array([0.0, 0.25])))
    assert (known.ok.tolist(), known.worst, known.better) == ([True, False], 0.25, "down")


@pytest.mark.parametrize("style", ["bounds", "representative"])
def test_cells_of_other_styles_are_judged_at_the_gate(style: str) -> None:
    frame = patients().with_columns(age=pl.col("age") * 1000 + pl.int_range(pl.len()))
    table = read(
        frame, quasi=["age", "sex"], sensitive=["disease"], drop=["income"], settings={"age": {"style": style}}
    )  # fmt: skip
    models = [shoal.KAnonymity(k=4), shoal.DistinctL(l=2), shoal.WorstGroupUtility(u=0.6)]
    release = shoal.anonymize(table, models=models, seed=1)
    found = {verdict.model["name"]: verdict for verdict in release.verdict}["worst-group-utility"]
    assert (found.holds, found.by) == (True, "attested")
    # The ends that are published, or the members themselves, may span less than the cells they were rounded from.
    assert 0 < found.value <= release.measure("wgu").value + 1e-12
