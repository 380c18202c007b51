"""Median-based pre-partitioning against Algorithm 2 read line by line."""

from __future__ import annotations

from fractions import Fraction
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.algorithms.prices import pack, prices_of, quasi_columns, units_of
from shoal.kernels import median_split
from shoal.kernels.cores import use_cores
from shoal.kernels.median_split import halve
from tests.measures.naive import NaiveColumn
from tests.table.random_tables import Case, cases


def width(column: NaiveColumn, rows: list[int], raw: bool) -> Fraction:
    """Range of a column over some rows: a share of the domain times its weight, or as it stands."""
    spread = column.spread(column.cell([column.values[row] for row in rows]))
    if raw:
        return spread * (column.span if column.interval else len(column.domain) - 1)
    return spread * Fraction(column.weight)


def reference(case: Case, rows: list[int], size: int, raw: bool) -> list[list[int]]:
    """Algorithm 2 with ties shared half and half (the thesis' footnote)."""
    if len(rows) < 2 * size:
        return [rows]
    columns = [NaiveColumn(case, name) for name in case.quasi]
    found = [width(column, rows, raw) for column in columns]
    a = found.index(max(found))
    codes = case.table().quasi_codes[a]
    left = sorted(sorted(rows, key=lambda row: codes[row])[: len(rows) // 2])
    right = sorted(set(rows) - set(left))
    if min(len(left), len(right)) < size:
        return [rows]
    return reference(case, left, size, raw) + reference(case, right, size, raw)


def subspaces(case: Case, size: int, raw: bool, dtype: type = np.int16, shared: bool = False) -> list[list[int]]:
    table = case.table()
    codes = np.ascontiguousarray(table.quasi_codes.T, dtype=dtype)
    given_codes = codes.copy()
    columns = quasi_columns(table.domain)
    widths = [column.width for column in columns]
    prices = pack(columns, *units_of(columns, widths, 1 << 50)) if raw else prices_of(table.domain)
    with mock.patch.object(median_split, "PARALLEL_FROM", 0 if shared else 1 << 60):
        order, starts = halve(codes, prices, size)
    assert order.dtype == np.int32
    assert starts.dtype == np.int64
    assert (codes == given_codes[order]).all()
    return [order[a:b].tolist() for a, b in zip(starts[:-1], starts[1:], strict=True)]


@pytest.mark.reference("halve_part", "halve_parts")
@settings(max_examples=40, deadline=None)
@given(
    case=cases(rows=(1, 30), sensitive=(0, 0)),
    size=st.integers(1, 8),
    raw=st.booleans(),
    dtype=st.sampled_from([np.int16, np.int32]),
)
def test_subspaces_are_those_of_the_reference(case: Case, size: int, raw: bool, dtype: type) -> None:
    expected = reference(case, list(range(case.n)), size, raw)
    for shared in (False, True):
        assert subspaces(case, size, raw, dtype, shared) == expected


@pytest.mark.parametrize("n,size", [(1, 1), (7, 4), (8, 4), (9, 3), (1000, 7), (4001, 5)])
def test_sizes_lie_between_s_and_2s(n: int, size: int) -> None:
    rng = np.random.default_rng(n)
    case = Case(
        data={"a": rng.integers(0, 50, n).tolist(), "b": rng.integers(0, 3, n).tolist()},
        kinds={"a": "integer", "b": "integer"}, quasi=["a", "b"], sensitive=[],
    )  # fmt: skip
    found = subspaces(case, size, False)
    assert sorted(row for part in found for row in part) == list(range(n))
    assert all(size <= len(part) < 2 * size for part in found) or (len(found) == 1 and n < 2 * size)


def test_one_core_or_two_or_no_sharing_give_the_same() -> None:
    rng = np.random.default_rng(5)
    n = 20_000
    case = Case(
        data={"a": rng.integers(0, 3000, n).tolist(), "b": rng.integers(0, 9, n).tolist()},
        kinds={"a": "integer", "b": "flat"}, quasi=["a", "b"], sensitive=[],
    )  # fmt: skip
    case = Case(**(case.__dict__ | {"data": dict(case.data) | {"b": [str(x) for x in case.data["b"]]}}))
    table = case.table()
    found = []
    for threads, threshold in ((1, 0), (3, 0), (1, 1 << 60)):
        use_cores(threads)
        try:
            with mock.patch.object(median_split, "PARALLEL_FROM", threshold):
                codes = np.ascontiguousarray(table.quasi_codes.T)
                found.append((*halve(codes, prices_of(table.domain), 20), codes))
        finally:
            use_cores(None)
    assert found[0][1].size > 500
    for other in found[1:]:
        assert all((a == b).all() for a, b in zip(found[0], other, strict=True))
