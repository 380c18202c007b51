"""Rules that must be kept and columns that may not be starred, against every string ranked the plain way."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import InfeasibleError, ParameterError
from shoal.recipe.source import read
from shoal.registry import make
from shoal.utility.research_rules import Constraint
from tests.algorithms.lattice.lattices import Case
from tests.algorithms.research.strings import Valued, valued

METHODS = ("rv-global", "rv-hybrid", "rv-distributed")


def keeping(drawn: Valued) -> tuple[Valued, list[Constraint]]:
    """The same with every other rule to be kept."""
    rules = [rule | {"keep": place % 2 == 0} for place, rule in enumerate(drawn.value["rules"])]
    value = drawn.value | {"rules": rules}
    return Valued(drawn.case, drawn.limit, value), [Constraint.of(rule) for rule in rules if rule["keep"]]


@settings(max_examples=25)
@given(valued(), st.sampled_from([None, 0, 1]))
def test_the_best_string_that_keeps_the_rules(given_: Valued, max_roots: int | None) -> None:
    drawn, kept = keeping(given_)
    problem = drawn.case.problem()
    columns = {column.name: column for column in drawn.case.table.quasi}
    names = list(columns)
    flags = [(names.index(rule.column), rule.kept(columns[rule.column])) for rule in kept]
    ranked = [
        one for one in drawn.ranked(problem)
        if all(mine[one[2][a]] for a, mine in flags) and (max_roots is None or one[1] <= max_roots)
    ]  # fmt: skip
    for name in METHODS:
        if not ranked:
            with pytest.raises(InfeasibleError):
                drawn.run(problem, name, max_roots=max_roots)
            continue
        found = drawn.run(problem, name, max_roots=max_roots)
        assert tuple(found.levels.values()) == ranked[0][2], name
        listed = [tuple(one["levels"].values()) for one in found.notes["ranked"]]
        assert listed == [levels for _, _, levels, _ in ranked[:10]]
    if max_roots is None and ranked:
        optimal = make(
            "algorithm", {"name": "optimal", "measure": "rv", "suppression_limit": drawn.limit} | drawn.value
        )
        levels = tuple(optimal.run(problem).levels.values())
        assert next(rv for rv, _, mine, _ in ranked if mine == levels) == pytest.approx(ranked[0][0], abs=1e-9)


def people() -> Any:
    """Four people who differ in two columns, of which k = 2 lets one stand."""
    frame = pl.DataFrame({"a": list("xxyy"), "b": list("uvuv"), "c": list("zzzz")})
    trees = {name: [[one, "*"] for one in sorted(set(frame[name]))] for name in frame.columns}
    return read(frame, quasi=["a", "b", "c"], hierarchies=trees, weights={"b": 2.0})


A = {"column": "a", "separate": ["x", "y"]}
B = {"column": "b", "separate": ["u", "v"]}


@pytest.mark.parametrize("name", [*METHODS, "rv-local", "optimal"])
def test_a_rule_to_keep_beats_what_is_worth_more(name: str) -> None:
    problem = Case(people(), [{"name": "k", "k": 2}]).problem()
    more = {"measure": "rv"} if name == "optimal" else {}
    found = make("algorithm", {"name": name, "rules": [A | {"keep": True}, B]} | more).run(problem)
    assert found.levels["a"] == 0
    assert found.levels["b"] == 1


@pytest.mark.parametrize("name", [*METHODS, "rv-local", "optimal"])
def test_rules_that_contradict_each_other_are_named(name: str) -> None:
    rules = [A | {"keep": True}, B | {"keep": True}]
    more = {"measure": "rv"} if name == "optimal" else {}
    algorithm = make("algorithm", {"name": name, "rules": rules} | more)
    with pytest.raises(InfeasibleError, match="'a: x . y' and 'b: u . v' cannot be kept together"):
        shoal.anonymize(people(), algorithm=algorithm, models=[shoal.KAnonymity(k=2)], seed=1)


@pytest.mark.parametrize("name", [*METHODS, "rv-local", "optimal"])
def test_only_rules_that_stand_in_each_others_way_are_named(name: str) -> None:
    frame = pl.DataFrame({"a": list("xxyyyy"), "b": list("uuuuuv"), "c": list("zzzwww")})
    trees = {name: [[one, "*"] for one in sorted(set(frame[name]))] for name in frame.columns}
    table = read(frame, quasi=["a", "b", "c"], hierarchies=trees)
    rules = [A | {"keep": True}, B | {"keep": True}, {"column": "c", "separate": ["z", "w"], "keep": True}]
    given = {"name": name, "rules": rules} | ({"measure": "rv"} if name == "optimal" else {})
    with pytest.raises(InfeasibleError, match="The rule 'b: u . v' cannot be kept under"):
        make("algorithm", given).run(Case(table, [{"name": "k", "k": 2}]).problem())


@pytest.mark.parametrize("name", [*METHODS, "optimal"])
def test_rules_that_every_string_had_to_be_tried_for(name: str) -> None:
    """With suppression, a failure of t-closeness rules nothing else out; without the rule the roots pass."""
    frame = pl.DataFrame({"a": list("xxxyyy") * 4, "b": list("uv") * 12, "d": list("111123") * 4})
    trees = {"a": [["x", "*"], ["y", "*"]], "b": [["u", "*"], ["v", "*"]]}
    table = read(frame, quasi=["a", "b"], sensitive=["d"], hierarchies=trees)
    problem = Case(table, [{"name": "k", "k": 2}, {"name": "t-closeness", "t": 0.05}]).problem()
    given = {"name": name, "suppression_limit": 0.1} | ({"measure": "rv"} if name == "optimal" else {})
    assert make("algorithm", given).run(problem).levels["a"] == 1
    kept = given | {"rules": [A | {"keep": True}]}
    with pytest.raises(InfeasibleError, match="The rule 'a: x . y' cannot be kept under"):
        make("algorithm", kept).run(problem)
    if name != "optimal":
        with pytest.raises(InfeasibleError, match="at most 1 columns at their root .* and keeps the rule 'a: x . y'"):
            make("algorithm", kept | {"max_roots": 1}).run(problem)


def test_too_few_columns_at_their_root() -> None:
    problem = Case(people(), [{"name": "k", "k": 2}]).problem()
    for name in METHODS:
        assert sum(make("algorithm", {"name": name, "max_roots": 1}).run(problem).levels.values()) == 1
        with pytest.raises(InfeasibleError, match="at most 0 columns at their root"):
            make("algorithm", {"name": name, "max_roots": 0}).run(problem)


def test_any_other_method_may_not_break_a_rule_either() -> None:
    frame = pl.DataFrame({"age": [20, 21, 60, 61] * 2, "x": [1] * 8})
    research = {"rules": [{"column": "age", "boundary": 40, "keep": True}]}
    table = read(frame, quasi=["age", "x"], research=research)
    release = shoal.anonymize(table, models=[shoal.KAnonymity(k=4)], seed=1)
    assert [rule["kept"] for rule in release.evidence["research"]["rules"]] == [True]
    with pytest.raises(InfeasibleError, match="'mondrian' found breaks the rule 'age: up to 40 . above'"):
        shoal.anonymize(table, models=[shoal.KAnonymity(k=8)], seed=1)


@pytest.mark.parametrize(
    "algorithm, models, said",
    [
        (shoal.Condensation(size=8), [], "in a perturbed release"),
        (shoal.Microaggregation(), [shoal.KAnonymity(k=8)], "in a microaggregated release"),
    ],
)
def test_a_rule_that_nothing_can_judge_is_refused(algorithm: Any, models: list[Any], said: str) -> None:
    """A centroid or a value that is made up is on one side of 40, and the people behind it may be on both."""
    research = {"rules": [{"column": "age", "boundary": 40, "keep": True}]}
    table = read(pl.DataFrame({"age": [20, 21, 60, 61] * 2, "x": [1] * 8}), quasi=["age", "x"], research=research)
    with pytest.raises(ParameterError, match=f"The rule 'age: up to 40 . above' must be kept, and {said}"):
        shoal.anonymize(table, algorithm=algorithm, models=models, acknowledge=["W-PERTURBED"], seed=1)


def test_a_search_without_time_says_nothing_of_what_is_possible() -> None:
    rng = np.random.default_rng(5)
    frame = pl.DataFrame({name: rng.integers(0, 20, 300) for name in "abcd"})
    table = read(frame, quasi=list("abcd"), hierarchies={name: {"widths": [2, 4, 8]} for name in "abcd"})
    problem = Case(table, [{"name": "k", "k": 3}]).problem()
    given = {"name": "optimal", "measure": "rv", "rules": [{"column": "a", "boundary": 9, "keep": True}]}
    assert make("algorithm", given).run(problem).levels["a"] == 0
    with pytest.raises(InfeasibleError, match="'optimal' found nothing that keeps the rule 'a: up to 9 . above'"):
        make("algorithm", given | {"seconds": 1e-9}).run(problem)


def test_a_report_of_the_rules_and_the_value_that_was_optimised() -> None:
    rng = np.random.default_rng(3)
    frame = pl.DataFrame({"age": rng.integers(20, 80, 300), "sex": rng.choice(["f", "m"], 300)})
    rules = [{"column": "age", "boundary": 66, "importance": 5}, {"column": "age", "boundary": 39}]
    table = read(frame, quasi=["age", "sex"], hierarchies={"age": {"widths": [10, 20]}})
    for algorithm in (
        shoal.ResearchGlobal(k=5, rules=rules, normalise=False),
        shoal.Optimal(k=5, measure="rv", rules=rules, normalise=False),
    ):
        release = shoal.anonymize(table, algorithm=algorithm, seed=1)
        facts = release.evidence["research"]["rules"]
        assert [(rule["text"], rule["kept"]) for rule in facts] == [
            ("age: up to 66 | above", False), ("age: up to 39 | above", True),
        ]  # fmt: skip
        assert facts[0]["such_as"] == ["[60,69]"]
        found = release.measure("rv")
        assert found.value == release.evidence["measures"]["rv"].value
        assert found.value == pytest.approx(1.0 + (1 / 10) * (1 / 6), abs=1e-3)
        assert found.value == release.measure("rv", rules=rules, normalise=False).value
    assert found.value != release.measure("rv", normalise=True, rules=rules[:1]).value


def test_a_table_is_not_bound_to_what_one_algorithm_was_told() -> None:
    table = people()
    first = shoal.anonymize(table, algorithm=shoal.ResearchGlobal(k=2, rules=[A | {"keep": True}]), seed=1)
    again = shoal.anonymize(first.table, algorithm=shoal.ResearchGlobal(k=2, rules=[B | {"keep": True}]), seed=1)
    assert [rule["text"] for rule in again.evidence["research"]["rules"]] == ["b: u | v"]
    assert [rule["text"] for rule in first.evidence["research"]["rules"]] == ["a: x | y"]


def test_values_are_said_in_one_place() -> None:
    table = read(pl.DataFrame({"a": [1, 1]}), quasi=["a"], research={"normalise": False})
    with pytest.raises(ParameterError, match=r"both under \[research\] and under \[algorithm\]"):
        shoal.anonymize(table, algorithm=shoal.ResearchGlobal(k=2, weights="association"), seed=1)


def test_rules_of_a_measure_that_takes_none() -> None:
    with pytest.raises(ParameterError, match="for the measure 'rv' only, and is asked for 'lm'"):
        shoal.Optimal(rules=[A])
