"""Comparisons with a limit: what rounding excuses, and what it does not."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.verify.report import TOLERANCE, Outcome, at_least, at_most

LIMITS = [(0.0, 1e-12), (0.5, 1e-12), (1000.0, 1e-9), (-1000.0, 1e-9)]


@pytest.mark.parametrize("limit, slack", LIMITS)
def test_rounding_is_excused_in_proportion_to_large_limits_only(limit: float, slack: float) -> None:
    steps = np.array([0.9, 1.5]) * slack
    assert at_least(limit - steps, limit).tolist() == [True, False]
    assert at_most(limit + steps, limit).tolist() == [True, False]
    assert at_least(limit + steps, limit).all()
    assert at_most(limit - steps, limit).all()


def test_the_last_excused_value_passes() -> None:
    assert at_least(np.array([0.0 - TOLERANCE]), 0.0).all()
    assert at_most(np.array([0.0 + TOLERANCE]), 0.0).all()


@pytest.mark.parametrize("worst, value", [("low", 2.0), ("high", 5.0)])
def test_the_worst_figure_is_that_of_a_judged_class(worst: str, value: float) -> None:
    figures, judged = np.array([1.0, 2.0, 5.0, 9.0]), np.array([False, True, True, False])
    assert Outcome(figures, judged, judged, worst).worst_value(7.0) == value
    assert Outcome(figures, judged, np.zeros(4, dtype=bool), worst).worst_value(7.0) == 7.0
