"""Anatomy, bucketisation of any grouping, and round robin for (eps,m)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.algorithms.base import Problem
from shoal.algorithms.links.anatomy import Anatomy, deal
from shoal.data.classes import RowIds
from shoal.data.keys import Keys
from shoal.errors import InfeasibleError, ParameterError
from shoal.recipe.source import read
from shoal.recoding.recodings import Bucketed
from shoal.release.entry import anonymize, verify_release
from tests.algorithms.lattice.lattices import Case
from tests.algorithms.lattice.lattices import cases as tree_cases
from tests.strategies import frames


def posed(algorithm: Anatomy, frame: pl.DataFrame, *models: dict[str, Any], **roles: Any) -> Problem:
    """The problem with the algorithm's own models beside the given ones."""
    given = {"quasi": ["q"], "sensitive": ["s"], "missing": "value"} | roles
    return Case(read(frame, **given), [*models, *(model.parameters() for model in algorithm.models())]).problem()


def sensitive(values: list[Any], **more: Any) -> pl.DataFrame:
    """One quasi-identifier, all different, and a sensitive column."""
    return pl.DataFrame({"q": range(len(values)), "s": pl.Series(values, strict=False)} | more)


def histograms(problem: Problem, bucketed: Bucketed, name: str = "s") -> np.ndarray:
    """Groups by values."""
    column = problem.table.columns[name]
    counts = np.zeros((bucketed.groups, column.card), dtype=np.int64)
    np.add.at(counts, (bucketed.ids, problem.table.codes[name]), 1)
    return counts


@settings(max_examples=30)
@given(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=50), st.integers(2, 4))
def test_values_of_a_group_all_differ(values: list[str], l: int) -> None:  # noqa: E741
    algorithm = Anatomy(l=l)
    problem = posed(algorithm, sensitive(values))
    most = max(values.count(value) for value in values)
    if most * l > len(values):
        with pytest.raises(InfeasibleError) as caught:
            algorithm.run(problem)
        allowed = len(values) // most
        assert (f"l = {allowed} is the largest" in str(caught.value)) == (allowed > 1)
        assert caught.value.exit_code == 3
        return
    found = algorithm.run(problem)
    counts = histograms(problem, found)
    assert counts.max() == 1
    assert counts.sum(axis=1).min() >= l
    assert (counts.max(axis=1) / counts.sum(axis=1)).max() <= 1 / l
    assert counts.sum() == len(values)
    stats = problem.rows.stats(RowIds(found.ids, found.groups), problem.judge.attributes)
    assert problem.judge.ok(stats).all()


@given(st.lists(st.sampled_from(["a", "b", "c", None, "refused"]), min_size=4, max_size=40))
def test_unknown_values_count_for_nothing(values: list[str | None]) -> None:
    algorithm = Anatomy(l=2)
    chosenof = {"s": {"non_answers": ["refused"]}}
    problem = posed(algorithm, sensitive(values), settings=chosenof)
    known = [value for value in values if value not in (None, "refused")]
    if not known or max(known.count(value) for value in known) * 2 > len(known):
        with pytest.raises(InfeasibleError):
            algorithm.run(problem)
        return
    found = algorithm.run(problem)
    texts = problem.table.columns["s"].texts.to_list()
    counts = histograms(problem, found)[:, [texts.index(value) for value in set(known)]]
    assert counts.max() == 1
    assert counts.sum(axis=1).min() >= 2
    assert (found.ids >= 0).all()


def test_groups_repeat_under_their_seed_and_not_otherwise() -> None:
    frame = sensitive(list("abcd") * 25)
    table = read(frame, quasi=["q"], sensitive=["s"])
    algorithm = Anatomy(l=3)
    runs = [algorithm.run(_keyed(table, algorithm, seed)).ids for seed in (1, 1, 2)]
    assert np.array_equal(runs[0], runs[1])
    assert not np.array_equal(runs[0], runs[2])


def test_groups_move_with_the_row_keys() -> None:
    """However the rows are delivered, the same people share a group."""
    frame = sensitive(list("aabbccdd") * 6, key=[f"r{row}" for row in range(48)])
    moved = frame.sample(fraction=1.0, shuffle=True, seed=3)
    algorithm = Anatomy(l=2)
    partners = []
    for one in (frame, moved):
        table = read(one, quasi=["q"], sensitive=["s"], key="key")
        ids = algorithm.run(_keyed(table, algorithm, 5)).ids
        partners.append({frozenset(one["q"].filter(pl.Series(ids == g)).to_list()) for g in np.unique(ids)})
    assert partners[0] == partners[1]


