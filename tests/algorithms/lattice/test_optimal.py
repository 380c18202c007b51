"""`optimal` against every node of the lattice, one after another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import shoal
from shoal.algorithms.lattice import best_node as sweep
from shoal.algorithms.lattice.best_node import Found, best_node
from shoal.algorithms.lattice.checker import Checker
from shoal.algorithms.lattice.objective import Objective
from shoal.algorithms.lattice.optimal import MEASURES, Optimal
from shoal.errors import InfeasibleError, ParameterError
from tests.algorithms.lattice import lattices
from tests.algorithms.lattice.lattices import LIMITS, Case, Node, best, cases, every_node

MEASURE, LIMIT = st.sampled_from(MEASURES), st.sampled_from(LIMITS)
ACCEPT = ["W-NO-K", "W-UNMODELLED:s", "W-UNMODELLED:x"]


def search(checker: Checker, measure: str, limit: float, seconds: float | None = None) -> Found:
    domain = checker.problem.domain
    objective = Objective(measure, domain, checker.problem.judge.k)
    allowed = int(limit * domain.n + 1e-9)
    return best_node(checker, objective, allowed, seconds=seconds, progress=lambda step: None)


def assert_optimum(found: Found, expected: Node | None) -> None:
    assert (found.proven, found.gap) == (True, 0.0)
    if expected is None:
        assert found.best is None
        return
    assert found.best is not None
    assert (found.best.levels, found.best.suppressed) == (expected.levels, expected.suppressed)


@settings(max_examples=20)
@given(cases())
def test_optimal_equals_exhaustive_enumeration(case: Case) -> None:
    """Every measure and suppression limit, on one random lattice and set of models after another."""
    problem = case.problem()
    checker, nodes = Checker(problem), every_node(problem)
    for measure in MEASURES:
        for limit in LIMITS:
            found = search(checker, measure, limit)
            assert_optimum(found, best(nodes, measure, limit))
            assert found.checked + sum(found.pruned.values()) == found.nodes == len(nodes)


@settings(max_examples=20)
@given(cases())
def test_a_large_lattice_is_explored_to_the_same_end(case: Case) -> None:
    """Best first, as lattices too large to list are searched."""
    problem = case.problem()
    checker, nodes = Checker(problem), every_node(problem)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweep, "SWEEP_LIMIT", 0)
        for measure in MEASURES:
            for limit in LIMITS:
                assert_optimum(search(checker, measure, limit), best(nodes, measure, limit))


@settings(max_examples=20)
@given(cases(), st.booleans())
def test_out_of_time_the_gap_is_true(case: Case, listed: bool) -> None:
    """What is found is allowed, and no node is better by more than the gap."""
    problem = case.problem()
    checker, nodes = Checker(problem), every_node(problem)
    at = {node.levels: node for node in nodes}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweep, "SWEEP_LIMIT", sweep.SWEEP_LIMIT if listed else 0)
        for measure in MEASURES:
            for limit in LIMITS:
                found, expected = search(checker, measure, limit, seconds=1e-9), best(nodes, measure, limit)
                assert (found.best is None) == (expected is None)
                if found.best is None or expected is None:
                    continue
                reached = at[found.best.levels]
                assert reached.allowed(limit)
                assert found.gap >= 0.0
                behind = reached.cost(measure) - expected.cost(measure)
                assert behind <= found.gap + 1e-9 * max(1.0, abs(expected.cost(measure)))
                if found.proven:
                    assert behind == pytest.approx(0.0, abs=1e-9)


@settings(max_examples=20)
@given(cases())
def test_a_node_is_counted_and_priced_as_its_release_is(case: Case) -> None:
    problem = case.problem()
    checker, nodes = Checker(problem), every_node(problem)
    objectives = {name: Objective(name, case.table.domain, problem.judge.k) for name in MEASURES}
    for node in nodes:
        levels = np.array(node.levels)
        check = checker.check(levels)
        assert (check.suppressed, check.classes) == (node.suppressed, node.released.n_classes)
        assert 0 <= check.inherited <= check.suppressed
        if not node.released.n_classes:
            continue
        for name, objective in objectives.items():
            expected = node.cost(name) * (-1.0 if name in ("precision", "rv") else 1.0)
            assert objective.figure(objective.cost(levels, check, checker)) == pytest.approx(expected, abs=1e-9)


@settings(max_examples=20)
@given(cases())
def test_inherited_rows_are_lost_at_every_finer_node(case: Case) -> None:
    problem = case.problem()
    checker = Checker(problem)
    lattice = checker.lattice
    levels = lattice.decode(np.arange(lattice.size))
    checks = [checker.check(one) for one in levels]
    for one, check in zip(levels, checks, strict=True):
        below = np.flatnonzero((levels <= one).all(axis=1))
        assert all(checks[i].suppressed >= check.inherited for i in below)


@settings(max_examples=20)
@given(cases(), MEASURE, LIMIT)
def test_the_release_is_that_of_the_node(case: Case, measure: str, limit: float) -> None:
    """Through the whole pipeline: nothing is suppressed that the search did not know of."""
    expected = best(every_node(case.problem()), measure, limit)
    algorithm = Optimal(measure=measure, suppression_limit=limit)
    try:
        release = shoal.anonymize(case.table, algorithm=algorithm, models=case.models, seed=1, acknowledge=ACCEPT)
    except InfeasibleError:
        assert expected is None
        return
    assert expected is not None
    notes = release.evidence["search"]
    assert (tuple(notes["levels"]), notes["proven"]) == (expected.levels, True)
    assert release.released.n_suppressed == expected.suppressed


@settings(max_examples=20)
@given(cases(lattices.UP, unknown=False, people=False), st.sampled_from(["arx-loss", "lm", "dm"]))
def test_repeating_is_never_worse_than_one_node(case: Case, measure: str) -> None:
    single = best(every_node(case.problem()), measure, 0.0)
    assume(single is not None)
    assert single is not None
    algorithm = Optimal(measure=measure, repeat=True)
    release = shoal.anonymize(case.table, algorithm=algorithm, models=case.models, seed=1, acknowledge=ACCEPT)
    assert release.evidence["counts"]["suppressed"] == 0
    value = release.measure(measure).value
    assert value is not None
    assert value <= single.cost(measure) + 1e-9


@settings(max_examples=20)
@given(cases(), LIMIT)
def test_repeating_stays_within_the_limit(case: Case, limit: float) -> None:
    algorithm = Optimal(measure="lm", repeat=True, suppression_limit=limit)
    try:
        release = shoal.anonymize(case.table, algorithm=algorithm, models=case.models, seed=1, acknowledge=ACCEPT)
    except InfeasibleError:
        return
    assert release.evidence["counts"]["suppressed"] <= limit * case.table.n + 1e-9


def test_a_node_chosen_by_hand_is_released(shop: Any) -> None:
    problem = shop([{"name": "k", "k": 2}])
    recoding = Optimal(node=[3, 0, 2]).run(problem)
    assert dict(recoding.levels) == {"age": 3, "sex": 0, "town": 2}
    assert (recoding.notes["chosen"], recoding.notes["suppressed"]) == (True, 0)


@pytest.mark.parametrize(
    "node, message",
    [
        ([3, 0], "The 'node' of Optimal must have 3 levels, one a quasi-identifier"),
        ([3, 2, 0], "The 'node' of Optimal gives 'sex' level 2; it has 0 to 1"),
        ([3, -1, 0], "The 'node' of Optimal must be a whole number of at least 0"),
    ],
)
def test_levels_out_of_range_are_named(node: list[int], message: str, shop: Any) -> None:
    with pytest.raises(ParameterError, match=message):
        Optimal(node=node).run(shop([{"name": "k", "k": 2}]))


METHODS = ["samarati", "incognito", "top-down-subtree", *(Optimal(measure=one) for one in MEASURES)]


@pytest.mark.parametrize("method", METHODS, ids=lambda one: one if isinstance(one, str) else one.measure)
def test_a_column_without_a_hierarchy_is_as_one_of_two_levels(method: Any) -> None:
    frame = shoal.example_census(60).select("sex", "region", "age").drop_nulls()
    found = []
    for columns in ([], ["sex", "region", "age"]):
        trees = {name: [[str(value), "*"] for value in frame[name].unique().sort()] for name in columns}
        table = shoal.read(frame, quasi=["sex", "region", "age"], hierarchies=trees)
        release = shoal.anonymize(table, algorithm=method, models=[shoal.KAnonymity(k=3)], seed=1)
        assert release.verdict[0].holds
        found.append(release)
    flat, tree = ([row["age"] for row in one.frame.to_dicts()] for one in found)
    assert set(flat) == set(tree) == {"*"}  # most ages are one person's
    assert sorted(found[0].frame["sex"]) == sorted(found[1].frame["sex"])
    assert set(found[0].frame["sex"]) != {"*"}


@pytest.mark.parametrize("name", ["optimal", "samarati", "incognito", "top-down-subtree"])
def test_infeasible_models_are_named_with_what_would_do(name: str, shop: Any) -> None:
    table = shop([]).table
    models = [shoal.KAnonymity(k=2), shoal.EntropyL(l=4, on="s")]
    message = "Model 'entropy-l' on 's' cannot be met.*set it to at most 2.9"
    with pytest.raises(InfeasibleError, match=message) as caught:
        shoal.anonymize(table, algorithm=name, models=models, acknowledge=ACCEPT)
    assert caught.value.exit_code == 3


def test_infeasible_with_suppression_names_the_top_node(shop: Any) -> None:
    table = shop([]).table
    models = [shoal.KAnonymity(k=2), shoal.EntropyL(l=2.99, on="s")]
    with pytest.raises(
        InfeasibleError, match="at most 4 of 8 rows suppressed .*'entropy-l' on 's' reaches 2.9.*limit is 2.99.*relax"
    ):
        shoal.anonymize(table, algorithm=Optimal(suppression_limit=0.5), models=models, acknowledge=ACCEPT)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"measure": "cm"}, "The 'measure' of Optimal must be one of lm, ncp"),
        ({"seconds": 0}, "The 'seconds' of Optimal must be a number above 0"),
        ({"node": [1], "repeat": True}, "a 'node' or 'repeat', not both"),
        ({"measure": "height", "repeat": True}, "gives no one level a column for 'height' to measure"),
    ],
)
def test_parameters_are_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Optimal(**options)
