"""Growing groups: the price before a record joins is the price of the group after."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.algorithms.base import geometry
from shoal.engines.memory import MemoryRows
from shoal.io.source import read
from shoal.kernels.price.clusters import extend, open_group, pair_prices, price_each, price_with, prices, reprice
from shoal.kernels.price.geometry import price
from shoal.recoding.applied import apply_recoding
from shoal.recoding.recodings import Grouping
from shoal.table.table import with_crowd
from tests.kernels.test_geometry import extent
from tests.measures.naive import NaiveColumn, record_price
from tests.table.random_tables import cases


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_growing_equals_pricing_from_scratch(data: st.DataObject) -> None:
    case = data.draw(cases(sensitive=(0, 0)))
    table = case.table()
    geo = geometry(table)
    columns = [NaiveColumn(case, name) for name in case.quasi]
    rows = data.draw(st.lists(st.integers(0, case.n - 1), min_size=1, unique=True))
    codes = np.ascontiguousarray(table.quasi_codes.T)
    low, high = np.empty_like(codes[0]), np.empty_like(codes[0])
    bits = np.full(int(geo.word_at[-1]), np.uint64(7))
    now = np.empty(codes.shape[1])
    open_group(geo, codes[rows[0]], low, high, bits)
    for done, row in enumerate(rows[1:], start=1):
        prices(geo, low, high, bits, now)
        assert price_with(geo, codes[row], low, high, bits, now, now.copy()) == pytest.approx(
            record_price(columns, rows[: done + 1]), abs=1e-12
        )
        extend(geo, codes[row], low, high, bits)
    expected = extent(table, geo, rows)
    for found, wanted in zip((low, high, bits), expected, strict=True):
        assert (found == wanted).all()


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_prices_are_those_of_snapped_cells(dtype: type) -> None:
    values = (np.arange(2000) * 7 % 1999).astype(dtype) + (0.5 if dtype is np.float64 else 0)
    table = with_crowd(read(pl.DataFrame({"a": values}), quasi=["a"]), 5)
    geo = geometry(table)
    ids = (np.arange(2000) // 5).astype(np.int32)
    spread = apply_recoding(MemoryRows(table), Grouping(ids=ids, groups=400))
    codes = table.quasi_codes[0]
    for g in (0, 17, 399):
        mine = codes[ids == g]
        (row,) = np.unique(spread.classes[ids == g])
        assert price(geo, 0, mine.min(), mine.max()) == pytest.approx(spread.cells["a"].spread()[row], abs=1e-12)
    assert price(geo, 0, 3, 3) > 0


@settings(max_examples=80, deadline=None)
@given(case=cases(rows=(2, 14), sensitive=(0, 0)), data=st.data())
def test_many_at_once_cost_what_each_costs(case: Any, data: st.DataObject) -> None:
    table = case.table()
    geo = geometry(table)
    columns = [NaiveColumn(case, name) for name in case.quasi]
    group = data.draw(st.lists(st.integers(0, case.n - 1), min_size=1, unique=True))
    others = np.array(data.draw(st.permutations(range(case.n))))
    by_column = np.ascontiguousarray(table.quasi_codes, dtype=np.int16)
    found = np.empty(case.n)
    pair_prices(geo, by_column, group[0], others, case.n, 0.25, found)
    for price_of, row in zip(found, others.tolist(), strict=True):
        assert price_of == pytest.approx(0.25 + record_price(columns, [group[0], row]), abs=1e-12)
    stale, shares, totals = np.ones(len(columns), dtype=np.uint8), np.zeros(by_column.shape), np.zeros(case.n)
    before = np.zeros(len(columns))
    for size in range(1, len(group) + 1):
        low, high, bits = extent(table, geo, group[:size])
        now = np.empty(len(columns))
        prices(geo, low, high, bits, now)
        if size > 1:
            stale[:] = now != before
        reprice(geo, by_column, others, case.n, low, high, bits, now, stale, shares, totals)
        before = now
        assert not stale.any()
        for row in range(case.n):
            assert totals[row] == pytest.approx(record_price(columns, [*group[:size], row]), abs=1e-12)


@settings(max_examples=80, deadline=None)
@given(case=cases(rows=(1, 12), sensitive=(0, 0), missing=False), data=st.data())
def test_unknown_values_leave_an_extent_as_it_is(case: Any, data: st.DataObject) -> None:
    """A group costs what its known values do, wherever the unknown ones come in."""
    table = case.table()
    geo = geometry(table)
    codes = np.ascontiguousarray(table.quasi_codes.T)
    hidden = np.array(data.draw(st.lists(st.booleans(), min_size=codes.size, max_size=codes.size))).reshape(codes.shape)
    codes[hidden] = -1
    low, high = np.empty_like(codes[0]), np.empty_like(codes[0])
    bits = np.empty(int(geo.word_at[-1]), dtype=np.uint64)
    now, then, each = np.zeros(codes.shape[1]), np.zeros(codes.shape[1]), np.empty((2, 2))
    open_group(geo, codes[0], low, high, bits)
    for row in codes[1:]:
        prices(geo, low, high, bits, now)
        total = price_with(geo, row, low, high, bits, now, then)
        twice = [np.stack([one, one]) for one in (low, high, bits, now)]
        price_each(geo, row, *twice, 0, 2, each)
        extend(geo, row, low, high, bits)
        prices(geo, low, high, bits, now)
        assert now == pytest.approx(then, abs=1e-12)
        assert total == pytest.approx(float(now @ geo.weight), abs=1e-12)
        assert each[1] == pytest.approx([total, then.mean()], abs=1e-12)
    for a, name in enumerate(case.quasi):
        column = NaiveColumn(case, name)
        known = [column.values[row] for row in range(case.n) if codes[row, a] >= 0]
        expected = float(column.spread(column.cell(known))) if known else 0.0
        prices(geo, low, high, bits, now)
        assert now[a] == pytest.approx(expected, abs=1e-12)
