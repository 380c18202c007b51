"""Prices of cells in ticks: what a group costs is what its published cells cost, and what costs the same ties."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings

from shoal.algorithms.prices import ONE, pack, prices_of, quasi_columns, ticks_of, units_of, weighted
from shoal.engines.memory import MemoryRows
from shoal.kernels import _native
from shoal.kernels.prices import Prices
from shoal.recipe.source import read
from shoal.recoding.recoded import apply_recoding
from shoal.recoding.recodings import Grouping
from tests.measures.naive import NaiveColumn
from tests.table.random_tables import Case, cases, crowded_table


def cells_of(p: Prices, a: int, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Ticks of one column's cells."""
    out = np.empty(low.size, dtype=np.int64)
    _native.probe_cells(p, a, low.astype(np.int64), high.astype(np.int64), out)
    return out


def exact_ticks(columns: list[NaiveColumn], rows: list[int], p: Prices) -> Fraction:
    """What a record of a group costs, in ticks, on exact fractions."""
    weights = [Fraction(repr(column.weight)) for column in columns]
    spreads = [column.spread(column.cell([column.values[row] for row in rows])) for column in columns]
    return p.one * sum((w * s for w, s in zip(weights, spreads, strict=True)), Fraction(0)) / sum(weights)


@settings(max_examples=20, deadline=None)
@given(cases(sensitive=(0, 0), missing=False))
def test_tree_prices_follow_the_lowest_common_ancestor(case: Case) -> None:
    table = case.table()
    p = prices_of(table.domain)
    for a, column in enumerate(table.quasi):
        if column.hierarchy is None:
            continue
        tree = column.hierarchy
        low, high = np.triu_indices(tree.n_leaves)
        leaves = tree.leaf_counts[tree.common_level(low, high), low]
        assert cells_of(p, a, low, high) / p.unit[a] == pytest.approx((leaves - 1) / (tree.n_leaves - 1))


@pytest.mark.reference("list_pairs", "probe_cells")
@pytest.mark.parametrize("dtype", [np.int64, np.float64])
@pytest.mark.parametrize("rows", [180, 2000])
def test_prices_are_those_of_snapped_cells(dtype: type, rows: int) -> None:
    """With few values, all pairs are listed."""
    values = (np.arange(rows) * 7 % (rows - 1)).astype(dtype) + (0.5 if dtype is np.float64 else 0)
    table = crowded_table(read(pl.DataFrame({"a": values}), quasi=["a"]), 5)
    p = prices_of(table.domain)
    assert (p.pair_at[0] >= 0) == (rows < 200)
    ids = (np.arange(rows) // 5).astype(np.int32)
    spread = apply_recoding(MemoryRows(table), Grouping(ids=ids, groups=rows // 5))
    codes = table.quasi_codes[0].reshape(-1, 5)
    found = cells_of(p, 0, codes.min(axis=1), codes.max(axis=1))
    assert found / p.one == pytest.approx(spread.cells["a"].spread()[spread.classes[::5]], abs=1e-11)
    assert cells_of(p, 0, np.array([3]), np.array([3]))[0] > 0


def test_sums_that_are_equal_tie() -> None:
    """A third and two thirds of different columns are as much as all of another; floats and powers of two miss that."""
    frame = pl.DataFrame({"a": [0, 1, 2, 3], "b": [0, 2, 4, 6], "c": [0.0, 0.1, 0.6, 0.7]})
    table = read(frame, quasi=["a", "b", "c"], weights={"c": 0.3})
    p = prices_of(table.domain)
    third, two_thirds = (cells_of(p, a, np.array([0]), np.array([high]))[0] for a, high in ((0, 1), (1, 2)))
    whole = cells_of(p, 0, np.array([0]), np.array([3]))[0]
    assert third + two_thirds == whole
    sevenths = [cells_of(p, 2, np.array([low]), np.array([high]))[0] for low, high in ((0, 1), (1, 2), (2, 3), (0, 3))]
    assert sum(sevenths[:3]) == sevenths[3]
    assert (p.unit % 1 == 0).all()
    assert int(p.unit.sum()) == p.one <= ONE
    assert 2 * p.one > ONE


@pytest.mark.parametrize("unit", [1e-9, 1e-7, 1e-3, 7e-8, 1e5])
def test_sums_of_numbers_of_any_size_tie(unit: float) -> None:
    """Numbers far below 1 are all next to a whole one."""
    frame = pl.DataFrame({"a": [0, 1, 2, 3], "b": [one * unit for one in (0.0, 1.0, 5.0, 7.0)]})
    p = prices_of(read(frame, quasi=["a", "b"], settings={"b": {"snap": "off"}}).domain)
    parts = [cells_of(p, 1, np.array([low]), np.array([high]))[0] for low, high in ((0, 1), (1, 2), (2, 3), (0, 3))]
    assert sum(parts[:3]) == parts[3] == 7 * parts[0]
    assert (p.unit % 1 == 0).all()


def test_ticks_that_cannot_be_whole_are_rounded() -> None:
    frame = pl.DataFrame({"a": [0, 1, 2, 3], "b": [0.0, np.pi, np.e**2, 20.0]})
    p = prices_of(read(frame, quasi=["a", "b"], settings={"b": {"snap": "off"}}).domain)
    assert p.one == ONE
    assert cells_of(p, 1, np.array([0, 0]), np.array([1, 3])).tolist() == [round(np.pi / 20 * ONE / 2), ONE // 2]


@pytest.mark.parametrize("n", [1, 2, 1 << 24, (1 << 24) + 1, 1 << 30, 1 << 40])
def test_all_records_of_any_table_can_be_priced_in_64_bits(n: int) -> None:
    """Ticks are coarser from 2**24 records on, by the number of records alone."""
    most = ticks_of(n)
    assert n * most <= 1 << 62
    assert most == ONE if n <= 1 << 24 else ONE > most >= 1 << 22
    table = read(pl.DataFrame({"a": [0, 1, 2, 3], "b": list("wxyz")}), quasi=["a", "b"])
    p = weighted(quasi_columns(table.domain), table.domain.quasi_weights, n)
    assert most / 2 < p.one <= most


def test_weights_below_nothing_count_in_favour() -> None:
    table = read(pl.DataFrame({"a": [0, 1, 2, 3], "b": [0, 1, 2, 4]}), quasi=["a", "b"])
    columns = quasi_columns(table.domain)
    p = pack(columns, *units_of(columns, [0.75, -0.25], ONE))
    assert cells_of(p, 0, np.array([0]), np.array([3]))[0] == 0.75 * p.one
    assert cells_of(p, 1, np.array([1]), np.array([2]))[0] == -p.one / 16


@pytest.mark.reference("probe_mean_price")
@settings(max_examples=20, deadline=None)
@given(cases(sensitive=(0, 0)))
def test_the_mean_price_knows_no_weights(case: Case) -> None:
    p = prices_of(case.table().domain)
    shares = np.linspace(0, 1, p.unit.size)
    mean = _native.probe_mean_price(p, np.rint(shares * p.unit).astype(np.int64))
    assert mean == pytest.approx(shares.mean(), abs=1e-9)


def test_columns_without_any_loss_cost_nothing() -> None:
    table = read(pl.DataFrame({"a": ["x", "x"], "b": [1, 1]}), quasi=["a", "b"])
    columns = quasi_columns(table.domain)
    units, one = units_of(columns, [0.0, 0.0], ONE)
    assert units.tolist() == [0.0, 0.0]
    assert one == ONE
