"""Growing groups: the price before a record joins is the price of the group after."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.algorithms.base import geometry
from shoal.io.source import read
from shoal.kernels.clusters import extend, open_group, price_with, prices
from shoal.kernels.geometry import price
from shoal.recoding.recodings import Grouping
from shoal.recoding.released import apply_recoding
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
        assert price_with(geo, codes[row], low, high, bits, now) == pytest.approx(
            record_price(columns, rows[: done + 1]), abs=1e-12
        )
        extend(geo, codes[row], low, high, bits)
    expected = extent(table, geo, rows)
    for found, wanted in zip((low, high, bits), expected, strict=True):
        assert (found == wanted).all()


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_prices_are_those_of_snapped_cells(dtype: type) -> None:
    values = (np.arange(2000) * 7 % 1999).astype(dtype) + (0.5 if dtype is np.float64 else 0)
    table = read(pl.DataFrame({"a": values}), quasi=["a"])
    geo = geometry(table)
    ids = (np.arange(2000) // 5).astype(np.int32)
    spread = apply_recoding(table, Grouping(ids=ids, groups=400))
    codes = table.quasi[0].codes
    for g in (0, 17, 399):
        mine = codes[ids == g]
        (row,) = np.unique(spread.classes[ids == g])
        assert price(geo, 0, mine.min(), mine.max()) == pytest.approx(spread.cells["a"].spread()[row], abs=1e-12)
    assert price(geo, 0, 3, 3) > 0
