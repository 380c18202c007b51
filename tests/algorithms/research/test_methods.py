"""What each method does on its way: levels pruned, tests made, blocks cut, lists too long."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.algorithms.base import Problem
from shoal.algorithms.lattice.checker import Checker
from shoal.algorithms.research.distributed import split
from shoal.algorithms.research.methods import VARIANTS, halve
from shoal.algorithms.research.search import Search, prune_levels
from shoal.errors import InfeasibleError, ParameterError
from shoal.recipe.source import read
from shoal.registry import make
from tests.algorithms.lattice.lattices import Case, cases, every_node

K_AND_LIMIT = [[{"name": "k", "k": k}] for k in (2, 3, 5)]
# Values, tens, halves, everything: 30 ages of one to three people each.
AGES = [[str(age), f"{age // 10 * 10}+", f"{age // 20 * 20}-{age // 20 * 20 + 19}", "*"] for age in range(20, 50)]


def people(k: int, **options: Any) -> Problem:
    """Sixty people: two of every age, one woman and one man, in three towns of which one has a single person."""
    ages = [age for age in range(20, 50) for _ in range(2)]
    towns = ["Ry"] + ["Aby" if age < 35 else "Eke" for age in ages[1:]]
    frame = pl.DataFrame({"age": ages, "sex": ["F", "M"] * 30, "town": towns})
    trees = {
        "age": AGES, "sex": [["F", "*"], ["M", "*"]],
        "town": [["Aby", "east", "*"], ["Eke", "west", "*"], ["Ry", "east", "*"]],
    }  # fmt: skip
    table = read(frame, quasi=["age", "sex", "town"], hierarchies=trees, **options)
    return Case(table, [{"name": "k", "k": k}]).problem()


def run(problem: Problem, name: str, **parameters: Any) -> Any:
    return make("algorithm", {"name": name} | parameters).run(problem)


def searching(problem: Problem, limit: float = 0.0) -> Search:
    values = [np.ones(column.hierarchy.height + 1) for column in problem.table.quasi if column.hierarchy]
    return Search(Checker(problem), values, int(limit * problem.table.n + 1e-9))


def test_levels_that_fail_alone_are_pruned() -> None:
    notes = run(people(5), "rv-global").notes
    assert notes["pruned_levels"] == {"age": [0], "sex": [], "town": [0]}
    assert notes["strings"] == 3 * 2 * 2


@settings(max_examples=30)
@given(cases(), st.sampled_from([0.0, 0.1, 1.0]))
def test_no_string_that_passes_has_a_pruned_level(case: Case, limit: float) -> None:
    problem = case.problem()
    passing = [node.levels for node in every_node(problem) if node.allowed(limit)]
    search = searching(problem, limit)
    try:
        prune_levels(search)
    except InfeasibleError:
        assert not passing
        return
    for levels in passing:
        assert all(level in kept for level, kept in zip(levels, search.kept, strict=True))


@settings(max_examples=30)
@given(cases(K_AND_LIMIT, people=False))
def test_pre_pruning_keeps_what_has_k_records_alone(case: Case) -> None:
    """Spec 15.3, from single columns' counts."""
    search = searching(case.problem())
    k = case.problem().judge.k
    if case.table.n < k:
        with pytest.raises(InfeasibleError, match="No generalisation"):
            prune_levels(search)
        return
    prune_levels(search)
    for column, kept in zip(case.table.quasi, search.kept, strict=True):
        assert column.hierarchy is not None
        counts = [np.bincount(nodes, weights=column.frequencies) for nodes in column.hierarchy.ancestors]
        assert kept == [level for level, mine in enumerate(counts) if mine[mine > 0].min() >= k]


def halved(sizes: list[int], variant: str, good: Callable[[tuple[int, ...]], bool]) -> list[tuple[int, ...]]:
    """The strings a local loop tests on columns of so many levels, given which of them pass."""
    seen: list[tuple[int, ...]] = []

    def test(levels: tuple[int, ...]) -> bool:
        seen.append(levels)
        return good(levels)

    halve(SimpleNamespace(kept=[list(range(size)) for size in sizes]), variant, test)  # type: ignore[arg-type]
    return seen


def test_only_the_corrected_loop_reaches_the_most_specific_string() -> None:
    assert halved([4, 2, 3], "corrected", lambda levels: True) == [(2, 1, 1), (1, 0, 0), (0, 0, 0)]
    assert halved([4, 2, 3], "printed", lambda levels: True) == [(2, 1, 1), (1, 1, 1)]


def test_the_printed_loop_goes_back_to_what_passed() -> None:
    seen = halved([6, 6], "printed", lambda levels: levels >= (2, 2))
    assert seen == [(3, 3), (2, 2), (1, 1), (2, 2)]


def test_a_column_out_of_moves_stays_where_it_last_passed() -> None:
    assert halved([8, 2], "corrected", lambda levels: levels[1] == 1) == [(4, 1), (2, 0), (3, 1)]


@given(st.lists(st.integers(1, 9), min_size=1, max_size=4), st.integers(0, 2**9), st.sampled_from(VARIANTS))
def test_local_makes_a_logarithm_of_tests(sizes: list[int], answers: int, variant: str) -> None:
    verdicts = iter(bool(answers >> place & 1) for place in range(99))
    seen = halved(sizes, variant, lambda levels: next(verdicts))
    assert len(seen) <= math.ceil(math.log2(max(sizes))) + 1
    if not answers:
        assert seen[-1] == tuple(size - 1 for size in sizes)


def test_hybrid_makes_no_more_tests_than_both_parts() -> None:
    problem = people(3)
    tests = {name: run(problem, name).notes["tests"] for name in ("rv-global", "rv-local", "rv-hybrid")}
    assert tests["rv-hybrid"] <= tests["rv-global"] + tests["rv-local"]


