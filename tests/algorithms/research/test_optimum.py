"""The three exact methods find what trying every string finds; the local one never finds better."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.algorithms.base import Problem
from shoal.algorithms.lattice.optimal import Optimal
from shoal.errors import InfeasibleError
from shoal.recipe.source import read
from shoal.recoding.recodings import FullDomain
from tests.algorithms.lattice import lattices
from tests.algorithms.research.strings import Valued, valued

EXACT: list[dict[str, Any]] = [
    {"name": "rv-global"},
    {"name": "rv-hybrid"},
    {"name": "rv-global", "top": 1},
    {"name": "rv-hybrid", "variant": "printed", "top": 3},
    {"name": "rv-distributed", "top": 3},
    {"name": "rv-distributed", "max_strings": 4},
    {"name": "rv-distributed", "max_strings": 9, "top": 1},
]
# Out of time before they begin: they still release something, and say how far it may be from the best.
HURRIED: list[dict[str, Any]] = [
    {"name": name, "seconds": 1e-9, "top": top}
    for name in ("rv-global", "rv-hybrid", "rv-distributed")
    for top in (1, 10)
]
K_ONLY = [[{"name": "k", "k": k}] for k in (2, 3, 4)]


def assert_optimum(drawn: Valued) -> None:
    problem = drawn.case.problem()
    ranked = drawn.ranked(problem)
    for method in EXACT:
        if not ranked:
            with pytest.raises(InfeasibleError, match="No generalisation satisfies"):
                drawn.run(problem, **method)
            continue
        found = drawn.run(problem, **method)
        assert tuple(found.levels.values()) == ranked[0][2], method
        assert_noted(found, ranked)
        top = [levels for _, _, levels, _ in ranked[: method.get("top", 10)]]
        assert [tuple(one["levels"].values()) for one in found.notes["ranked"]] == top, method
        assert (found.notes["proven"], found.notes["gap"], found.notes["complete"]) == (True, 0.0, True)
    for method in HURRIED if ranked else ():
        found = drawn.run(problem, **method)
        assert_noted(found, ranked)
        assert found.notes["ranked"][0]["rv"] + found.notes["gap"] >= ranked[0][0] - 1e-9
        assert found.notes["proven"] == (found.notes["gap"] == 0.0)
        if found.notes["complete"]:
            listed = [tuple(one["levels"].values()) for one in found.notes["ranked"]]
            assert listed == [levels for _, _, levels, _ in ranked[: method["top"]]]
    for variant in ("corrected", "printed"):
        assert_no_better(drawn, problem, variant, ranked)


def assert_noted(found: FullDomain, ranked: list[Any]) -> None:
    """The list of successes is right in every entry, best first, with what is released on top."""
    expected = {levels: (rv, roots, node.suppressed) for rv, roots, levels, node in ranked}
    listed = [
        (tuple(one["levels"].values()), (one["rv"], one["roots"], one["suppressed"])) for one in found.notes["ranked"]
    ]
    assert listed[0][0] == tuple(found.levels.values())
    assert len(listed) == min(found.notes["successes"], 10 if len(listed) > 3 else len(listed)) == len(dict(listed))
    assert [levels for _, _, levels, _ in ranked if levels in dict(listed)] == [levels for levels, _ in listed]
    for levels, (rv, *others) in listed:
        assert rv == pytest.approx(expected[levels][0], abs=1e-9)
        assert others == list(expected[levels][1:])


def assert_no_better(drawn: Valued, problem: Problem, variant: str, ranked: list[Any]) -> None:
    try:
        found = drawn.run(problem, "rv-local", variant=variant)
    except InfeasibleError:
        # Both loops end at the most general string if nothing else passes.
        top = tuple(column.hierarchy.height for column in problem.table.quasi if column.hierarchy)
        assert all(levels != top for _, _, levels, _ in ranked)
        return
    assert found.notes["ranked"][0]["rv"] <= ranked[0][0] + 1e-9
    assert found.notes["ranked"][0]["rv"] + found.notes["gap"] >= ranked[0][0] - 1e-9
    assert_noted(found, ranked)


@settings(max_examples=30)
@given(valued())
def test_any_models_values_and_limits(drawn: Valued) -> None:
    """Monotone values and others, models that pruning is sound for and others, people and rows, unknown values."""
    assert_optimum(drawn)


@settings(max_examples=30)
@given(valued(K_ONLY, people=False))
def test_k_anonymity_as_in_the_paper(drawn: Valued) -> None:
    assert_optimum(drawn)


@settings(max_examples=20)
@given(lattices.cases(), st.sampled_from(lattices.LIMITS))
def test_optimal_agrees_on_the_default_value(case: lattices.Case, limit: float) -> None:
    problem = case.problem()
    drawn = Valued(case, limit, {})
    if not drawn.ranked(problem):
        return
    best = drawn.run(problem, "rv-global").notes["ranked"][0]["rv"]
    chosen = Optimal(measure="rv", suppression_limit=limit).run(problem)
    assert chosen.notes["proven"]
    values = drawn.level_values()
    rv = sum(float(mine[level]) for mine, level in zip(values, chosen.levels.values(), strict=True))
    assert rv == pytest.approx(best, abs=1e-9)


def test_success_pruning_within_blocks_would_lose_the_optimum() -> None:
    """Two columns that are fine alone and not together: each block's best is no use, its root is."""
    frame = pl.DataFrame({"a": list("xxyy"), "b": list("uvuv")})
    trees = {"a": [["x", "*"], ["y", "*"]], "b": [["u", "*"], ["v", "*"]]}
    table = read(frame, quasi=["a", "b"], hierarchies=trees, weights={"a": 2.0})
    drawn = Valued(lattices.Case(table, [{"name": "k", "k": 2}]), 0.0, {})
    found = drawn.run(drawn.case.problem(), "rv-distributed", max_strings=2)
    assert dict(found.levels) == {"a": 0, "b": 1}
    assert found.notes["ranked"][0]["rv"] == pytest.approx(2 / 3)
