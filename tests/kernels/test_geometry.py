"""Prices of extents: what a group costs is what its published cells cost."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.algorithms.base import geometry
from shoal.kernels.count.extents import group_bits
from shoal.kernels.price.geometry import FLAT, Geometry, group_price, price
from shoal.table.table import Table
from tests.measures.naive import NaiveColumn, record_price
from tests.table.random_tables import Case, cases


def extent(table: Table, geo: Geometry, rows: list[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lowest and highest codes and sets of some rows, as the kernels keep them."""
    codes = table.quasi_codes[:, rows]
    bits = np.zeros(int(geo.word_at[-1]), dtype=np.uint64)
    for a, column in enumerate(table.quasi):
        if geo.kind[a] == FLAT:
            mine = group_bits(codes[a].copy(), np.zeros(len(rows), dtype=np.int32), 1, column.card)[0]
            bits[geo.word_at[a] : geo.word_at[a + 1]] = mine
    return codes.min(axis=1), codes.max(axis=1), bits


@settings(max_examples=80)
@given(st.data())
def test_group_price(data: st.DataObject) -> None:
    case = data.draw(cases(sensitive=(0, 0)))
    table = case.table()
    geo = geometry(table)
    columns = [NaiveColumn(case, name) for name in case.quasi]
    rows = data.draw(st.lists(st.integers(0, case.n - 1), min_size=1, unique=True))
    assert group_price(geo, *extent(table, geo, rows)) == pytest.approx(
        record_price(columns, rows), abs=1e-12
    )


@settings(max_examples=50)
@given(cases(sensitive=(0, 0), missing=False))
def test_tree_prices_follow_the_lowest_common_ancestor(case: Case) -> None:
    table = case.table()
    geo = geometry(table)
    for a, column in enumerate(table.quasi):
        if column.hierarchy is None:
            continue
        tree = column.hierarchy
        low, high = np.triu_indices(tree.n_leaves)
        level = tree.common_level(low, high)
        leaves = tree.leaf_counts[level, low]
        found = [price(geo, a, x, y) for x, y in zip(low, high, strict=True)]
        assert found == pytest.approx((leaves - 1) / (tree.n_leaves - 1))
