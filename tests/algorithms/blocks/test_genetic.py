"""The genetic search against every recoding there is."""

from __future__ import annotations

import numpy as np
import pytest

import shoal
from shoal.algorithms.blocks.board import cuts_of
from shoal.algorithms.blocks.genetic import Genetic
from shoal.errors import InfeasibleError, ParameterError
from tests.algorithms.blocks.plain import as_partitions, judged, people, problem_of, recodings
from tests.engines.plain import PlainEngine


@pytest.mark.sample(8)
@pytest.mark.parametrize("tree", [False, True], ids=["runs", "nodes"])
@pytest.mark.parametrize("measure", ["lm", "cm", "dm"])
@pytest.mark.parametrize("seed", range(4))
def test_it_reaches_the_best_of_all_recodings(seed: int, measure: str, tree: bool) -> None:
    frame, table = people(seed, tree=tree)
    k, limit = 2 + seed % 2, [0.0, 0.2][seed % 2]
    every = [judged(frame, cut, k, 1, tree=tree) for cut in recodings(frame, tree=tree)]
    allowed = [one for one in every if one["lost"] <= limit * frame.height + 1e-9]
    method = Genetic(measure=measure, suppression_limit=limit, evaluations=800, population=25)
    found = method.run(problem_of(table, [{"name": "k", "k": k}]))
    mine = judged(frame, as_partitions(table, found.blocks), k, 1, tree=tree)
    assert mine["lost"] <= limit * frame.height
    assert mine[measure] == pytest.approx(found.notes["figure"])
    # Tables this small are searched to the end by a few hundred children.
    assert mine[measure] == pytest.approx(min(one[measure] for one in allowed))
    again = method.run(problem_of(table, [{"name": "k", "k": k}], PlainEngine()))
    assert all((again.blocks[name] == of).all() for name, of in found.blocks.items())


def test_evolution_only_ever_gains() -> None:
    _, table = people(2, tree=True)
    figures = [
        Genetic(evaluations=count, population=5).run(problem_of(table, [{"name": "k", "k": 3}])).notes["figure"]
        for count in (0, 20, 100, 300)
    ]
    assert figures == sorted(figures, reverse=True)


def test_cuts_ask_for_their_parents() -> None:
    _, table = people(0, tree=True)
    cuts = cuts_of(table.quasi)
    child = int(np.flatnonzero(cuts.parent >= 0)[0])
    alone = np.zeros(cuts.size, dtype=bool)
    alone[child] = True
    assert not cuts.closed(alone).any()
    alone[cuts.parent[child]] = True
    assert cuts.closed(alone).sum() == 2


def test_nothing_to_release() -> None:
    _, table = people(1, tree=False)
    with pytest.raises(InfeasibleError, match="No generalisation satisfies the models"):
        Genetic(evaluations=5).run(problem_of(table, [{"name": "t-closeness", "t": 0.0}, {"name": "k", "k": 99}]))


@pytest.mark.parametrize("given", [{"population": 1}, {"evaluations": -1}, {"mutation": 2.0}, {"measure": "ncp"}])
def test_bad_parameters(given: dict[str, float]) -> None:
    with pytest.raises(ParameterError, match="of Genetic must be"):
        shoal.Genetic(**given)
