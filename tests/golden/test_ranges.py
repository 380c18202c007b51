"""Worked figures of sensitive ranges, and bounds that the other figures obey."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import polars as pl
import pytest

from shoal.models.ranges import RangeDiversity
from shoal.recipe.source import read
from tests.golden import data
from tests.golden.build import judged, of_groups, score
from tests.golden.test_measures import T39, T310

# Loukides 2008, Sec. 5.1: low, middle and high incomes in thousands, of a domain of 0 to 99.
LOW, MIDDLE, HIGH = [0, 9], [10, 30], [80, 99]
INCOMES = [LOW, MIDDLE, HIGH]


def figure(name: str, values: list[Any], policy: Any, *, tree: Any = None) -> float:
    """Range diversity or confidence of one class."""
    settings = {"value": {"domain": [0, 99]}} if tree is None else {"value": {"type": "categorical"}}
    frame = pl.DataFrame({"group": ["g"] * len(values), "value": values if tree is None else list(map(str, values))})
    table = read(
        frame, quasi=["group"], sensitive=["value"], settings=settings, policies={"value": policy},
        hierarchies={} if tree is None else {"value": tree},
    )  # fmt: skip
    return float(judged(table, name=name, p=1).values[0])


def own(values: list[int]) -> list[list[int]]:
    return [[value, value] for value in sorted(set(values))]


GROUP_2 = [0, 22, 23, 24, 25, 26]
SKEWED = [1, 1, 1, 1, 1, 30, 60, 90]
TABLE_5_3 = [1, 4, 9, 9, 90, 90]

# The largest share of a class in one range is that of the range meant, because no other holds more.
SHARES: dict[str, tuple[list[int], Any, Fraction]] = {
    "LP-16": ([1, 4, 9, 90], INCOMES, Fraction(3, 4)),
    "LP-17": (TABLE_5_3, INCOMES, Fraction(2, 3)),
    "LP-18": (TABLE_5_3, {"ranges": [[0, 4]], "else": "value"}, Fraction(1, 3)),
    # The negative attack: who knows that the income is not high is left with four records.
    "LP-19": ([value for value in TABLE_5_3 if value < 80], {"ranges": [[0, 4]], "else": "value"}, Fraction(1, 2)),
    "LP-29": ([1, 4, 22, 23], INCOMES, Fraction(1, 2)),
    "LP-30": ([24, 9, 0, 9], INCOMES, Fraction(3, 4)),
    "LP-31": ([25, 26, 90, 90], INCOMES, Fraction(1, 2)),
}
DIVERSITIES: dict[str, tuple[list[int], Any, Fraction]] = {
    "LP-24": (GROUP_2, [[0, 4], MIDDLE], Fraction(1267, 1782)),
    "LP-26": ([9, 9, 9, 9], [[5, 9]], Fraction(1)),
    "LP-27": ([1, 4, 9, 20], own([1, 4, 9, 20]), Fraction(1, 4)),
    "LP-28": (SKEWED, own(SKEWED), Fraction(7, 16)),
}
# Of two values in one range, half the sum of one and their closeness is the range diversity.
CLOSENESS: dict[str, tuple[list[int], Fraction]] = {
    "LP-21": ([1, 4], Fraction(32, 33)),
    "LP-22": ([1, 90], Fraction(10, 99)),
}
COVERED = {
    *SHARES, *DIVERSITIES, *CLOSENESS, "LP-20", "LP-23", "LP-25", "AL-17", "LU-36", "LU-37", "SV-18",
}  # fmt: skip


@pytest.mark.parametrize("name", SHARES)
def test_range_confidence(name: str) -> None:
    values, policy, expected = SHARES[name]
    assert figure("range-confidence", values, policy) == pytest.approx(float(expected), abs=1e-12)


@pytest.mark.parametrize("name", DIVERSITIES)
def test_range_diversity(name: str) -> None:
    values, policy, expected = DIVERSITIES[name]
    assert figure("range-diversity", values, policy) == pytest.approx(float(expected), abs=1e-12)


@pytest.mark.parametrize("name", CLOSENESS)
def test_closeness_of_numbers(name: str) -> None:
    values, expected = CLOSENESS[name]
    assert 2 * figure("range-diversity", values, [[0, 99]]) - 1 == pytest.approx(float(expected), abs=1e-12)


def test_lp_20_closeness_in_a_hierarchy() -> None:
    """Five of a hundred leaves under the common ancestor."""
    tree = [[str(x), f"group {min(x // 5, 19)}", "*"] for x in range(100)]
    found = figure("range-diversity", [1, 4], {"level": 1}, tree=tree)
    assert 2 * found - 1 == pytest.approx(95 / 99, abs=1e-12)


def test_lp_23_disclosure_confidence_of_one_value() -> None:
    """With every other range its value alone, the rest of the pairs is five."""
    rows = [[str(x), *(("10", "30") if x == 22 else (str(x), str(x)))] for x in GROUP_2]
    found = figure("range-diversity", GROUP_2, {"each": rows})
    assert (36 * found - 5) / 6 == pytest.approx(485 / 594, abs=1e-12)


def test_lp_25_the_mean_over_ordered_pairs_is_the_same() -> None:
    ranges = {x: [0, 4] if x == 0 else MIDDLE for x in GROUP_2}
    pairs = [
        1 - Fraction(abs(u - x), 99) if ranges[u][0] <= x <= ranges[u][1] else Fraction(0)
        for u in GROUP_2
        for x in GROUP_2
    ]
    assert sum(pairs) / 36 == Fraction(1267, 1782)
    assert figure("range-diversity", GROUP_2, [[0, 4], MIDDLE]) == pytest.approx(float(sum(pairs) / 36), abs=1e-12)


def test_lp_28_the_mean_hides_the_worst_range() -> None:
    assert figure("range-diversity", SKEWED, "value") < 0.5 < figure("range-confidence", SKEWED, "value")


def test_lp_31_the_limit_is_inclusive() -> None:
    table = of_groups([[25, 26, 90, 90]])
    assert judged(table, name="range-confidence", p=0.5).ok.all()


def test_al_17_values_that_a_limit_needs() -> None:
    model = RangeDiversity(p=0.3)
    assert model.distinct_needed() == 4
    found = judged(of_groups([[1, 2, 3], [1, 2, 3, 4]]), **model.parameters())
    assert found.ok.tolist() == [False, True]


def test_lu_36_and_lu_37_how_much_worse_than_the_best_a_grouping_can_be() -> None:
    """Theorem 3.3.1 for 8 records, groups of 2 and 3 columns, and the ratio that Tables 3.9 and 3.10 reach."""
    n, s, m = 8, 2, 3
    bound = (n // s) * (Fraction(1, n // (2 * s - 1)) + (m - 1))
    reached = score(T39, "um").value / score(T310, "um").value
    assert (bound, reached) == (10, pytest.approx(9))


def test_sv_18_small_classes_cannot_hide_a_value_better() -> None:
    """A class of at most 2k - 1 = 3 records has a value with a share of a third, whatever they are."""
    worst = [judged(of_groups([list(range(size))]), name="alpha-k-general", alpha=1, k=2).values[0] for size in (2, 3)]
    assert min(worst) == pytest.approx(1 / 3)
    assert judged(of_groups([["HIV", "flu", "cold"]]), name="alpha-k-general", alpha=1 / 3, k=2).ok.all()
    assert not judged(of_groups([["HIV", "flu", "cold"]]), name="alpha-k-general", alpha=0.33, k=2).ok.any()


@pytest.mark.parametrize("name, table, expected", [("mpm", data.TABLE_3_9, 1), ("mpm", data.TABLE_3_10, 0)])
def test_the_measure_is_the_mean_of_the_models_figures(name: str, table: Any, expected: float) -> None:
    assert score(T39 if table is data.TABLE_3_9 else T310, name).value == pytest.approx(expected)
