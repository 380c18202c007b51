"""`optimal` against every node of the lattice, one after another."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.algorithms.lattice import sweep
from shoal.algorithms.lattice.checker import Checker
from shoal.algorithms.lattice.objective import Objective
from shoal.algorithms.lattice.optimal import MEASURES
from shoal.algorithms.lattice.sweep import Found, best_node
from tests.algorithms.lattice.lattices import LIMITS, MODELS, Case, Node, best, cases, every_node


def search(checker: Checker, measure: str, limit: float, seconds: float | None = None) -> Found:
    table = checker.table
    objective = Objective(measure, table, checker.problem.judge.k)
    allowed = int(limit * table.n + 1e-9)
    return best_node(checker, objective, allowed, seconds=seconds, progress=lambda step: None)


def assert_optimum(found: Found, expected: Node | None) -> None:
    assert found.proven
    assert found.gap == 0.0
    if expected is None:
        assert found.best is None
        return
    assert found.best is not None
    assert (found.best.levels, found.best.suppressed) == (expected.levels, expected.suppressed)


@settings(max_examples=200)
@given(cases())
def test_optimal_equals_exhaustive_enumeration(case: Case) -> None:
    """Every measure and suppression limit, on one random lattice and set of models after another."""
    problem = case.problem()
    checker, nodes = Checker(problem), every_node(problem)
    for measure in MEASURES:
        for limit in LIMITS:
            assert_optimum(search(checker, measure, limit), best(nodes, measure, limit))
