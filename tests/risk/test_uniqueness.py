"""Population uniqueness: a hand-computed case, and populations whose truth is known."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.results import Risk
from shoal.risk.classes import Classes
from shoal.risk.uniqueness import ESTIMATORS, maximise, standard_error, uniqueness_figures, zayatz


def crowd(theta: float, alpha: float, n: int, random: np.random.Generator) -> np.ndarray:
    """Class sizes of a population grown by Pitman's rule: the next person starts a class or joins one."""
    sizes: list[int] = []
    joined = np.empty(n, dtype=np.int64)
    for i in range(n):
        if random.random() * (theta + i) < theta + alpha * len(sizes):
            joined[i] = len(sizes)
            sizes.append(1)
            continue
        while True:
            group = joined[random.integers(i)]
            if random.random() * sizes[group] < sizes[group] - alpha:
                break
        joined[i] = group
        sizes[group] += 1
    return np.array(sizes)


def drawn(population: np.ndarray, fraction: float, random: np.random.Generator) -> tuple[Classes, float]:
    """A sample, and which share of it is unique in the population."""
    labels = np.repeat(np.arange(population.size), population)
    sample = random.choice(labels, int(fraction * labels.size), replace=False)
    sizes = np.bincount(sample, minlength=population.size)
    truth = float(((sizes == 1) & (population == 1)).sum() / sample.size)
    sizes = sizes[sizes > 0]
    return Classes(sizes=sizes, shares=np.full(sizes.size, fraction)), truth


def estimates(classes: Classes) -> dict[str, Risk]:
    return {name.removeprefix("population-unique-"): one for name, one in uniqueness_figures(classes).items()}


def test_zayatz_by_hand() -> None:
    # Sizes 1, 1, 2; n = 4 of N = 8. h(1) = C(7,3)/C(8,4) = 35/70, h(2) = 2 C(6,3)/70 = 40/70.
    chance, _ = zayatz(np.array([1, 2]), np.array([2, 1]), 4, 8)
    one, two = Fraction(math.comb(7, 3), math.comb(8, 4)), Fraction(2 * math.comb(6, 3), math.comb(8, 4))
    assert (one, two) == (Fraction(1, 2), Fraction(4, 7))
    assert chance == pytest.approx(float(2 * one / (2 * one + two)))
    assert Fraction(7, 11) == 2 * one / (2 * one + two)


@pytest.mark.parametrize("fraction", [0.05, 0.1, 0.3])
def test_pitman_finds_the_truth_of_its_own_populations(fraction: float) -> None:
    random = np.random.default_rng(7)
    for theta, alpha in ((50.0, 0.6), (400.0, 0.3)):
        classes, truth = drawn(crowd(theta, alpha, 20_000, random), fraction, random)
        found = estimates(classes)["pitman"]
        assert found.interval[0] <= truth <= found.interval[1]
        assert found.value == pytest.approx(truth, rel=0.35)


@pytest.mark.parametrize("fraction", [0.1, 0.3, 0.6])
def test_snb_finds_the_truth_of_its_own_populations(fraction: float) -> None:
    random = np.random.default_rng(11)
    for alpha, beta in ((1.0, 0.2), (0.3, 0.05)):
        classes, truth = drawn(1 + random.negative_binomial(alpha, beta, 20_000), fraction, random)
        found = estimates(classes)["snb"]
        assert found.interval[0] <= truth <= found.interval[1]
        assert found.value == pytest.approx(truth, rel=0.35)


def test_zayatz_is_right_where_sample_and_population_look_alike() -> None:
    # A power law looks the same at every scale; a population of large classes does not.
    random = np.random.default_rng(13)
    classes, truth = drawn(crowd(50.0, 0.6, 20_000, random), 0.3, random)
    assert estimates(classes)["zayatz"].value == pytest.approx(truth, rel=0.1)
    classes, truth = drawn(random.geometric(0.2, 10_000), 0.05, random)
    assert estimates(classes)["zayatz"].value > 5 * truth


def test_nobody_is_unique_among_large_classes() -> None:
    random = np.random.default_rng(17)
    classes, truth = drawn(random.integers(50, 100, 200), 0.05, random)
    assert truth == 0
    assert estimates(classes)["snb"].value < 1e-3
    assert estimates(classes)["pitman"].value < 0.01


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(1, 12), min_size=1, max_size=40), st.floats(0.01, 1.0))
def test_bounds(sizes: list[int], fraction: float) -> None:
    found = np.array(sizes)
    classes = Classes(sizes=found, shares=np.full(found.size, fraction))
    share = (found == 1).sum() / found.sum()
    for one in uniqueness_figures(classes).values():
        assert 0.0 <= one.interval[0] <= one.value + 1e-12
        assert one.value <= one.interval[1] + 1e-12 <= share + 2e-12


def test_a_whole_table_needs_no_model() -> None:
    classes = Classes(sizes=np.array([1, 1, 3]), shares=np.ones(3))
    assert {one.value for one in uniqueness_figures(classes).values()} == {2 / 5}
    assert set(uniqueness_figures(classes)) == {f"population-unique-{name}" for name in ESTIMATORS}


def test_fitting_a_normal_distribution() -> None:
    values = np.random.default_rng(1).normal(3.0, 2.0, 400)

    def likelihood(at: np.ndarray) -> float:
        return float(-(values.size * at[1]) - ((values - at[0]) ** 2).sum() / (2.0 * np.exp(2.0 * at[1])))

    best = maximise(likelihood, [(0.0, 0.0), (10.0, 2.0)])
    assert best[0] == pytest.approx(values.mean(), abs=1e-4)
    assert np.exp(best[1]) == pytest.approx(values.std(), rel=1e-4)
    error = standard_error(likelihood, lambda at: float(at[0]), best)
    assert error == pytest.approx(values.std() / math.sqrt(values.size), rel=1e-3)
    assert standard_error(lambda at: 0.0, lambda at: float(at[0]), best) is None
