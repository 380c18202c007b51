"""Bottom-up and top-down local recoding against references that look at every record, every time."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.algorithms.cluster.local_recoding import BottomUp, TopDown
from shoal.data.table import Table
from shoal.recipe.source import read
from tests.algorithms.cluster.naive import TopDownReference, as_sets, bottom_up, grouped, loss
from tests.measures.naive import NaiveColumn
from tests.table.random_tables import Case, cases
from tests.test_adult import flat  # noqa: F401


@pytest.mark.reference("merge_part")
@settings(max_examples=25, deadline=None)
@given(case=cases(rows=(2, 22), sensitive=(0, 0)), k=st.integers(2, 4))
def test_bottom_up_equals_the_reference(case: Case, k: int) -> None:
    k = min(k, case.n)
    table, columns = case.table(), [NaiveColumn(case, name) for name in case.quasi]
    codes = table.quasi_codes

    def widest(group: Sequence[int]) -> list[int]:
        cells = [column.cell([column.values[row] for row in group]) for column in columns]
        costs = [column.penalty(cell) * Fraction(column.weight) for column, cell in zip(columns, cells, strict=True)]
        a = costs.index(max(costs))
        return sorted(group, key=lambda row: (int(codes[a, row]), row))

    expected = bottom_up([tuple(row) for row in codes.T.tolist()], k, loss(case, "penalty"), widest)
    found = as_sets(grouped(table, [{"name": "k", "k": k}], BottomUp()))
    assert found == {frozenset(group) for group in expected}
    assert all(k <= len(group) <= 2 * k - 1 for group in found)


@pytest.mark.reference("partition_part")
@settings(max_examples=25, deadline=None)
@given(case=cases(rows=(2, 22), sensitive=(0, 0)), k=st.integers(2, 4), seed=st.integers(0, 3))
def test_top_down_equals_the_reference(case: Case, k: int, seed: int) -> None:
    k = min(k, case.n)
    cost = loss(case, "penalty")
    expected = TopDownReference(case.n, k, cost, seed).run()
    found = as_sets(grouped(case.table(), [{"name": "k", "k": k}], TopDown(), seed=seed))
    assert found == {frozenset(group) for group in expected}
    assert all(len(group) >= k for group in found)
    # Groups of at least k are never more lossy than everybody as one.
    assert sum(len(group) * cost(sorted(group)) for group in found) <= case.n * cost(range(case.n))


@settings(max_examples=20, deadline=None)
@given(case=cases(rows=(30, 60), quasi=(2, 3), sensitive=(0, 0)), k=st.integers(2, 6))
def test_top_down_mends_larger_tables_as_the_reference(case: Case, k: int) -> None:
    expected = TopDownReference(case.n, k, loss(case, "penalty"), 1).run()
    found = as_sets(grouped(case.table(), [{"name": "k", "k": k}], TopDown()))
    assert found == {frozenset(group) for group in expected}


def test_many_equal_records_are_shared_out_evenly() -> None:
    table = read(pl.DataFrame({"a": [1] * 1000 + [2] * 3}), quasi=["a"])
    for algorithm in (BottomUp(), TopDown()):
        found = grouped(table, [{"name": "k", "k": 5}], algorithm)
        sizes = np.bincount(found.ids)
        assert sizes.min() >= 5
        assert sizes.max() <= 9


def test_both_lose_about_the_same_on_adult(flat: Table) -> None:  # noqa: F811
    losses = []
    for algorithm in (BottomUp(k=10, prepartition=1500), TopDown(k=10, prepartition=1500)):
        release = shoal.anonymize(flat, algorithm=algorithm, seed=1, acknowledge=["W-UNMODELLED:occupation"])
        losses.append(release.measure("ncp").value or 0.0)
    assert max(losses) <= 1.25 * min(losses)
