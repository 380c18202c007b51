"""The full-domain methods on the worked vectors of minimal nodes, and on the two that forbid pruning."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from shoal.algorithms.base import Problem
from shoal.algorithms.lattice.checker import Checker
from shoal.algorithms.lattice.incognito import Incognito
from shoal.algorithms.lattice.optimal import Optimal
from shoal.algorithms.lattice.samarati import Samarati
from shoal.data.keys import Keys
from shoal.data.table import Table
from shoal.errors import InfeasibleError, ParameterError
from shoal.models.feasibility import whole_reference
from shoal.models.judge import Judge
from shoal.recipe.source import read
from shoal.registry import make
from tests.golden import data
from tests.golden.build import ENGINE
from tests.golden.test_full_domain import HIERARCHIES, MINIMAL


def problem(table: Table, **model: Any) -> Problem:
    models = [make("model", model)]
    judge = Judge(models, whole_reference(ENGINE.open(table), models))
    return Problem(rows=ENGINE.open(table), judge=judge, keys=Keys.from_seed(1))


@pytest.mark.parametrize("name", MINIMAL)
@pytest.mark.parametrize("method", ["samarati", "incognito"])
def test_minimal_nodes(name: str, method: str) -> None:
    k, most, expected = MINIMAL[name]
    table = read(data.PP_TABLE_1, quasi=["age", "sex", "zip"], hierarchies=HIERARCHIES)
    limit = most / table.n
    algorithm = Samarati(all_minimal=True, suppression_limit=limit) if method == "samarati" else Incognito(
        suppression_limit=limit
    )  # fmt: skip
    if not expected:
        with pytest.raises(InfeasibleError, match="model 'k' reaches 7, and its limit is 8"):
            algorithm.run(problem(table, name="k", k=k))
        return
    recoding = algorithm.run(problem(table, name="k", k=k))
    assert [(one["levels"], one["suppressed"]) for one in recoding.notes["minimal"]] == expected
    lowest = min(expected, key=lambda one: (sum(one[0]), one))
    assert (list(recoding.levels.values()), recoding.notes["suppressed"]) == lowest


@pytest.fixture
def lopsided() -> Table:
    """One class of a and b, one of a hundred a, and a level on which they are one."""
    frame = pl.DataFrame({"q": ["x"] * 2 + ["y"] * 100, "s": ["a", "b", *["a"] * 100]})
    return read(frame, quasi=["q"], sensitive=["s"], hierarchies={"q": [["x", "*"], ["y", "*"]]})


def test_generalising_can_suppress_more(lopsided: Table) -> None:
    """AL-20 and AL-21: entropy 2-diversity suppresses 100 rows below and all 102 above."""
    checker = Checker(problem(lopsided, name="entropy-l", l=2))
    assert [checker.check([level]).suppressed for level in (0, 1)] == [100, 102]


def test_what_can_suppress_more_above_is_searched_without_pruning(lopsided: Table) -> None:
    case = problem(lopsided, name="entropy-l", l=2)
    limit = 100 / 102
    recoding = Optimal(suppression_limit=limit).run(case)
    assert (recoding.notes["levels"], recoding.notes["proven"]) == ([0], True)
    for algorithm in (Samarati(suppression_limit=limit), Incognito(suppression_limit=limit)):
        with pytest.raises(ParameterError, match="'entropy-l', because with suppression, generalising further"):
            algorithm.run(case)
