"""A survey's figures against every node worked out row by row, and what it shows of lattices too large to list."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.algorithms.base import Problem
from shoal.algorithms.lattice.optimal import MEASURES, Optimal
from shoal.algorithms.lattice.survey import survey
from shoal.data.keys import Keys
from shoal.recipe.source import read
from shoal.registry import load
from shoal.results import Survey
from tests.algorithms.lattice.lattices import K2, LIMITS, Case, best, cases, every_node

ALL = 10**6


def wide(columns: int, rows: int = 30, seed: int = 1) -> Case:
    """A table of many columns of three values each, under two levels."""
    rng = np.random.default_rng(seed)
    names = [f"q{place}" for place in range(columns)]
    tree = [["a", "ab", "*"], ["b", "ab", "*"], ["c", "*"]]
    data = {name: rng.choice(list("abc"), size=rows, p=[0.6, 0.3, 0.1]) for name in names}
    return Case(read(pl.DataFrame(data), quasi=names, hierarchies=dict.fromkeys(names, tree)), [K2])


def surveyed(problem: Problem, *, measure: str, limit: float, max_nodes: int, seconds: float | None = None) -> Survey:
    made = load("measure", measure)()
    return survey(problem, measure=made, limit=limit, max_nodes=max_nodes, seconds=seconds)


def without_repeats(found: Survey) -> set[tuple[int, ...]]:
    nodes = {node.levels for node in found.nodes}
    assert len(nodes) == len(found.nodes) == sum(found.chosen.values())
    return nodes


@settings(max_examples=20)
@given(cases(), st.sampled_from(MEASURES), st.sampled_from(LIMITS))
def test_every_node_has_the_figures_of_its_release(case: Case, measure: str, limit: float) -> None:
    problem = case.problem()
    found = surveyed(problem, measure=measure, limit=limit, max_nodes=ALL)
    plain = {node.levels: node for node in every_node(problem)}
    assert found.complete
    assert found.proven
    assert without_repeats(found) == set(plain)
    for node in found.nodes:
        released = plain[node.levels].released
        score = load("measure", measure)().score(released.price_stats())
        expected = "fails" if not released.n_classes else "allowed" if plain[node.levels].allowed(limit) else "over"
        assert (node.suppressed, node.classes, node.verdict) == (released.n_suppressed, released.n_classes, expected)
        assert node.smallest == released.sizes.min(initial=ALL) % ALL
        assert node.loss == pytest.approx(score.value, abs=1e-6)
    optimum = best(list(plain.values()), measure, limit)
    levels = None if found.optimum is None else found.nodes[found.optimum].levels
    assert levels == (None if optimum is None else optimum.levels)


def test_weights_that_follow_from_what_columns_have_in_common_are_those_of_the_release() -> None:
    problem, made = wide(3).problem(), load("measure", "rv")(weights="association")
    found = survey(problem, measure=made, limit=0.0, max_nodes=ALL)
    plain = {node.levels: node.released for node in every_node(problem) if node.released.n_classes}
    figures = {node.levels: node.loss for node in found.nodes if node.loss is not None}
    assert figures == {
        levels: pytest.approx(made.score(released.price_stats()).value) for levels, released in plain.items()
    }


@settings(max_examples=25)
@given(cases(), st.sampled_from(["lm", "precision", "dm"]))
def test_nodes_come_best_first_within_each_verdict(case: Case, measure: str) -> None:
    found = surveyed(case.problem(), measure=measure, limit=0.1, max_nodes=ALL)
    verdicts = [node.verdict for node in found.nodes]
    assert verdicts == sorted(verdicts, key=["allowed", "over", "fails"].index)
    sign = -1 if found.better == "up" else 1
    allowed = [sign * node.loss for node in found.nodes if node.verdict == "allowed" and node.loss is not None]
    assert allowed == sorted(allowed)


@settings(max_examples=20)
@given(cases(rows=60), st.integers(1, 12))
def test_a_part_of_a_lattice_holds_its_optimum(case: Case, most: int) -> None:
    problem = case.problem()
    whole = surveyed(problem, measure="lm", limit=0.1, max_nodes=ALL)
    part = surveyed(problem, measure="lm", limit=0.1, max_nodes=most)
    nodes = without_repeats(part)
    assert len(nodes) <= most
    assert nodes <= {node.levels for node in whole.nodes}
    assert part.proven
    assert {node.levels: node for node in part.nodes}.items() <= {node.levels: node for node in whole.nodes}.items()
    if whole.optimum is None:
        assert part.optimum is None
    else:
        assert part.optimum is not None
        assert part.nodes[part.optimum] == whole.nodes[whole.optimum]


def test_what_is_shown_of_a_larger_lattice() -> None:
    problem = wide(7, rows=200).problem()
    found = surveyed(problem, measure="lm", limit=0.1, max_nodes=400)
    nodes = without_repeats(found)
    assert not found.complete
    assert (found.lattice, len(nodes)) == (3**7, 400)
    assert list(found.chosen)[0] == "the optimum"
    assert list(found.chosen)[-1] == "a sample"
    assert {(0,) * 7, (2,) * 7} <= nodes
    assert found.optimum is not None
    centre = found.nodes[found.optimum].levels
    for a, level in enumerate(centre):
        for step in (level - 1, level + 1):
            assert not 0 <= step <= 2 or (*centre[:a], step, *centre[a + 1 :]) in nodes
    heights = {sum(levels) for levels in nodes}
    assert heights == set(range(15))


def test_the_keys_decide_the_sample() -> None:
    problem = wide(7).problem()
    other = replace(problem, keys=Keys.from_seed(2))
    first, again, another = (surveyed(one, measure="lm", limit=0.1, max_nodes=100) for one in (problem, problem, other))
    assert first == again
    assert first.nodes != another.nodes


def test_a_lattice_beyond_all_numbers_is_surveyed_within_its_budget() -> None:
    found = surveyed(wide(42).problem(), measure="lm", limit=0.2, max_nodes=300, seconds=0.3)
    assert found.lattice == 3**42
    assert len(without_repeats(found)) == 300
    assert not found.proven
    assert found.optimum is not None


def test_the_search_is_the_one_of_optimal() -> None:
    problem = wide(6, rows=300).problem()
    found = surveyed(problem, measure="ncp", limit=0.05, max_nodes=50)
    chosen = Optimal(measure="ncp", suppression_limit=0.05).run(problem)
    assert found.optimum is not None
    assert list(found.nodes[found.optimum].levels) == chosen.notes["levels"]


def test_levels_are_described() -> None:
    found = surveyed(wide(1).problem(), measure="lm", limit=0.0, max_nodes=10)
    assert (list(found.columns), list(found.heights)) == (["q0"], [2])
    assert found.level_names == [["as it is, 3 values", "2 groups such as ab", "everything is *"]]


def test_a_column_without_hierarchy_has_two_levels() -> None:
    problem = Case(read(pl.DataFrame({"sex": list("fmfm")}), quasi=["sex"]), [K2]).problem()
    found = surveyed(problem, measure="lm", limit=0.0, max_nodes=9)
    assert list(found.heights) == [1]
    assert found.level_names == [["as it is, 2 values", "everything is *"]]
    assert [(node.levels, node.verdict) for node in found.nodes] == [((0,), "allowed"), ((1,), "allowed")]
