"""Extents of groups: ranges and sets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels.grouping import group_ranges
from shoal.kernels.histograms import group_sets, number_sets


@st.composite
def grouped(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, int, int]:
    """Codes and groups (-1: none) of rows, number of groups, number of codes."""
    card = draw(st.sampled_from([1, 63, 64, 65, 200]))
    pairs = draw(st.lists(st.tuples(st.integers(0, card - 1), st.integers(-1, 3)), max_size=60))
    codes, ids = (np.array(column, dtype=np.int32) for column in zip(*pairs, strict=True)) if pairs else (
        np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32),
    )  # fmt: skip
    return codes, ids, 4, card


@pytest.mark.reference("group_ranges")
@given(grouped())
def test_ranges(drawn: tuple) -> None:
    codes, ids, groups, _ = drawn
    low, high = group_ranges(codes, ids, groups)
    for group in range(groups):
        mine = codes[ids == group]
        if mine.size:
            assert (low[group], high[group]) == (mine.min(), mine.max())
        else:
            assert low[group] > high[group]


@pytest.mark.reference("group_sets", "number_sets")
@given(grouped())
def test_sets(drawn: tuple) -> None:
    codes, ids, groups, card = drawn
    starts, members = group_sets(codes, ids, groups, card)
    found = [members[starts[group] : starts[group + 1]].tolist() for group in range(groups)]
    assert found == [sorted(set(codes[ids == group].tolist())) for group in range(groups)]
    numbers, first = number_sets(starts, members)
    assert [found[at] for at in first[numbers]] == found
    assert len({tuple(one) for one in found}) == first.size
    assert (np.diff(first) > 0).all()
