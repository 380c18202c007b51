"""Extents of groups: ranges, bit sets, and sums over them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels.count.extents import count_bits, group_bits, group_ranges, group_sums, popcount, weigh_bits


@st.composite
def grouped(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, int, int]:
    """Codes and groups (-1: none) of rows, number of groups, number of codes."""
    card = draw(st.sampled_from([1, 63, 64, 65, 200]))
    pairs = draw(st.lists(st.tuples(st.integers(0, card - 1), st.integers(-1, 3)), max_size=60))
    codes, ids = (np.array(column, dtype=np.int32) for column in zip(*pairs, strict=True)) if pairs else (
        np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32),
    )  # fmt: skip
    return codes, ids, 4, card


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


@given(grouped())
def test_bit_sets(drawn: tuple) -> None:
    codes, ids, groups, card = drawn
    bits = group_bits(codes, ids, groups, card)
    assert bits.shape == (groups, (card + 63) // 64)
    weights = np.arange(card) + 0.5
    sums = weigh_bits(bits, weights)
    for group in range(groups):
        members = {
            64 * word + place
            for word in range(bits.shape[1])
            for place in range(64)
            if int(bits[group, word]) >> place & 1
        }
        assert members == set(codes[ids == group].tolist())
        assert count_bits(bits)[group] == len(members)
        assert sums[group] == sum(weights[code] for code in members)


@given(st.integers(0, 2**64 - 1))
def test_popcount(word: int) -> None:
    assert popcount(np.uint64(word)) == word.bit_count()


@given(grouped())
def test_sums(drawn: tuple) -> None:
    codes, ids, groups, _ = drawn
    sums = group_sums(codes.astype(np.float64), ids, groups)
    assert sums.tolist() == [float(codes[ids == group].sum()) for group in range(groups)]
