"""Intervals of shares: figures by the formula, and the ends that it was made for."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.utility.randomised import wilson


def test_by_hand() -> None:
    assert wilson(0.5, 100) == pytest.approx((0.403832, 0.596168), abs=1e-6)
    assert wilson(0.0, 10)[0] == 0.0
    assert wilson(1.0, 10)[1] == 1.0
    assert wilson(0.3, 0) == (0.0, 1.0)


@given(st.integers(1, 10**6).flatmap(lambda trials: st.tuples(st.integers(0, trials), st.just(trials))))
def test_an_end_is_a_share_that_the_one_seen_only_just_does_not_contradict(drawn: tuple[int, int]) -> None:
    hits, trials = drawn
    share = hits / trials
    low, high = wilson(share, trials)
    assert 0.0 <= low <= share + 1e-12
    assert share - 1e-12 <= high <= 1.0
    for end in (low, high):
        if 0.0 < end < 1.0:
            off = 1.959963984540054 * math.sqrt(end * (1.0 - end) / trials)
            assert abs(end - share) == pytest.approx(off, rel=1e-6, abs=1e-9)