@given(st.lists(st.integers(1, 6), min_size=1, max_size=8), st.integers(6, 60))
def test_blocks_stay_within_the_budget_in_column_order(sizes: list[int], most: int) -> None:
    blocks = split(SimpleNamespace(kept=[list(range(size)) for size in sizes]), most)  # type: ignore[arg-type]
    assert [a for block in blocks for a in block] == list(range(len(sizes)))
    counts = [math.prod(sizes[a] for a in block) for block in blocks]
    assert max(counts) <= most
    # Greedy: the first column of a block would not have fitted into the one before.
    assert all(count * sizes[block[0]] > most for count, block in zip(counts, blocks[1:], strict=False))


def test_distributed_takes_lattices_that_cannot_be_listed() -> None:
    rng = np.random.default_rng(5)
    names = [f"q{a}" for a in range(14)]
    shares = [0.5, 0.3, 0.1, 0.05, 0.03, 0.02]
    frame = pl.DataFrame({name: [f"v{x}" for x in rng.choice(6, 400, p=shares)] for name in names})
    trees = {name: [[f"v{x}", f"g{x // 2}", f"h{x // 4}", "*"] for x in range(6)] for name in names}
    table = read(frame, quasi=names, hierarchies=trees, weights={name: 1.0 + a for a, name in enumerate(names)})
    problem = Case(table, [{"name": "k", "k": 20}]).problem()
    with pytest.raises(ParameterError, match="strings, and rv-global lists at most 1000 .*rv-distributed"):
        run(problem, "rv-global", max_strings=1000)
    found = run(problem, "rv-distributed", max_strings=500)
    best = run(problem, "optimal", measure="rv")
    assert best.notes["proven"]
    assert dict(found.levels) == dict(best.levels)


def test_a_column_that_exceeds_the_budget_alone() -> None:
    with pytest.raises(ParameterError, match="'age' alone has 4 levels, and 'max_strings' is 3"):
        run(people(2), "rv-distributed", max_strings=3)


def test_a_table_smaller_than_k() -> None:
    problem = people(61)
    for name in ("rv-global", "rv-local", "rv-hybrid", "rv-distributed"):
        with pytest.raises(InfeasibleError, match="'k' reaches 60, and its limit is 61"):
            run(problem, name)


@pytest.mark.parametrize("name", ["rv-global", "rv-local", "rv-hybrid", "rv-distributed", "optimal"])
@pytest.mark.parametrize("ages, level", [([1, 1, 2, 2], 0), ([1, 2, 3, 4], 1)])
def test_a_column_without_a_hierarchy_has_two_levels(name: str, ages: list[int], level: int) -> None:
    table = read(pl.DataFrame({"age": ages, "town": list("aaaa")}), quasi=["age", "town"])
    more = {"measure": "rv"} if name == "optimal" else {}
    found = run(Case(table, [{"name": "k", "k": 2}]).problem(), name, **more)
    assert dict(found.levels) == {"age": level, "town": 0}


def test_rules_and_weights_decide_between_columns() -> None:
    """Two columns of which only one can be published as it is."""
    frame = pl.DataFrame({"a": list("xxyy"), "b": list("uvuv")})
    trees = {"a": [["x", "*"], ["y", "*"]], "b": [["u", "*"], ["v", "*"]]}
    for weights, kept in (({"a": 2.0}, "a"), ({"b": 2.0}, "b")):
        table = read(frame, quasi=["a", "b"], hierarchies=trees, weights=weights)
        levels = run(Case(table, [{"name": "k", "k": 2}]).problem(), "rv-global").levels
        assert [name for name, level in levels.items() if level == 0] == [kept]
    by_hand = {"a": [0.2, 0.0], "b": [0.3, 0.0]}
    levels = run(Case(table, [{"name": "k", "k": 2}]).problem(), "rv-global", rv=by_hand).levels
    assert dict(levels) == {"a": 1, "b": 0}


def test_the_expert_sees_ties_with_fewer_columns_at_their_root_first() -> None:
    frame = pl.DataFrame({"a": list("xxyy"), "b": list("uvuv")})
    trees = {
        "a": [["x", "*"], ["y", "*"]],
        "b": [["u", "low", "*"], ["v", "low", "*"], ["w", "high", "*"]],
    }
    table = read(frame, quasi=["a", "b"], hierarchies=trees)
    problem = Case(table, [{"name": "k", "k": 2}]).problem()
    rv = {"a": [0.5, 0.0], "b": [0.5, 0.0, 0.0]}
    found = run(problem, "rv-global", rv=rv)
    assert dict(found.levels) == {"a": 0, "b": 1}
    first = found.notes["ranked"][0]
    assert (first["rv"], first["roots"], first["suppressed"]) == (0.5, 0, 0)
    assert found.notes["values"] == {"a": [0.5, 0.0], "b": [0.5, 0.0, 0.0]}


@pytest.mark.parametrize("name", ["rv-global", "rv-hybrid", "rv-distributed"])
def test_sums_that_differ_by_rounding_are_ties(name: str) -> None:
    """0.7 + 0.1 is a little less than 0.8 for a computer; it has fewer columns at their root."""
    frame = pl.DataFrame({"a": list("xxyy"), "b": list("xxyy"), "c": list("xyxy")})
    table = read(frame, quasi=["a", "b", "c"], hierarchies={one: [["x", "*"], ["y", "*"]] for one in "abc"})
    rv = {"a": [0.7, 0.0], "b": [0.1, 0.0], "c": [0.8, 0.0]}
    found = run(Case(table, [{"name": "k", "k": 2}]).problem(), name, rv=rv)
    assert dict(found.levels) == {"a": 0, "b": 0, "c": 1}
