"""Distances by hand, zero on equal rows, and what a star comes to."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy.stats import wasserstein_distance

from shoal.utility.distributions import Distributions, associations, earth_mover, hellinger, total_variation
from shoal.utility.features import Rows, frame_features
from tests.evaluation.samples import people, reading, starred, without_quasi


def test_distances_by_hand() -> None:
    one, other = np.array([0.5, 0.5, 0.0]), np.array([0.25, 0.25, 0.5])
    assert total_variation(one, other) == 0.5
    assert hellinger(one, other) == pytest.approx(np.sqrt(1 - 2 * np.sqrt(0.125)))
    assert earth_mover(one, other, np.array([0.0, 1.0, 10.0])) == pytest.approx((0.25 * 1 + 0.5 * 9) / 10)
    assert hellinger(np.array([1.0, 0.0]), np.array([0.0, 1.0])) == 1.0


def test_earth_mover_beside_scipy() -> None:
    random = np.random.default_rng(2)
    at, one, other = random.random(20) * 50, random.random(20), random.random(20)
    expected = wasserstein_distance(at, at, one, other) / np.ptp(at)
    assert earth_mover(one, other, at) == pytest.approx(expected)


def test_equal_rows_are_at_no_distance() -> None:
    variation, earth, pairs = Distributions().run(reading(people()))
    assert variation.value == earth.value == pairs.value == 0.0
    assert variation.baseline is not None
    assert variation.baseline > 0.05
    assert set(variation.also["columns"]["town"]) == {"variation", "hellinger", "nothing"}


def test_stars_are_as_far_as_saying_nothing() -> None:
    variation, earth, pairs = Distributions(columns=["age", "sex", "town"]).run(without_quasi(people()))
    assert variation.value == pytest.approx(variation.baseline)
    assert earth.value == pytest.approx(earth.baseline)
    assert pairs.value == pytest.approx(pairs.baseline, abs=1e-7)


def test_a_column_by_hand() -> None:
    frame = pl.DataFrame({"x": ["a", "a", "a", "b"], "y": ["p", "q", "p", "q"]})
    made = reading(frame)
    blurred = replace(made, features={**made.features, "x": starred(made.features["x"])})
    variation = Distributions(columns=["x"]).run(blurred)[0]
    assert (variation.value, variation.baseline) == (0.25, 0.25)
    assert "25.0% of those of 'x'" in variation.sentence


def test_associations_by_hand() -> None:
    frame = pl.DataFrame(
        {
            "x": [1.0, 2.0, 3.0, 4.0], "y": [2.0, 4.0, 6.0, 9.0], "a": ["p", "p", "q", "q"],
            "b": ["r", "s", "s", "s"], "c": ["k", "k", "l", "l"],
        }
    )  # fmt: skip
    features = list(frame_features(frame).values())
    found = associations(Rows(features=features, released=False, rows=np.arange(4)))
    assert found[0, 1] == pytest.approx(np.corrcoef(frame["x"], frame["y"])[0, 1])
    assert found[0, 2] == pytest.approx(np.sqrt(4 / 5))  # between-class over total sum of squares
    assert found[2, 4] == pytest.approx(1.0)
    # The table is (1, 1; 0, 2), with 0.5, 1.5 expected in each row: chi squared is 4/3 of four rows.
    assert found[2, 3] == pytest.approx(np.sqrt(1 / 3))
    assert np.array_equal(found, found.T)
