"""Strict Mondrian on weighted cells makes the groups that it makes of rows."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.algorithms.base import Problem
from shoal.algorithms.grouping import by_rows
from shoal.algorithms.mondrian import Mondrian
from shoal.data.keys import Keys
from shoal.data.table import Table
from shoal.engines.memory import MemoryEngine
from shoal.kernels import mondrian
from shoal.models.feasibility import whole_reference
from shoal.models.judge import Judge
from shoal.recipe.source import read
from shoal.recoding.recoded import apply_recoding
from shoal.recoding.recodings import CellGrouping, Grouping
from shoal.registry import make
from tests.algorithms.lattice import lattices
from tests.table import random_tables

K2 = {"name": "k", "k": 2}
# The last two go beyond what kernels judge, so that groups are merged afterwards.
MODELS = [
    [K2], [K2, {"name": "distinct-l", "l": 2}], [{"name": "entropy-l", "l": 1.5}],
    [{"name": "delta-disclosure", "delta": 1.0}], [K2, {"name": "delta-disclosure", "delta": 2.0}],
]  # fmt: skip
CUTS = st.sampled_from(["best", "widest", "info-gain"])


def problem_of(table: Table, specs: list[dict[str, Any]]) -> Problem:
    return lattices.Case(table, specs).problem()


def both_ways(problem: Problem, **options: Any) -> tuple[Grouping, Grouping]:
    """Groups made of rows, and of cells as numbers of rows."""
    found = []
    for way, kind in ((False, Grouping), (True, CellGrouping)):
        with mock.patch.object(Mondrian, "_cuts_cells", lambda self, problem, way=way: way):
            made = Mondrian(**options).run(problem)
        assert isinstance(made, kind)
        found.append(by_rows(problem, made))
    return found[0], found[1]


def assert_same(one: Grouping, other: Grouping) -> None:
    """Numbers of groups as well: what adds up over them is added up in their order."""
    assert one.groups == other.groups
    assert one.ids.tolist() == other.ids.tolist()
    assert one.notes == other.notes


@settings(max_examples=30)
@given(lattices.cases(people=False), st.sampled_from(["best", "widest", "info-gain", "lsd"]), st.booleans(), st.data())
def test_all_models_on_trees(case: lattices.Case, cut: str, fallback: bool, data: st.DataObject) -> None:
    target = {"lsd": "x", "info-gain": data.draw(st.sampled_from(["s", "x", "q0"]))}.get(cut)
    assert_same(*both_ways(case.problem(), cut=cut, target=target, fallback_lt=fallback))


@settings(max_examples=30)
@given(
    random_tables.cases(rows=(1, 30), sensitive=(1, 2)),
    st.sampled_from(MODELS), CUTS, st.booleans(), st.sampled_from([0.0, 0.3]),
)  # fmt: skip
def test_all_kinds_of_columns(
    case: random_tables.Case, specs: list[dict[str, Any]], cut: str, fallback: bool, limit: float
) -> None:
    problem = problem_of(case.table(), specs)
    assert_same(*both_ways(problem, cut=cut, fallback_lt=fallback, suppression_limit=limit))


@pytest.mark.parametrize("cut", ["best", "widest", "info-gain", "lsd"])
def test_many_rows_on_several_cores(cut: str) -> None:
    rng = np.random.default_rng(4)
    codes = rng.integers(0, [900, 7, 5], (9000, 3))[rng.integers(0, 9000, 60_000)]
    frame = pl.DataFrame(codes, schema=["a", "b", "c"]).with_columns(
        s=pl.Series(rng.normal(size=60_000).round(3)), t=pl.Series(rng.integers(0, 9, 60_000))
    )
    table = read(frame, quasi=["a", "b", "c"], sensitive=["s", "t"])
    problem = problem_of(table, [{"name": "k", "k": 9}, {"name": "distinct-l", "l": 3, "on": "t"}])
    with mock.patch.object(mondrian, "PARALLEL_FROM", 1000):
        assert_same(*both_ways(problem, cut=cut))


def test_populations_are_matched_by_cells_too() -> None:
    """Groups that too few people of the population match are merged, whatever was cut."""
    frame = pl.DataFrame({"a": [1, 1, 2, 2, 3, 3, 4, 4] * 2})
    people = pl.DataFrame({"a": [1] * 9 + [2] * 9 + [3] * 9 + [4, 4]})
    table = read(frame, quasi=["a"], population=people)
    rows, cells = both_ways(problem_of(table, [{"name": "k-map", "k": 5}]))
    assert_same(rows, cells)
    assert rows.notes["merged"] == 1


def test_crowded_cells_are_cut_and_lonely_rows() -> None:
    """By what there is to save, and only where equal rows can be taken as one."""
    def made(frame: pl.DataFrame, **options: Any) -> type:
        table = read(frame, quasi=["a"], subject="who" if "who" in frame.columns else None)
        return type(Mondrian(**options).run(problem_of(table, [K2])))

    crowded, lonely = pl.DataFrame({"a": [1, 2, 3, 4] * 4}), pl.DataFrame({"a": range(16)})
    assert made(crowded) is CellGrouping
    assert made(lonely) is Grouping
    assert made(crowded, mode="relaxed") is Grouping
    assert made(crowded.with_columns(who=pl.Series(range(16)))) is Grouping
    assert made(crowded, polish="lm") is Grouping


def test_polish_starts_from_the_same_groups() -> None:
    rng = np.random.default_rng(2)
    frame = pl.DataFrame({"a": rng.integers(0, 20, 300), "b": rng.integers(0, 5, 300)})
    problem = problem_of(read(frame, quasi=["a", "b"]), [{"name": "k", "k": 4}])
    found = []
    for way in (False, True):
        with mock.patch.object(Mondrian, "_cuts_cells", lambda self, problem, way=way: way):
            found.append(Mondrian(polish="lm").run(problem))
    assert_same(*found)


def test_groups_with_equal_cells_are_one_class() -> None:
    """Both groups of cells generalise to the whole hierarchy."""
    tree = [["a", "*"], ["b", "*"], ["c", "*"], ["d", "*"]]
    table = read(pl.DataFrame({"q": ["a", "b", "c", "d", "d"]}), quasi=["q"], hierarchies={"q": tree})
    rows = MemoryEngine().open(table)
    cells = CellGrouping(ids=np.array([0, 0, 1, 1], dtype=np.int32), groups=2)
    released = apply_recoding(rows, cells)
    assert (released.groups, released.n_classes, released.classes.tolist()) == (2, 1, [0] * 5)
    left = CellGrouping(ids=np.array([0, 0, -1, 1], dtype=np.int32), groups=2)
    assert apply_recoding(rows, left).classes.tolist() == [0, 0, -1, 1, 1]
    judge = Judge([make("model", K2)], whole_reference(rows, []))
    problem = Problem(rows=rows, judge=judge, keys=Keys.from_seed(1))
    assert by_rows(problem, left).ids.tolist() == [0, 0, -1, 1, 1]
