"""Strict Mondrian on Loukides' tables, rows in table order."""

from __future__ import annotations

import polars as pl
import pytest

from shoal.algorithms.base import Problem
from shoal.algorithms.grouping import by_rows
from shoal.algorithms.mondrian import Mondrian
from shoal.data.keys import Keys
from shoal.engines.memory import MemoryRows
from shoal.models.feasibility import whole_reference
from shoal.models.judge import Judge
from shoal.models.size import KAnonymity
from shoal.recipe.source import read
from shoal.recoding.recoded import apply_recoding
from tests.golden import data
from tests.golden.build import ENGINE, cells

# Rows, k, groups.
PARTITIONS: dict[str, tuple[pl.DataFrame, int, list[list[int]]]] = {
    "AL-05": (data.LO_TABLE_3_1, 4, data.TABLE_3_2),
    "AL-06": (data.LO_TABLE_3_1, 2, [[0, 1], [2, 3], [4, 5], [6, 7]]),
    "AL-07": (data.LO_TABLE_3_1, 5, [[0, 1, 2, 3, 4, 5, 6, 7]]),
    "AL-08": (data.LO_TABLE_3_8, 2, [[0, 2, 4], [1, 3], [5, 6, 7]]),
}
COVERED = set(PARTITIONS)


def partition(frame: pl.DataFrame, k: int) -> tuple[Problem, list[list[int]], object]:
    quasi = [name for name in frame.columns if name != "salary"]
    table = read(frame, quasi=quasi, sensitive=["salary"])
    models = [KAnonymity(k=k)]
    judge = Judge(models, whole_reference(ENGINE.open(table), models))
    problem = Problem(rows=ENGINE.open(table), judge=judge, keys=Keys.from_seed(1, identity=True))
    recoding = by_rows(problem, Mondrian(cut="widest").run(problem))
    groups: dict[int, list[int]] = {}
    for row, group in enumerate(recoding.ids.tolist()):
        groups.setdefault(group, []).append(row)
    return problem, sorted(groups.values()), recoding


@pytest.mark.parametrize("name", PARTITIONS)
def test_partition(name: str) -> None:
    frame, k, expected = PARTITIONS[name]
    assert partition(frame, k)[1] == sorted(expected)


def test_al_05_gives_table_3_2() -> None:
    problem, _, recoding = partition(data.LO_TABLE_3_1, 4)
    released = apply_recoding(MemoryRows(problem.table), recoding)  # type: ignore[arg-type]
    assert cells(released, "age") == ["[30,40]", "[45,60]"]
    assert cells(released, "postcode") == ["[10,15]", "[20,30]"]
