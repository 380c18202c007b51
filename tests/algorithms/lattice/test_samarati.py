"""`samarati` finds the smallest height, and the node there that was asked for."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.algorithms.lattice.optimal import MEASURES
from shoal.algorithms.lattice.samarati import Samarati
from shoal.algorithms.lattice.verdicts import suppression_is_monotone
from shoal.errors import InfeasibleError, ParameterError
from shoal.registry import make
from tests.algorithms.lattice import lattices
from tests.algorithms.lattice.lattices import Case, best, cases, every_node, minimal

LIMIT = st.sampled_from(lattices.LIMITS)
PREFER = st.sampled_from(["first", "min-suppression", *MEASURES])


def assert_lowest(case: Case, limit: float, prefer: str) -> None:
    problem = case.problem()
    nodes = every_node(problem)
    good = [node for node in nodes if node.allowed(limit)]
    algorithm = Samarati(prefer=prefer, all_minimal=True, suppression_limit=limit)
    if not good:
        with pytest.raises(InfeasibleError, match="No generalisation satisfies"):
            algorithm.run(problem)
        return
    recoding = algorithm.run(problem)
    height = min(sum(node.levels) for node in good)
    assert sum(recoding.levels.values()) == recoding.notes["height"] == height
    level = [node for node in good if sum(node.levels) == height]
    chosen = level[0] if prefer == "first" else best(level, prefer if prefer in MEASURES else "height", limit)
    assert chosen is not None
    assert (tuple(recoding.levels.values()), recoding.notes["suppressed"]) == (chosen.levels, chosen.suppressed)
    suppressed = {node.levels: node.suppressed for node in nodes}
    listed = [(tuple(one["levels"]), one["suppressed"]) for one in recoding.notes["minimal"]]
    assert listed == [(levels, suppressed[levels]) for levels in minimal([node.levels for node in good])]


@settings(max_examples=20)
@given(cases(lattices.INHERITED, unknown=False, people=False), LIMIT, PREFER)
def test_its_height_is_the_minimum(case: Case, limit: float, prefer: str) -> None:
    assert_lowest(case, limit, prefer)


@settings(max_examples=20)
@given(cases(lattices.UP, unknown=False, people=False), PREFER)
def test_its_height_is_the_minimum_without_suppression(case: Case, prefer: str) -> None:
    assert_lowest(case, 0.0, prefer)


@settings(max_examples=20)
@given(cases(), LIMIT)
def test_whatever_would_prune_unsoundly_is_refused(case: Case, limit: float) -> None:
    problem = case.problem()
    if suppression_is_monotone(problem.judge, int(limit * case.table.n + 1e-9)):
        assert_lowest(case, limit, "first")
        return
    with pytest.raises(ParameterError, match="Samarati cannot rule out nodes by the model .*use 'optimal'"):
        Samarati(suppression_limit=limit).run(problem)


REFUSED: list[tuple[dict[str, Any], float, str]] = [
    ({"name": "eps-m", "eps": 1, "m": 2, "on": "x"}, 0.0, "'eps-m', because merging two classes .*: use 'optimal'"),
    ({"name": "entropy-l", "l": 1.5, "on": "s"}, 0.2, "'entropy-l', because with suppression.*: set suppression_limit"),
    ({"name": "t-closeness", "t": 0.4, "on": "s"}, 0.2, "'t-closeness', because with suppression"),
]


@pytest.mark.parametrize("model, limit, message", REFUSED)
@pytest.mark.parametrize("name", ["samarati", "incognito"])
def test_models_that_prune_unsoundly_are_refused(
    name: str, model: dict[str, Any], limit: float, message: str, shop: Any
) -> None:
    with pytest.raises(ParameterError, match=message):
        make("algorithm", {"name": name, "suppression_limit": limit}).run(shop([model]))


@pytest.mark.parametrize(
    "options, why",
    [
        ({"unknown": True}, "a class without any known value"),
        ({"people": True}, "a person with rows in two classes counts once"),
    ],
)
def test_counts_that_do_not_add_up_are_refused(options: dict[str, bool], why: str, shop: Any) -> None:
    problem = shop([{"name": "entropy-l", "l": 1.5, "on": "s"}], **options)
    with pytest.raises(ParameterError, match=f"Samarati .*'entropy-l', because {why}.*: use 'optimal'"):
        Samarati().run(problem)


def test_suppressing_everything_is_no_release(shop: Any) -> None:
    """With a limit of 1 the bottom node suppresses all rows; the lowest node that releases any is taken."""
    problem = shop([{"name": "k", "k": 3}])
    recoding = Samarati(suppression_limit=1.0).run(problem)
    assert recoding.notes["suppressed"] < problem.table.n
    with pytest.raises(InfeasibleError, match="model 'k' reaches 8, and its limit is 9"):
        Samarati(suppression_limit=1.0).run(shop([{"name": "k", "k": 9}]))


def test_a_preference_that_is_none_is_refused() -> None:
    with pytest.raises(ParameterError, match="The 'prefer' of Samarati must be one of first, min-suppression, lm"):
        Samarati(prefer="last")
