"""Cells of groups: what they cost alone, with one more record, with each of many records, and joined."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.algorithms.prices import prices_of
from shoal.kernels import _native
from shoal.kernels.prices import Prices
from tests.kernels.test_cells import exact_ticks
from tests.measures.naive import NaiveColumn
from tests.table.random_tables import cases


def grow_groups(p: Prices, codes: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For the first 1, 2, ... rows as one group: ticks of each cell, as foretold, and both sums."""
    cells, foretold = np.zeros((2, rows.size, codes.shape[0]), dtype=np.int64)
    totals = np.zeros((rows.size, 2), dtype=np.int64)
    _native.probe_growth(p, codes, rows, cells, foretold, totals)
    return cells, foretold, totals


def grown_by(p: Prices, codes: np.ndarray, group: np.ndarray, others: np.ndarray) -> np.ndarray:
    """What a group costs with each of some other records."""
    out = np.empty(others.size, dtype=np.int64)
    _native.probe_costs_with(p, codes, group, others, out)
    return out


@pytest.mark.reference("probe_growth")
@settings(max_examples=25, deadline=None)
@given(st.data())
def test_growing_equals_pricing_from_scratch(data: st.DataObject) -> None:
    case = data.draw(cases(sensitive=(0, 0)))
    table = case.table()
    p = prices_of(table.domain)
    columns = [NaiveColumn(case, name) for name in case.quasi]
    rows = data.draw(st.lists(st.integers(0, case.n - 1), min_size=1, unique=True))
    found, foretold, totals = grow_groups(p, np.ascontiguousarray(table.quasi_codes), np.array(rows))
    assert (found == foretold).all()
    assert (totals[1:, 0] == totals[1:, 1]).all()
    for size, total in enumerate(totals[:, 1].tolist(), start=1):
        assert total == pytest.approx(float(exact_ticks(columns, rows[:size], p)), abs=len(columns) / 2)


@pytest.mark.reference("probe_costs_with")
@settings(max_examples=25, deadline=None)
@given(case=cases(rows=(2, 14), sensitive=(0, 0)), data=st.data())
def test_many_at_once_cost_what_each_costs(case: Any, data: st.DataObject) -> None:
    table = case.table()
    p = prices_of(table.domain)
    group = data.draw(st.lists(st.integers(0, case.n - 1), min_size=1, unique=True))
    others = np.array(data.draw(st.permutations(range(case.n))))
    codes = np.ascontiguousarray(table.quasi_codes, dtype=np.int16)
    found = grown_by(p, codes, np.array(group), others)
    columns = [NaiveColumn(case, name) for name in case.quasi]
    for ticks, row in zip(found.tolist(), others.tolist(), strict=True):
        assert ticks == pytest.approx(float(exact_ticks(columns, [*group, row], p)), abs=len(columns) / 2)
        assert ticks == grow_groups(p, codes, np.array([*group, row]))[2][-1, 1]


@settings(max_examples=25, deadline=None)
@given(case=cases(rows=(1, 12), sensitive=(0, 0), missing=False), data=st.data())
def test_unknown_values_leave_a_cell_as_it_is(case: Any, data: st.DataObject) -> None:
    """A group costs what its known values do, wherever the unknown ones come in."""
    table = case.table()
    p = prices_of(table.domain)
    codes = np.ascontiguousarray(table.quasi_codes, dtype=np.int16)
    hidden = np.array(data.draw(st.lists(st.booleans(), min_size=codes.size, max_size=codes.size))).reshape(codes.shape)
    codes[hidden] = -1
    rows = np.arange(case.n)
    found, foretold, _ = grow_groups(p, codes, rows)
    assert (found == foretold).all()
    for a, name in enumerate(case.quasi):
        column = NaiveColumn(case, name)
        known = [column.values[row] for row in range(case.n) if codes[a, row] >= 0]
        expected = float(column.spread(column.cell(known))) if known else 0.0
        assert found[-1, a] == pytest.approx(expected * p.unit[a], abs=1)
    split = data.draw(st.integers(1, case.n))
    with_each = grown_by(p, codes, rows[:split], rows)
    for row in range(case.n):
        assert with_each[row] == grow_groups(p, codes, np.append(rows[:split], row))[2][-1, 1]
