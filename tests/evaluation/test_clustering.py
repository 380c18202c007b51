"""Clustering: agreement by hand and beside scikit-learn's, equal on equal rows, chance on stars."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from shoal.utility.classifiers import sklearn
from shoal.utility.clustering import Clustering, agreement, largest, largest_clusters
from tests.evaluation.samples import people, reading, starred, without_quasi


def test_agreement_is_the_adjusted_rand_index() -> None:
    random = np.random.default_rng(0)
    for clusters in (2, 5):
        one, other = random.integers(0, clusters, (2, 60))
        assert agreement(one, other) == pytest.approx(adjusted_rand_score(one, other))
    assert agreement(np.array([0, 0, 1, 1]), np.array([1, 1, 0, 0])) == 1.0
    assert agreement(np.zeros(4, dtype=int), np.zeros(4, dtype=int)) == 1.0


def test_the_largest_cluster_leaves_out_rows_in_none() -> None:
    assert largest(np.array([-1, -1, -1, 0, 1, 1])) == pytest.approx(2 / 6)
    assert largest(np.array([-1, -1])) == 0.0


def test_equal_rows_have_equal_clusters() -> None:
    agreed, means, density = Clustering().run(reading(people()))
    assert (agreed.value, agreed.interval, agreed.baseline) == (1.0, (1.0, 1.0), 0.0)
    assert means.value == density.value == 0.0
    assert means.also["release"] == means.also["original"] < 0.5


def test_stars_agree_by_chance() -> None:
    made = without_quasi(people())
    made.features["disease"] = starred(made.features["disease"])  # type: ignore[index]
    agreed, means, density = Clustering().run(made)
    assert agreed.value == 0.0
    assert means.also["release"] == density.also["release"] == 1.0


def test_without_knowing_whose_rows_only_shares_are_compared() -> None:
    found = Clustering(most=100, sample=50).run(reading(people(), source=None))
    assert [one.name for one in found] == ["clustering k-means", "clustering density"]


def test_plain_frames_and_missing_libraries() -> None:
    found = largest_clusters(people(), clusters=3)
    assert found == largest_clusters(people(), clusters=3)
    assert 1 / 3 < found["k-means"] < 1.0
    with pytest.raises(Exception, match=r"pip install 'shoal\[eval\]'"):
        sklearn("Clustering", "no_such_part")
