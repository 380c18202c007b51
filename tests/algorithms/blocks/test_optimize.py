"""k-Optimize against every recoding there is."""

from __future__ import annotations

from typing import Any

import pytest

import shoal
from shoal.algorithms.blocks.optimize import KOptimize
from shoal.errors import InfeasibleError, ParameterError
from tests.algorithms.blocks.plain import as_partitions, judged, people, problem_of, recodings
from tests.engines.plain import PlainEngine

MODELS: dict[int, list[dict[str, Any]]] = {1: [], 2: [{"name": "distinct-l", "l": 2}]}


@pytest.mark.parametrize("tree", [False, True], ids=["runs", "nodes"])
@pytest.mark.parametrize("measure", ["dm", "cm", "lm"])
@pytest.mark.parametrize("seed", range(8))
def test_it_finds_the_best_of_all_recodings(seed: int, measure: str, tree: bool) -> None:
    frame, table = people(seed, tree=tree)
    k, distinct, limit = 2 + seed % 3, 1 + seed % 2, [0.0, 0.2, 1.0][seed % 3]
    every = [judged(frame, cut, k, distinct, tree=tree) for cut in recodings(frame, tree=tree)]
    allowed = [one for one in every if one["lost"] <= min(limit * frame.height + 1e-9, frame.height - 1)]
    method = KOptimize(measure=measure, suppression_limit=limit)
    problem = problem_of(table, [{"name": "k", "k": k}, *MODELS[distinct]])
    if not allowed:
        with pytest.raises(InfeasibleError):
            method.run(problem)
        return
    found = method.run(problem)
    mine = judged(frame, as_partitions(table, found.blocks), k, distinct, tree=tree)
    assert mine["lost"] == found.notes["suppressed"]
    assert mine[measure] == pytest.approx(found.notes["figure"])
    assert mine[measure] == pytest.approx(min(one[measure] for one in allowed))
    assert (found.notes["proven"], found.notes["gap"]) == (True, 0.0)
    # Nothing that costs as little has narrower cells for nothing: no further cut is free.
    again = method.run(problem_of(table, [{"name": "k", "k": k}, *MODELS[distinct]], PlainEngine()))
    assert all((again.blocks[name] == of).all() for name, of in found.blocks.items())


def test_it_prunes() -> None:
    frame, table = people(3, tree=False)
    found = KOptimize(suppression_limit=1.0).run(problem_of(table, [{"name": "k", "k": 3}]))
    assert found.notes["nodes"] < len(list(recodings(frame, tree=False)))


def test_when_time_is_up_the_gap_is_true() -> None:
    frame, table = people(5, tree=False)
    cut = KOptimize(seconds=1e-9).run(problem_of(table, [{"name": "k", "k": 2}]))
    best = KOptimize().run(problem_of(table, [{"name": "k", "k": 2}]))
    assert not cut.notes["proven"]
    assert cut.notes["figure"] * (1 - cut.notes["gap"]) <= best.notes["figure"] + 1e-9
    assert judged(frame, as_partitions(table, cut.blocks), 2, 1, tree=False)["dm"] == cut.notes["figure"]


def test_a_release_has_its_figure() -> None:
    _, table = people(4, tree=True)
    made = shoal.anonymize(
        table, algorithm=shoal.KOptimize(k=3, suppression_limit=0.5), acknowledge=["W-UNMODELLED:s"], seed=1
    )
    assert made.measure("dm").value == pytest.approx(made.evidence["search"]["figure"])
    assert made.evidence["search"]["proven"]


def test_a_target_is_for_classification() -> None:
    with pytest.raises(ParameterError, match="The target of KOptimize is for the measure 'cm': leave it out"):
        KOptimize(target="s")
    _, table = people(1, tree=False)
    with pytest.raises(ParameterError, match="The target 'x' is no sensitive attribute: choose one of s"):
        KOptimize(measure="cm", target="x").run(problem_of(table, [{"name": "k", "k": 2}]))
