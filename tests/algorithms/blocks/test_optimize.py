"""k-Optimize against every recoding there is."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import shoal
from shoal.algorithms.blocks.board import Board, cuts_of
from shoal.algorithms.blocks.k_optimize import KOptimize, Search
from shoal.errors import InfeasibleError, ParameterError
from tests.algorithms.blocks.plain import TREE, as_partitions, judged, people, problem_of, recodings
from tests.engines.plain import PlainEngine
from tests.table.random_tables import Case, cases

MODELS: dict[int, list[dict[str, Any]]] = {1: [], 2: [{"name": "distinct-l", "l": 2}]}


@pytest.mark.sample(16)
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


@settings(max_examples=20, deadline=None)
@given(
    case=cases(rows=(2, 12), quasi=(1, 2), sensitive=(1, 1)), k=st.integers(2, 3), limit=st.sampled_from([0.0, 0.3]),
    measure=st.sampled_from(["dm", "cm", "lm"]),
    model=st.sampled_from([
        {"name": "worst-group-utility", "u": 0.6}, {"name": "t-closeness", "t": 0.4}, {"name": "entropy-l", "l": 1.5},
    ]),
)  # fmt: skip
def test_models_that_prune_nothing_are_searched_to_the_end(
    case: Case, k: int, limit: float, measure: str, model: dict[str, Any]
) -> None:
    """Hierarchies of several levels, missing values, weights, and models under which what fails need not stay so."""
    table = case.table()
    cuts, method = cuts_of(table.quasi), KOptimize(measure=measure, suppression_limit=limit)
    assume(cuts.size <= 7)
    problem = problem_of(table, [{"name": "k", "k": k}, model])
    board = Board(problem, measure, None, method.rows_allowed(table.n))
    every = {cuts.closed(np.array(bits, dtype=bool)).tobytes() for bits in product([False, True], repeat=cuts.size)}
    states = [board.state(cuts.blocks(np.frombuffer(one, dtype=bool))) for one in every]
    costs = [state.cost for state in states if state.suppressed <= board.allowed]
    if not costs:
        with pytest.raises(InfeasibleError):
            method.run(problem)
        return
    found = method.run(problem)
    assert found.notes["figure"] == pytest.approx(board.figure(min(costs)))
    assert found.notes["proven"]


def test_limits_on_loss_are_judged_below_nodes_that_are_not_open_yet() -> None:
    """A cut below a node that no cut opens makes no nodes: trying it without the one above it ended in an error."""
    frame, table = people(0, tree=True)
    found = KOptimize(measure="lm", suppression_limit=0.9).run(
        problem_of(table, [{"name": "k", "k": 2}, {"name": "worst-group-utility", "u": 0.5}])
    )
    assert found.notes["proven"]
    assert judged(frame, as_partitions(table, found.blocks), 2, 1, tree=True)["lost"] <= found.notes["suppressed"]


class _FromBelow(Search):
    """The search with hierarchies last, and nothing but its own pruning to find the best."""

    def climb(self) -> None:
        """Begin with no cuts."""

    def _tighten(self) -> None:
        """Leave what was found."""

    def _ordered(self, tail: list[int], bounds: dict[int, float]) -> list[int]:
        return sorted(tail, key=lambda item: (self.cuts.column[item] == 1, item))


def test_a_cut_that_helps_nobody_leads_to_one_that_does() -> None:
    """Below n and f, parting ab from cd only breaks the six; parting a from b, which asks for it, helps all others."""
    many = [(n, letter, f) for n, f in ((1, "u"), (1, "v"), (2, "v")) for letter in "ab" for _ in range(20)]
    rows = [*many, *[(2, letter, "u") for letter in "ac" for _ in range(3)]]
    frame = pl.DataFrame(rows, schema=["n", "x", "f"], orient="row").with_columns(s=pl.lit("yes"))
    table = shoal.read(frame, quasi=["n", "x", "f"], sensitive=["s"], hierarchies={"x": TREE})
    board = Board(problem_of(table, [{"name": "k", "k": 5}]), "dm", None, frame.height)
    found = _FromBelow(board, cuts_of(table.quasi), print, seconds=None, nodes=None).run()
    best = min(judged(frame, cut, 5, 1, tree=True)["dm"] for cut in recodings(frame, tree=True))
    assert found.state is not None
    assert (found.state.cost, found.proven) == (best, True)


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


def test_the_sets_of_the_paper() -> None:
    """Section 3 of Bayardo & Agrawal numbers ordered values; a set of them, the least of each column left out, is a
    recoding: {7, 9} of ages 1 to 3, sexes 4 and 5 and marital states 6 to 9."""
    ages, sexes = ["10-29", "30-39", "40-49"], ["m", "f"]
    married = ["married", "widowed", "divorced", "never"]
    orders = {"age": ages, "sex": sexes, "married": married}
    frame = pl.DataFrame({name: (order * 6)[:12] for name, order in orders.items()})
    settings = {name: {"type": "ordinal", "order": order} for name, order in orders.items()}
    table = shoal.read(frame, quasi=list(orders), settings=settings)
    cuts = cuts_of(table.quasi)
    values = [2, 3, 5, 7, 8, 9]
    assert cuts.size == len(values)
    found = cuts.blocks(np.isin(values, [7, 9]))
    assert [of.tolist() for of in found] == [[0, 0, 0], [0, 0], [0, 1, 1, 2]]


def test_costs_are_the_same_on_any_number_of_cores() -> None:
    """Products of long vectors are summed in as many parts as there are cores, and a search compares the sums."""
    threads = pytest.importorskip("threadpoolctl")
    random = np.random.default_rng(1)
    frame = pl.DataFrame({"a": random.random(30_000), "b": random.integers(0, 1000, 30_000)})
    board = Board(problem_of(shoal.read(frame, quasi=["a", "b"]), [{"name": "k", "k": 2}]), "lm", None, 30_000)
    # Kept as they are, but in blocks whose prices have many digits.
    blocks = [np.arange(column.card, dtype=np.int32) // 7 for column in board.columns]
    blocks[1] = np.arange(board.columns[1].card, dtype=np.int32) // 499
    found = set()
    for cores in (1, 2, 3):
        with threads.threadpool_limits(cores):
            found |= {board.state(blocks).cost, board.loss(board.state(blocks))}
    assert len(found) == 1


def test_the_runs_of_the_thesis() -> None:
    """Postcodes of Section 2.2: {NW10, NW12}, {NW16}, {NW20, NW21} is the best partition of these people for k = 2."""
    people = pl.DataFrame({"postcode": ["NW10", "NW12", "NW16", "NW16", "NW20", "NW21"]})
    made = shoal.anonymize(shoal.read(people, quasi=["postcode"]), algorithm=shoal.KOptimize(k=2), seed=1)
    assert set(made.frame["postcode"]) == {"{NW10|NW12}", "NW16", "{NW20|NW21}"}
    assert made.evidence["search"]["proven"]
