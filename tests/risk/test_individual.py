"""Individual risk: closed forms in fractions, the spread of the population's counts, and a survey by hand."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from shoal.recipe.source import read
from shoal.risk.assess import assess
from shoal.risk.attackers import individual_risk, population_range, records_within

LN2 = math.log(2.0)


@pytest.mark.parametrize(
    "f, fraction, log",
    [
        # p = q = 1/2, ln p = -ln 2.
        (1, Fraction(0), Fraction(1)),  # (p/q) ln(1/p) = ln 2
        (2, Fraction(1), Fraction(-1)),  # (p/q**2)(p ln p + q) = 2 (1/2 - (1/2) ln 2) = 1 - ln 2
        (3, Fraction(-1, 2), Fraction(1)),  # (p/2q**3)(q(3q - 2) - 2p**2 ln p) = 2 (-1/4 + (1/2) ln 2)
        (4, Fraction(5, 6), Fraction(-1)),  # I(4) = (p/q)(1/3 - I(3)) = 1/3 + 1/2 - ln 2
    ],
)
def test_by_hand(f: int, fraction: Fraction, log: Fraction) -> None:
    mean, variance = individual_risk(np.array([f]), np.array([0.5]))
    assert mean[0] == pytest.approx(float(fraction) + float(log) * LN2, abs=1e-14)
    assert variance[0] > 0


@pytest.mark.parametrize("p", [0.01, 0.2, 0.7])
def test_closed_forms(p: float) -> None:
    q, log = 1.0 - p, math.log(p)
    expected = [
        -p / q * log,
        p / q**2 * (p * log + q),
        p / (2 * q**3) * (q * (3 * q - 2) - 2 * p**2 * log),
    ]
    assert individual_risk(np.array([1, 2, 3]), np.full(3, p))[0].tolist() == pytest.approx(expected, rel=1e-9)


def test_a_whole_population_is_counted() -> None:
    mean, variance = individual_risk(np.array([1, 4, 7]), np.ones(3))
    assert mean.tolist() == pytest.approx([1, 1 / 4, 1 / 7])
    assert variance.tolist() == pytest.approx([0, 0, 0], abs=1e-15)


def test_records_with_few_people_in_the_population() -> None:
    # f = 1, p = 1/4: P(F <= h) = 1 - (3/4)**h. f = 2: P(F = 2) = 1/16, P(F = 3) = 2 (1/16)(3/4) = 3/32.
    mean, variance = records_within(np.array([1, 2]), np.array([0.25, 0.25]), 3)
    one = [Fraction(0), Fraction(1, 4), Fraction(7, 16), Fraction(37, 64)]
    two = [Fraction(0), Fraction(0), Fraction(1, 16), Fraction(5, 32)]
    for h in range(4):
        assert mean[h] == pytest.approx(float(one[h] + 2 * two[h]))
        assert variance[h] == pytest.approx(float(one[h] * (1 - one[h]) + 4 * two[h] * (1 - two[h])))


def test_the_range_holds_nineteen_draws_of_twenty() -> None:
    random = np.random.default_rng(3)
    for f, p in ((1, 0.1), (4, 0.5), (30, 0.2), (5000, 0.3)):
        low, high = population_range(f, p)
        drawn = f + random.negative_binomial(f, p, 20_000)
        inside = float(((drawn >= low) & (drawn <= high)).mean())
        assert 0.945 <= inside <= 0.99
        assert low >= f
    assert population_range(3, 1.0) == (3, 3)


# Ten records as in a labour force survey, with weights; four are unique, the others are in pairs.
SURVEY = pl.DataFrame(
    [
        ("urban", "f", "secondary incomplete", "employed", 180),
        ("urban", "f", "secondary incomplete", "employed", 180),
        ("urban", "f", "primary incomplete", "outside", 215),
        ("urban", "m", "secondary complete", "employed", 76),
        ("rural", "f", "secondary complete", "unemployed", 186),
        ("urban", "m", "secondary complete", "employed", 76),
        ("urban", "f", "primary complete", "outside", 180),
        ("urban", "m", "post-secondary", "unemployed", 215),
        ("urban", "f", "secondary incomplete", "outside", 186),
        ("urban", "f", "secondary incomplete", "outside", 76),
    ],
    schema=["residence", "sex", "education", "labour", "w"],
    orient="row",
)
KEYS = ["residence", "sex", "education", "labour"]


def test_a_weighted_survey_by_hand() -> None:
    def one(weight: int) -> float:  # f = 1, p = 1/F: (p/q) ln(1/p) = ln F / (F - 1)
        return math.log(weight) / (weight - 1)

    def two(weight: int) -> float:  # f = 2, p = 2/F: (p/q**2)(p ln p + q)
        p = 2 / weight
        return p / (1 - p) ** 2 * (p * math.log(p) + 1 - p)

    expected = [two(360), two(360), one(215), two(152), one(186), two(152), one(180), one(215), two(262), two(262)]
    report = assess(read(SURVEY, quasi=KEYS, weight="w"))
    assert report.by_record.journalist is not None
    assert report.by_record.journalist.tolist() == pytest.approx(expected)
    assert report.figures["journalist-expected"].value == pytest.approx(sum(expected))  # sdcMicro's global risk times n


def test_suda_and_dis_suda_of_four_keys_by_hand() -> None:
    # K = 4: a minimal unique of one key scores 3! = 6 and one of two keys 2! = 2.
    # Row 3 and 7: education alone. Row 5: residence alone; sex and education, sex and labour, education and labour.
    # Row 8: education alone; sex and labour, residence and labour.
    scores = [0, 0, 6, 0, 6 + 2 + 2 + 2, 0, 6, 6 + 2 + 2, 0, 0]
    report = assess(read(SURVEY.drop("w"), quasi=KEYS), fraction=0.1)
    assert report.by_record.suda is not None
    assert report.by_record.dis is not None
    assert report.by_record.suda.tolist() == scores
    # 4 unique records and 6 in pairs: D = 4 * 0.1 / (4 * 0.1 + 6 * 0.9).
    chance = 0.4 / (0.4 + 5.4)
    assert report.figures["dis"].value == pytest.approx(chance)
    power = 1 + (8 - 4) / 20
    total = sum(score**-power for score in scores if score)
    expected = [1 / (1 + (4 / chance - 4) / (score**power * total)) if score else 0.0 for score in scores]
    assert report.by_record.dis.tolist() == pytest.approx(expected)
