"""`top-down-subtree` against the plainest reading of its definition."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.algorithms.base import Problem
from shoal.algorithms.subtree import MEASURES, Cut, TopDownSubtree
from shoal.data.classes import RowIds
from shoal.engines.memory import MemoryRows
from shoal.errors import InfeasibleError, ParameterError
from shoal.recoding.recoded import Released, apply_recoding
from shoal.recoding.recodings import Subtree
from shoal.registry import load
from tests.algorithms.lattice.lattices import ENGINE, LIMITS, UP, Case, cases

Nodes = dict[str, np.ndarray]


def release(problem: Problem, nodes: Nodes) -> tuple[Released, Released]:
    """The classes of a cut, and what is left of them when failing ones are suppressed."""
    released = apply_recoding(MemoryRows(problem.table), Subtree(nodes=nodes))
    stats = ENGINE.open(problem.table).stats(RowIds(released.classes, released.n_classes), problem.judge.attributes)
    return released, released.suppress(~problem.judge.ok(replace(stats, spreads=released.spreads)))


def loss(released: Released, measure: str) -> float:
    """A measure as a share of what suppressing everything costs."""
    everything = released.suppress(np.ones(released.n_classes, dtype=bool))
    scores = [load("measure", measure)().score(one.price_stats()).value for one in (released, everything)]
    assert None not in scores
    return scores[0] / scores[1] if scores[1] else 0.0  # type: ignore[operator]


def steps(problem: Problem, nodes: Nodes) -> list[Nodes]:
    """Every cut that is one specialisation away, of nodes that have records and more than one child."""
    found = []
    for column in problem.table.quasi:
        tree, mine = column.hierarchy, nodes[column.name]
        assert tree is not None
        for node in np.unique(mine[column.frequencies > 0]).tolist():
            leaves = np.flatnonzero(mine == node)
            children = [level[leaves] for level in tree.ancestors if np.unique(level[leaves]).size > 1]
            if children:
                finer = mine.copy()
                # On the lowest level with the same leaves, as an extent's node is.
                for child in np.unique(children[-1]):
                    below = leaves[children[-1] == child]
                    level = tree.common_level(below[0], below[-1])
                    finer[below] = tree.node_id(int(level), below)
                found.append({**nodes, column.name: finer})
    return found


def score(problem: Problem, measure: str, nodes: Nodes, finer: Nodes) -> tuple[float, int, float]:
    """Gain for each class added, rows suppressed, gain."""
    (coarse, kept), (fine, left) = release(problem, nodes), release(problem, finer)
    gained = loss(kept, measure) - loss(left, measure)
    added = fine.n_classes - coarse.n_classes
    return gained / added if added else math.inf if gained > 1e-12 else 0.0, left.n_suppressed, gained


@settings(max_examples=20)
@given(cases(rows=25), st.sampled_from(LIMITS), st.sampled_from(MEASURES))
def test_every_step_is_the_best_and_the_last_cut_has_none(case: Case, limit: float, measure: str) -> None:
    problem = case.problem()
    allowed = min(int(limit * case.table.n + 1e-9), case.table.n - 1)
    cut = Cut(problem, measure, allowed)
    while True:
        nodes = cut.nodes()
        suppressed = release(problem, nodes)[1].n_suppressed
        assert cut.suppressed == suppressed
        found = [score(problem, measure, nodes, finer) for finer in steps(problem, nodes)]
        open_to = [one for one in found if one[1] <= max(allowed, suppressed) and one[2] > 1e-9]
        step = cut.best_step()
        if step is None:
            assert not open_to or (cut.monotone and suppressed > allowed)
            return
        cut.take(step)
        reached = score(problem, measure, nodes, cut.nodes())
        assert reached[1] <= max(allowed, suppressed)
        assert reached[2] > -1e-9
        best = max((one[0] for one in open_to), default=0.0)
        assert reached[0] == best or reached[0] >= best - 1e-7 * abs(best)


@settings(max_examples=25)
@given(cases(UP, unknown=False, people=False), st.sampled_from(MEASURES))
def test_models_hold_without_suppression_and_nothing_finer_does(case: Case, measure: str) -> None:
    problem = case.problem()
    try:
        recoding = TopDownSubtree(measure=measure).run(problem)
    except InfeasibleError:
        return
    nodes = dict(recoding.nodes)
    assert release(problem, nodes)[1].n_suppressed == recoding.notes["suppressed"] == 0
    assert all(release(problem, finer)[1].n_suppressed for finer in steps(problem, nodes))
    assert {name: np.unique(ids).size for name, ids in nodes.items()} == recoding.notes["labels"]


@settings(max_examples=20)
@given(cases(rows=30), st.sampled_from(LIMITS))
def test_releases_pass_the_gate(case: Case, limit: float) -> None:
    try:
        release = shoal.anonymize(
            case.table, algorithm=TopDownSubtree(suppression_limit=limit), models=case.models, seed=1,
            acknowledge=["W-NO-K", "W-UNMODELLED:s", "W-UNMODELLED:x"],
        )  # fmt: skip
    except InfeasibleError:
        return
    assert release.evidence["counts"]["suppressed"] <= limit * case.table.n + 1e-9
    assert release.evidence["search"]["judged"] > release.evidence["search"]["steps"]


TOWNS = [["Aby", "east", "*"], ["Eke", "east", "*"], ["Ry", "west", "*"], ["Vik", "west", "*"], ["Ön", "*"]]


def towns(hierarchies: dict[str, Any]) -> Problem:
    """Three in each town of the east, three in the west, three on the island."""
    frame = pl.DataFrame({"town": ["Aby"] * 3 + ["Eke"] * 3 + ["Ry"] + ["Vik"] * 2 + ["Ön"] * 3})
    return Case(shoal.read(frame, quasi=["town"], hierarchies=hierarchies), [{"name": "k", "k": 3}]).problem()


def test_only_what_is_rare_stays_coarse() -> None:
    problem = towns({"town": TOWNS})
    released = apply_recoding(MemoryRows(problem.table), TopDownSubtree().run(problem))
    assert sorted(released.cells["town"].texts()) == ["Aby", "Eke", "west", "Ön"]
    assert released.sizes.tolist() == [3, 3, 3, 3]
    # The island's only node stands on two levels; it counts as the leaf that it is.
    assert dict(zip(released.cells["town"].texts(), released.cells["town"].levels().tolist(), strict=True)) == {
        "Aby": 0, "Eke": 0, "west": 1, "Ön": 0,
    }  # fmt: skip


def test_a_column_without_a_hierarchy_stays_or_is_starred() -> None:
    problem = towns({})
    released = apply_recoding(MemoryRows(problem.table), TopDownSubtree().run(problem))
    assert released.cells["town"].texts().to_list() == ["*"]  # some towns have fewer people than k
    lone = Subtree(nodes={"town": np.where(np.arange(problem.table.quasi[0].card) > 0, 0, 1)})
    with pytest.raises(ParameterError, match="'town', which has no hierarchy, must all stay, or none"):
        apply_recoding(MemoryRows(problem.table), lone)


@pytest.mark.parametrize(
    "labels, message",
    [
        (["Aby", "east", "west", "west", "*"], "not above their values, or one is below another"),
        (["Aby", "Aby", "west", "west", "Ön"], "not above their values"),
        (["Aby", "Eke", "west", "west"], "needs a node for each value of 'town'"),
    ],
)
def test_a_cut_has_one_node_on_each_path(labels: list[str], message: str) -> None:
    table = towns({"town": TOWNS}).table
    tree = table.columns["town"].hierarchy
    assert tree is not None
    nodes = np.array([tree.node_labels.index(label) for label in labels])
    with pytest.raises(ParameterError, match=message):
        apply_recoding(MemoryRows(table), Subtree(nodes={"town": nodes}))


def test_only_some_measures_lead_it() -> None:
    with pytest.raises(ParameterError, match="The 'measure' of TopDownSubtree must be one of lm, ncp, entropy"):
        TopDownSubtree(measure="dm")