def test_group_numbers_do_not_tell_how_groups_were_made() -> None:
    """The first groups drawn hold the commonest values; their numbers must not be the lowest."""
    frame = sensitive(["a"] * 100 + ["b"] * 100 + list("cdefghij") * 13)
    algorithm = Anatomy(l=2)
    problem = posed(algorithm, frame)
    counts = histograms(problem, algorithm.run(problem))
    a = problem.table.columns["s"].texts.to_list().index("a")
    places = np.flatnonzero(counts[:, a])
    assert abs(places.mean() / counts.shape[0] - 0.5) < 0.15


def _keyed(table: Any, algorithm: Anatomy, seed: int) -> Problem:
    problem = Case(table, [model.parameters() for model in algorithm.models()]).problem()
    return replace(problem, keys=Keys.from_seed(seed))


@settings(max_examples=20)
@given(frames(max_rows=30), st.sampled_from(["anatomy", "entropy-mondrian"]), st.sampled_from(["tables", "permuted"]))
def test_every_row_is_in_one_group(case: Any, grouping: str, publication: str) -> None:
    frame, roles = case
    algorithm = Anatomy(l=2, grouping=grouping, publication=publication)
    table = read(frame, **roles)
    problem = Case(table, [model.parameters() for model in algorithm.models()]).problem()
    try:
        found = algorithm.run(problem)
    except (InfeasibleError, ParameterError):
        return
    assert found.publication == publication
    assert sorted(set(found.ids.tolist())) == list(range(found.groups))


def test_entropy_groups_hold_the_entropy() -> None:
    rng = np.random.default_rng(4)
    frame = pl.DataFrame({"q": rng.integers(0, 50, 400), "s": rng.choice(list("abcdefgh"), 400)})
    algorithm = Anatomy(l=3.5, grouping="entropy-mondrian")
    problem = posed(algorithm, frame)
    found = algorithm.run(problem)
    counts = histograms(problem, found)
    shares = counts / counts.sum(axis=1, keepdims=True)
    entropy = -(shares * np.log(np.where(shares > 0, shares, 1))).sum(axis=1)
    assert found.groups > 5
    assert np.exp(entropy.min()) >= 3.5 - 1e-9
    assert found.notes["grouping"] == "entropy-mondrian"


@pytest.mark.parametrize(
    "spec", [{"name": "mondrian", "cut": "best", "k": 3}, {"name": "mondrian", "mode": "relaxed", "k": 4}], ids=str
)
def test_any_grouping_can_be_published_as_buckets(spec: dict[str, Any]) -> None:
    rng = np.random.default_rng(4)
    frame = pl.DataFrame({"q": rng.integers(0, 50, 100), "s": rng.choice(list("abcd"), 100)})
    algorithm = Anatomy(grouping=spec)
    found = algorithm.run(posed(algorithm, frame))
    assert np.bincount(found.ids).min() >= spec["k"]
    assert found.groups > 10


@settings(max_examples=20)
@given(tree_cases([[{"name": "k", "k": 2}]], unknown=False, people=False))
def test_classes_of_whole_columns_can_be_buckets(case: Case) -> None:
    try:
        found = Anatomy(grouping={"name": "samarati"}).run(case.problem())
    except InfeasibleError:
        return
    assert np.bincount(found.ids).min() >= 2


def test_worked_deal() -> None:
    values = np.array([10000, 10020, 10030, 15000, 15010, 20000, 22000, 22020, 23000], dtype=np.float64)
    order = np.array([4, 0, 8, 2, 6, 1, 5, 3, 7])
    ids = deal(values[order], np.ones(9, dtype=bool), 3)
    assert [sorted(values[order][ids == g].tolist()) for g in range(3)] == [
        [10000, 15000, 22000], [10020, 15010, 22020], [10030, 20000, 23000],
    ]  # fmt: skip


@settings(max_examples=25)
@given(st.data())
def test_round_robin_meets_eps_m_or_says_why(data: Any) -> None:
    n = data.draw(st.integers(4, 60))
    values = data.draw(st.lists(st.one_of(st.integers(-20, 60), st.none()), min_size=n, max_size=n))
    if all(value is None for value in values):
        values[0] = 1
    m, eps = data.draw(st.integers(2, 4)), data.draw(st.sampled_from([0, 0.5, 3, 10]))
    relative = data.draw(st.booleans())
    eps = eps / 10 if relative else eps
    model = {"name": "eps-m", "eps": eps, "m": m, "relative": relative}
    places = data.draw(st.lists(st.integers(0, 9), min_size=n, max_size=n))
    frame = pl.DataFrame({"q": places, "s": pl.Series(values, dtype=pl.Int64)})
    algorithm = Anatomy(grouping="round-robin")
    problem = posed(algorithm, frame, model)
    known = np.array([value for value in values if value is not None], dtype=np.float64)
    reach = eps * np.abs(known) if relative else np.full(known.size, float(eps))
    crowd = (np.abs(known[:, None] - known[None]) <= reach[:, None] + 1e-9).sum(axis=1).max()
    if known.size // crowd < m:
        with pytest.raises(InfeasibleError, match=f"m = {known.size // crowd} is the most"):
            algorithm.run(problem)
        return
    found = algorithm.run(problem)
    assert found.groups >= crowd
    for g in range(found.groups):
        own = frame["s"].filter(pl.Series(found.ids == g)).drop_nulls().to_numpy().astype(np.float64)
        for x in own:
            near = (np.abs(own - x) <= (eps * abs(x) if relative else eps) + 1e-9).sum()
            assert near * m <= own.size


