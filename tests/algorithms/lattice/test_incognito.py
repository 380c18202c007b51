"""`incognito` finds exactly the nodes that trying them all finds."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.algorithms.lattice.checker import Checker
from shoal.algorithms.lattice.incognito import Incognito, satisfying
from shoal.algorithms.lattice.optimal import MEASURES
from shoal.algorithms.lattice.verdicts import suppression_is_monotone
from shoal.errors import InfeasibleError, ParameterError
from tests.algorithms.lattice import lattices
from tests.algorithms.lattice.lattices import Case, best, cases, every_node, minimal

LIMIT, MEASURE = st.sampled_from(lattices.LIMITS), st.sampled_from(MEASURES)


def assert_brute_force(case: Case, limit: float, measure: str) -> None:
    problem = case.problem()
    nodes = every_node(problem)
    good = [node.levels for node in nodes if node.allowed(limit)]
    checker = Checker(problem)
    found = satisfying(checker, int(limit * case.table.n + 1e-9))
    assert [tuple(levels) for levels in checker.lattice.decode(found.nodes).tolist()] == good
    algorithm = Incognito(measure=measure, suppression_limit=limit)
    if not good:
        with pytest.raises(InfeasibleError, match="No generalisation satisfies"):
            algorithm.run(problem)
        return
    recoding = algorithm.run(problem)
    chosen = best(nodes, measure, limit)
    assert chosen is not None
    assert (tuple(recoding.levels.values()), recoding.notes["suppressed"]) == (chosen.levels, chosen.suppressed)
    assert recoding.notes["satisfying"] == len(good)
    suppressed = {node.levels: node.suppressed for node in nodes}
    listed = [(tuple(one["levels"]), one["suppressed"]) for one in recoding.notes["minimal"]]
    assert listed == [(levels, suppressed[levels]) for levels in minimal(good)]


@settings(max_examples=20)
@given(cases(lattices.UP, unknown=False, people=False), MEASURE)
def test_its_set_is_that_of_brute_force(case: Case, measure: str) -> None:
    assert_brute_force(case, 0.0, measure)


@settings(max_examples=20)
@given(cases(lattices.INHERITED, unknown=False, people=False), LIMIT, MEASURE)
def test_its_set_is_that_of_brute_force_with_suppression(case: Case, limit: float, measure: str) -> None:
    assert_brute_force(case, limit, measure)


@settings(max_examples=25)
@given(cases(), LIMIT)
def test_whatever_would_prune_unsoundly_is_refused(case: Case, limit: float) -> None:
    problem = case.problem()
    if suppression_is_monotone(problem.judge, int(limit * case.table.n + 1e-9)):
        assert_brute_force(case, limit, "lm")
        return
    with pytest.raises(ParameterError, match="Incognito cannot rule out nodes by the model .*use 'optimal'"):
        Incognito(suppression_limit=limit).run(problem)


def test_fewer_nodes_are_checked_than_there_are(shop: Any) -> None:
    recoding = Incognito().run(shop([{"name": "k", "k": 2}]))
    checked = recoding.notes["checked"]
    assert sorted(checked) == [1, 2, 3]
    assert checked[3] < recoding.notes["nodes"]
