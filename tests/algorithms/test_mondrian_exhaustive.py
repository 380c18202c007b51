"""Every table of up to 6 rows, 2 quasi-identifiers and 3 values for k, and of up to 5 for distinct-l.

Those of more than three rows up to the names of their categories and sensitive values, and those of six up to the end
that their numbers are counted from, too: a median is no middle, so that smaller ones are tried from both.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations_with_replacement, permutations, product
from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.algorithms.base import Problem
from shoal.algorithms.mondrian import Mondrian
from shoal.data.column import Column
from shoal.data.domain import Domain
from shoal.data.keys import Keys
from shoal.data.schema import ColumnSpec, Schema
from shoal.data.table import Table
from shoal.engines.memory import MemoryEngine, MemoryRows
from shoal.errors import InfeasibleError
from shoal.models.base import Model
from shoal.models.diversity import DistinctL
from shoal.models.feasibility import refuse_infeasible, whole_reference
from shoal.models.judge import Judge
from shoal.models.size import KAnonymity
from shoal.models.suppression import enforce
from shoal.recoding.recoded import apply_recoding
from tests.conftest import many

QUASI = list(product(range(3), repeat=2))
ENGINE = MemoryEngine()
KEYS = Keys.from_seed(3)


def renamings(kinds: list[tuple[int, int, int]], sensitive: int, rows: int) -> list[list[int]]:
    """Every way to rename values, as the place that each kind of row then has."""
    ends = [(0, 1, 2), (2, 1, 0)] if rows > 5 else [(0, 1, 2)]
    ways = product(ends, permutations(range(3)), permutations(range(sensitive)))
    return [[kinds.index((a[x], b[y], s[z])) for x, y, z in kinds] for a, b, s in ways]


def tables(sensitive: int, rows: int) -> Iterator[np.ndarray]:
    """All multisets of rows (two quasi-identifiers and a sensitive value), of large ones the first of equal ones."""
    kinds = [(*quasi, value) for quasi in QUASI for value in range(sensitive)]
    renamed = renamings(kinds, sensitive, rows) if rows > 3 else []
    for picked in combinations_with_replacement(range(len(kinds)), rows):
        if all(sorted(way[kind] for kind in picked) >= list(picked) for way in renamed):
            yield np.array([kinds[kind] for kind in picked], dtype=np.int32)


def coded(rows: np.ndarray) -> Table:
    """A table whose dictionaries hold all three values, present or not."""
    columns, codes = {}, {}
    for place, (name, role) in enumerate([("a", "quasi"), ("b", "quasi"), ("s", "sensitive")]):
        codes[name] = np.ascontiguousarray(rows[:, place])
        columns[name] = Column(
            name=name,
            role=role,
            type="numeric" if place == 0 else "categorical",
            kind="interval" if place == 0 else "flat",
            frequencies=np.bincount(rows[:, place], minlength=3),
            texts=pl.Series(["0", "1", "2"]),
            numbers=np.arange(3) if place == 0 else None,
            missing=-1,
            hierarchy=None,
            spec=ColumnSpec(),
        )
    return Table(
        kept=pl.DataFrame({"row": np.arange(len(rows))}),
        domain=Domain(schema=Schema(quasi=["a", "b"], sensitive=["s"]), columns=columns, n=len(rows)),
        codes=codes,
        row_keys=np.arange(len(rows), dtype=np.uint64),
        subjects=None,
        n_read=len(rows),
        n_dropped=0,
    )


def _set_of(cells: Any, group: int) -> tuple[int, ...]:
    """The codes that a set covers."""
    if cells.full[group]:
        return tuple(range(3))
    return tuple(cells.codes[cells.starts[group] : cells.starts[group + 1]].tolist())


def check(rows: np.ndarray, models: list[Model], algorithm: Mondrian, k: int, l: int) -> None:  # noqa: E741
    table = coded(rows)
    judge = Judge(models, whole_reference(ENGINE.open(table), models))
    feasible = len(rows) >= k and len(set(rows[:, 2].tolist())) >= l
    try:
        refuse_infeasible(judge, 0.0)
    except InfeasibleError:
        assert not feasible, rows
        return
    assert feasible, rows
    grouping = algorithm.run(Problem(rows=ENGINE.open(table), judge=judge, keys=KEYS))
    released = enforce(apply_recoding(MemoryRows(table), grouping), judge, 0.0)
    interval, chosen = released.cells["a"], released.cells["b"]
    low, high = interval.low.tolist(), interval.high.tolist()
    sets = [_set_of(chosen, group) for group in range(chosen.full.size)]
    classes = defaultdict(list)
    for row, group in zip(rows.tolist(), released.classes.tolist(), strict=True):
        assert low[group] <= row[0] <= high[group]
        assert row[1] in sets[group]
        classes[low[group], high[group], sets[group]].append(row[2])
    assert len(classes) == released.n_classes
    assert min(map(len, classes.values())) >= k, rows
    assert min(len(set(values)) for values in classes.values()) >= l, rows


@pytest.mark.parametrize("rows", range(1, many(6, 7)))
@pytest.mark.parametrize("mode, cut", [("strict", "widest"), ("relaxed", "widest"), ("strict", "best")])
def test_k(rows: int, mode: str, cut: str) -> None:
    algorithm = Mondrian(mode=mode, cut=cut)
    for k in (2, 3):
        for table in tables(1, rows):
            check(table, [KAnonymity(k=k)], algorithm, k, 1)


@pytest.mark.parametrize("rows", range(1, many(5, 6)))
@pytest.mark.parametrize("mode", ["strict", "relaxed"])
def test_distinct_l(rows: int, mode: str) -> None:
    algorithm = Mondrian(mode=mode)
    for table in tables(2, rows):
        check(table, [KAnonymity(k=2), DistinctL(l=2)], algorithm, 2, 2)


def test_renaming_leaves_one_table_of_each_sort() -> None:
    """Burnside's count of multisets of six rows under the 12 renamings."""
    kinds = [(*quasi, 0) for quasi in QUASI]
    ways = renamings(kinds, 1, 6)
    every = list(combinations_with_replacement(range(9), 6))
    fixed = sum(tuple(sorted(way[kind] for kind in picked)) == picked for picked in every for way in ways)
    assert len(list(tables(1, 6))) == fixed / len(ways)


@pytest.mark.parametrize("end", [0, 2])
def test_most_rows_may_lie_at_either_end(end: int) -> None:
    """Where the median is the largest number nothing lies above it, and a cut has to be found below."""
    found = [rows for rows in tables(2, 5) if (rows[:, 0] == end).sum() == 3 and len(set(rows[:, 0].tolist())) == 2]
    assert found
