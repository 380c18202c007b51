"""Prices of extents: what a group costs is what its published cells cost."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.algorithms.base import geometry
from shoal.io.source import read
from shoal.kernels.bestcut import best_cuts
from shoal.kernels.extents import group_bits
from shoal.kernels.geometry import FLAT, Geometry, group_price, price
from shoal.table.table import Table
from tests.measures.naive import NaiveColumn
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


def naive_price(columns: list[NaiveColumn], rows: list[int]) -> float:
    """Weighted loss of one record of a group."""
    return sum(
        column.weight * float(column.spread(column.cell([column.values[row] for row in rows]))) for column in columns
    )


@settings(max_examples=80)
@given(st.data())
def test_group_price(data: st.DataObject) -> None:
    case = data.draw(cases(sensitive=(0, 0)))
    table = case.table()
    geo = geometry(table)
    columns = [NaiveColumn(case, name) for name in case.quasi]
    rows = data.draw(st.lists(st.integers(0, case.n - 1), min_size=1, unique=True))
    assert group_price(geo, *extent(table, geo, rows)) == pytest.approx(naive_price(columns, rows), abs=1e-12)


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


@settings(max_examples=60)
@given(cases(rows=(1, 14), sensitive=(0, 0)), st.integers(1, 4))
def test_best_cuts_price_every_cut_between_two_values(case: Case, k: int) -> None:
    table = case.table()
    geo = geometry(table)
    columns = [NaiveColumn(case, name) for name in case.quasi]
    codes = np.ascontiguousarray(table.quasi_codes.T)
    # Rows outside the part must not matter.
    padded = np.concatenate([codes, codes, codes])
    losses, found, values = best_cuts(padded, case.n, 2 * case.n, geo, k)
    expected = {}
    for a in range(len(columns)):
        for value in np.unique(codes[:, a])[:-1].tolist():
            left, right = (np.flatnonzero(side).tolist() for side in (codes[:, a] <= value, codes[:, a] > value))
            if len(left) >= k and len(right) >= k:
                expected[a, value] = sum(len(side) * naive_price(columns, side) for side in (left, right))
    allowed = {
        (int(a), int(value)): float(loss)
        for loss, a, value in zip(losses, found, values, strict=True)
        if np.isfinite(loss)
    }
    assert allowed == pytest.approx(expected, abs=1e-9)


def test_best_cuts_of_a_wide_column() -> None:
    """Codes far apart take the sorting path instead of the dense one."""
    table = read(pl.DataFrame({"a": np.arange(2000), "b": np.arange(2000) % 7}), quasi=["a", "b"])
    geo = geometry(table)
    rows = np.array([0, 5, 900, 1999, 1999 - 7])
    codes = np.ascontiguousarray(table.quasi_codes.T[rows])
    losses, columns, values = best_cuts(codes, 0, 5, geo, 2)
    assert sorted(values[columns == 0].tolist()) == [0, 5, 900, 1992]
    finite = {(int(a), int(v)) for loss, a, v in zip(losses, columns, values, strict=True) if np.isfinite(loss)}
    assert {(0, 5), (0, 900)} <= finite
