"""Parts that are grouped by themselves: their leftovers find places among the groups of other parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.algorithms.base import Problem
from shoal.algorithms.leftovers import settle_leftovers
from shoal.algorithms.partitioned import grouped_in_parts
from shoal.data.keys import Keys
from shoal.data.table import Table
from shoal.engines.memory import MemoryEngine, MemoryRows
from shoal.models.feasibility import whole_reference
from shoal.models.judge import Judge
from shoal.models.suppression import enforce
from shoal.recoding.recoded import Released, apply_recoding
from shoal.recoding.recodings import Grouping
from shoal.registry import make
from shoal.utility.loss import LossMetric

QUASI = ["age", "sex", "region", "education"]
MODELS = [{"name": "k", "k": 5}, {"name": "distinct-l", "l": 3, "on": "diagnosis"}]


@dataclass
class Parted:
    """Rows in memory, handed out in parts as an engine does."""

    rows: MemoryRows

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rows, name)

    def fetched(self, some: np.ndarray | None, attributes: Sequence[Any]) -> MemoryRows:
        return self.rows if some is None else self.rows.part(some, attributes)

    def coded(self) -> Iterator[tuple[Any, np.ndarray]]:
        yield self.rows.table.codes, self.rows.table.row_keys

    def row_keys(self) -> np.ndarray:
        return self.rows.table.row_keys

    def within(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        codes = self.rows.table.quasi_codes
        outside = (codes < low[:, None]) | (codes > high[:, None])
        return codes[:, ~outside.any(axis=0)]

    def ranges(self, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        inside = self.within(low, high)
        return inside.min(axis=1), inside.max(axis=1)

    def histogram(self, place: int, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.unique(self.within(low, high)[place], return_counts=True)


def census(rows: int) -> Table:
    people = shoal.example_census(rows).select(*QUASI, "diagnosis").drop_nulls()
    return shoal.read(people, quasi=QUASI, sensitive=["diagnosis"])


def asked(table: Table, models: Sequence[dict[str, Any]] = MODELS) -> Problem:
    rows, wanted = MemoryEngine().open(table), [make("model", one) for one in models]
    return Problem(rows=rows, judge=Judge(wanted, whole_reference(rows, wanted)), keys=Keys.from_seed(1))


def held(problem: Problem, grouping: Grouping) -> Released:
    return enforce(apply_recoding(problem.rows, grouping), problem.judge, 1.0)


def loss(released: Released) -> float:
    value = LossMetric().score(released.price_stats()).value
    assert value is not None
    return value


@pytest.mark.parametrize("name", ["k-members", "bottom-up", "top-down"])
def test_fewer_are_suppressed_than_where_each_part_stands_alone(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = asked(census(3000))
    method, rows = make("algorithm", {"name": name, "suppression_limit": 0.2}), Parted(problem.rows)
    whole = held(problem, grouped_in_parts(method, problem, rows, 10**9))
    found = grouped_in_parts(method, problem, rows, 300)
    monkeypatch.setattr("shoal.algorithms.partitioned.settle_leftovers", lambda problem, grouping: grouping)
    alone = held(problem, grouped_in_parts(method, problem, rows, 300))
    settled = held(problem, found)
    assert found.notes["left_over"]["before"] == alone.n_suppressed > settled.n_suppressed
    assert found.notes["left_over"]["after"] == settled.n_suppressed
    assert loss(settled) < loss(alone)
    assert loss(settled) < 1.02 * loss(whole)


def test_a_leftover_joins_the_group_that_it_fits_in_and_no_other() -> None:
    frame = {"age": [20, 21, 22, 60, 61, 62, 23], "ill": ["a", "b", "c", "a", "b", "c", "a"]}
    problem = asked(shoal.read(pl.DataFrame(frame), quasi=["age"], sensitive=["ill"]), [{"name": "k", "k": 3}])
    found = settle_leftovers(problem, Grouping(ids=np.array([0, 0, 0, 1, 1, 1, -1], dtype=np.int32), groups=2))
    assert found.ids.tolist() == [0, 0, 0, 1, 1, 1, 0]
    assert found.notes["left_over"] == {"before": 1, "after": 0}


def test_no_group_that_holds_is_broken_by_what_joins_it() -> None:
    frame = {"age": [20, 21, 22, 23, 24], "ill": ["a", "b", "a", "b", "a"]}
    models = [{"name": "alpha-k-simple", "alpha": 0.5, "k": 2, "value": "a", "on": "ill"}]
    problem = asked(shoal.read(pl.DataFrame(frame), quasi=["age"], sensitive=["ill"]), models)
    found = settle_leftovers(problem, Grouping(ids=np.array([0, 0, 1, 1, -1], dtype=np.int32), groups=2))
    assert found.notes["left_over"] == {"before": 1, "after": 1}
    assert held(problem, found).n_suppressed == 1


def test_losing_a_record_can_cost_less_than_what_it_would_widen() -> None:
    frame = {"age": [*range(20, 40), 99], "ill": ["a", "b"] * 10 + ["a"]}
    problem = asked(shoal.read(pl.DataFrame(frame), quasi=["age"], sensitive=["ill"]), [{"name": "k", "k": 20}])
    found = settle_leftovers(problem, Grouping(ids=np.array([0] * 20 + [-1], dtype=np.int32), groups=1))
    assert held(problem, found).n_suppressed == 1