def test_round_robin_cuts_along_quasi_identifiers() -> None:
    """Dealt groups span the whole table; where values allow it they are cut into neighbourhoods."""
    rng = np.random.default_rng(8)
    frame = pl.DataFrame({"q": rng.integers(0, 1000, 600), "s": rng.permutation(600) * 10})
    algorithm = Anatomy(grouping="round-robin")
    problem = posed(algorithm, frame, {"name": "eps-m", "eps": 15, "m": 3})
    found = algorithm.run(problem)
    assert found.notes["dealt"] == 3
    assert found.groups > 100
    q = frame["q"].to_numpy()
    assert np.mean([np.ptp(q[found.ids == g]) for g in range(found.groups)]) < 50


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({}, "needs its parameter 'l'"),
        ({"l": 1}, "at least 2"),
        ({"l": 2.5}, "whole number"),
        ({"l": 2, "grouping": "entropie"}, "one of anatomy"),
        ({"l": 2, "publication": "table"}, "Did you mean 'tables'"),
        ({"l": 2, "grouping": "round-robin"}, "add a model instead"),
        ({"grouping": {"name": "mondrian", "suppression_limit": 0.1}}, "set it beside"),
        ({"grouping": {"name": "mondrain"}}, "Did you mean 'mondrian'"),
    ],
    ids=str,
)
def test_bad_parameters(parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        Anatomy(**parameters)


def test_bad_tables() -> None:
    two = sensitive(list("ab") * 4, t=list("cd") * 4)
    with pytest.raises(ParameterError, match="the table has 2"):
        Anatomy(l=2).run(posed(Anatomy(l=2), two, sensitive=["s", "t"]))
    people = sensitive(list("ab") * 4, who=list("ppqqrrss"))
    with pytest.raises(ParameterError, match="8 rows are about 4 people"):
        Anatomy(l=2).run(posed(Anatomy(l=2), people, subject="who"))
    dealing = Anatomy(grouping="round-robin")
    with pytest.raises(ParameterError, match="needs the model 'eps-m' on one attribute, and there are 0"):
        dealing.run(posed(dealing, sensitive([1, 2, 3]), {"name": "k", "k": 2}))


def test_a_tuple_may_be_taken_together() -> None:
    frame = sensitive(list("aabb") * 3, t=list("cdcd") * 3)
    algorithm = Anatomy(l=4, on=["s", "t"])
    problem = posed(algorithm, frame, sensitive=["s", "t"])
    found = algorithm.run(problem)
    assert np.bincount(found.ids).tolist() == [4, 4, 4]


def test_messages_hold_no_value() -> None:
    with pytest.raises(InfeasibleError) as caught:
        Anatomy(l=2).run(posed(Anatomy(l=2), sensitive(["secretly ill"] * 3 + ["well"])))
    assert "secretly" not in str(caught.value)


@settings(max_examples=30)
@given(
    st.lists(st.sampled_from("aaaabbcdef"), min_size=1, max_size=50), st.integers(2, 4),
    st.sampled_from(["suppress", "join"]),
)  # fmt: skip
def test_leftovers_go_where_the_rule_says(values: list[str], l: int, rule: str) -> None:  # noqa: E741
    algorithm = Anatomy(l=l, leftovers=rule, suppression_limit=1.0 if rule == "suppress" else 0.0)
    problem = posed(algorithm, sensitive(values))
    if len(set(values)) < l:
        with pytest.raises(InfeasibleError, match="fewer than"):
            algorithm.run(problem)
        return
    found = algorithm.run(problem)
    codes = problem.table.codes["s"]
    counts = np.zeros((found.groups, problem.table.columns["s"].card), dtype=np.int64)
    np.add.at(counts, (found.ids[found.ids >= 0], codes[found.ids >= 0]), 1)
    assert ((counts > 0).sum(axis=1) >= l).all()
    if rule == "join":
        assert (found.ids >= 0).all()
        assert (np.ptp(counts, axis=0) <= 1).all() or max(values.count(one) for one in values) * l <= len(values)
        return
    assert counts.max() == 1
    # Nobody is left out who could be in: their values are in every group, and too few for another one.
    left = np.unique(codes[found.ids < 0])
    assert (counts[:, left] == 1).all()
    assert left.size < l
    # As many are in groups as can be: of no value more than one a group.
    most = max(sum(min(values.count(one), groups) for one in set(values)) for groups in _feasible(values, l))
    assert counts.sum() == most


def _feasible(values: list[str], l: int) -> list[int]:  # noqa: E741
    """Numbers of groups of at least l different values that there can be."""
    counts = [values.count(one) for one in set(values)]
    return [groups for groups in range(1, len(values) + 1) if sum(min(one, groups) for one in counts) >= l * groups]


def test_leftovers_need_a_rule_that_fits() -> None:
    many = sensitive(["a"] * 6 + ["b", "c", "d", "e"])
    with pytest.raises(InfeasibleError, match="say what becomes of 'leftovers'"):
        Anatomy(l=2).run(posed(Anatomy(l=2), many))
    tight = Anatomy(l=2, leftovers="suppress", suppression_limit=0.1)
    with pytest.raises(InfeasibleError, match=r"2 of 10 rows \(20.00%\) fit in no group"):
        tight.run(posed(tight, many))
    for wrong, told in (
        ({"l": 2, "leftovers": "drop"}, "one of refuse, suppress, join"),
        ({"l": 2, "leftovers": "join", "suppression_limit": 0.1}, "nobody to suppress"),
        ({"l": 2, "grouping": "entropy-mondrian", "leftovers": "join"}, "its own grouping"),
    ):
        with pytest.raises(ParameterError, match=told):
            Anatomy(**wrong)


@pytest.mark.parametrize(
    "parameters, told",
    [
        ({}, "and l = 2 is the largest that it allows; .* say what becomes of 'leftovers'"),
        ({"leftovers": "suppress"}, "and l = 2 is the largest that it allows; .* set how many leftovers"),
        ({"leftovers": "suppress", "max_suppressed": 1}, r"rows \(.*\) fit in no group"),
    ],
)
def test_a_run_names_the_largest_l_of_the_known_values(parameters: dict[str, Any], told: str) -> None:
    """The model that l stands for fails too, and would say what its own limit has to be."""
    many = read(
        sensitive(["a"] * 6 + ["b"] * 3 + list("cde") + [None] * 9), quasi=["q"], sensitive=["s"], missing="value"
    )
    with pytest.raises(InfeasibleError, match=told):
        anonymize(many, algorithm=Anatomy(l=3, **parameters), seed=1, acknowledge=["W-EXACT-QI", "W-NO-K"])


@pytest.mark.parametrize(
    "values, unknown, said",
    [("abc", None, []), ("abc", "*", []), ("abc", "no answer", ["no answer"]), ([1, 2, 3], 99, ["99.0"])],
)
def test_unknown_values_may_stand_twice_where_leftovers_are_left_out(
    values: Sequence[Any], unknown: Any, said: list[str]
) -> None:
    a, b, c = values
    frame = sensitive([a] * 16 + [b] * 6 + [c] * 6 + [unknown] * 12)
    chosen = {"s": {"non_answers": said}} if said else {}
    table = read(frame, quasi=["q"], sensitive=["s"], missing="value", settings=chosen)
    method = Anatomy(l=3, leftovers="suppress", suppression_limit=0.5)
    made = anonymize(table, algorithm=method, seed=1, acknowledge=["W-EXACT-QI", "W-NO-K"])
    assert made.evidence["counts"]["released"] == 30  # six groups, and who is unknown in any of them


@pytest.mark.parametrize("publication", ["tables", "permuted"])
@pytest.mark.parametrize("rule, statement", [("suppress", "a share above 0.333333"), ("join", "distinct 3-diverse")])
def test_the_manifest_tells_of_leftovers(rule: str, statement: str, publication: str, tmp_path: Path) -> None:
    frame = sensitive(["a"] * 20 + ["b"] * 12 + ["c"] * 5 + ["d"] * 5)
    method = Anatomy(l=3, leftovers=rule, publication=publication, suppression_limit=0.5 if rule == "suppress" else 0.0)
    made = anonymize(read(frame, quasi=["q"], sensitive=["s"]), algorithm=method, seed=1, acknowledge=["W-EXACT-QI"])
    assert made.manifest["leftovers"] == rule
    assert statement in made.manifest["statement"]
    assert "leftovers" in [check.name for check in made.checks]
    assert (made.evidence["counts"]["suppressed"] > 0) == (rule == "suppress")
    assert any("records left out" in one for one in made.evidence["attack_notes"]) == (rule == "suppress")
    assert any(one.startswith("Who was left out") for one in made.manifest["not_protected"]) == (rule == "suppress")
    made.write(tmp_path / "out")
    assert verify_release(tmp_path / "out").passed
