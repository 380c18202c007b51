"""Medians of codes, which are counted where they lie close together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.kernels import _native


def median_of(codes: np.ndarray, lo: int, hi: int, limits: tuple, weights: np.ndarray | None) -> tuple:
    """The lower median of some rows of one column, and how many lie below it."""
    return _native.probe_median(codes, lo, hi, *limits, weights)


@pytest.mark.reference("probe_median")
@settings(max_examples=20)
@given(st.lists(st.one_of(st.integers(0, 3), st.integers(0, 10**9)), min_size=1, max_size=9))
def test_medians_of_codes_near_and_far(values: list[int]) -> None:
    """Codes far apart are found by halving their range, others by counting."""
    padded = np.array([7, *values, 10**9], dtype=np.int32)[:, None]
    median = sorted(values)[(len(values) + 1) // 2 - 1]
    found = median_of(padded, 1, len(values) + 1, (min(values), max(values)), None)
    assert found == (median, sum(value < median for value in values))


@settings(max_examples=20)
@given(
    st.lists(
        st.tuples(st.one_of(st.integers(0, 3), st.integers(0, 10**9)), st.integers(1, 5)), min_size=1, max_size=9
    )
)
def test_a_cell_counts_as_often_as_it_has_rows(cells: list[tuple[int, int]]) -> None:
    padded = np.array([7, *(value for value, _ in cells), 10**9], dtype=np.int32)[:, None]
    rows = sorted(value for value, count in cells for _ in range(count))
    median = rows[(len(rows) + 1) // 2 - 1]
    weights = np.array([1, *(count for _, count in cells), 1])
    found = median_of(padded, 1, len(cells) + 1, (rows[0], rows[-1]), weights)
    assert found == (median, sum(value < median for value in rows))
