"""Moments of 1/F: exact fractions and a long decimal logarithm, and plain sums over F."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from shoal.kernels.suda import inverse_moments

SHARES = [Fraction(1, 1000), Fraction(1, 10), Fraction(1, 3), Fraction(49, 100), Fraction(1, 2), Fraction(2, 3),
          Fraction(9, 10), Fraction(999, 1000)]  # fmt: skip


def exact(f: int, p: Fraction) -> float:
    """I(f) = a + b ln(1/p), a and b by the recursion in fractions, summed with 1000 digits."""
    ratio = p / (1 - p)
    a, b = Fraction(0), ratio
    for i in range(1, f):
        a, b = ratio * (Fraction(1, i) - a), -ratio * b
    with localcontext() as context:
        context.prec = 1000
        log = -(Decimal(p.numerator) / Decimal(p.denominator)).ln()
        whole, times = (Decimal(x.numerator) / Decimal(x.denominator) for x in (a, b))
        return float(whole + times * log)


def plain_sum(f: int, p: float, power: int) -> float:
    """Sum over F of its probability over F**power, until nothing is left of it."""
    chance, total, seen, h = p**f, 0.0, 0.0, f
    while seen < 1.0 - 1e-15 and h < 100_000:
        total += chance / h**power
        seen += chance
        chance *= (1.0 - p) * h / (h + 1 - f)
        h += 1
    return total


def moments(f: int, p: float) -> tuple[float, float]:
    first, second = inverse_moments(np.array([f]), np.array([p]))
    return float(first[0]), float(second[0])


@pytest.mark.parametrize("p", SHARES, ids=str)
@pytest.mark.parametrize("f", [1, 2, 3, 4, 9, 10, 11, 40, 200])
def test_the_mean_is_exact(f: int, p: Fraction) -> None:
    assert moments(f, float(p))[0] == pytest.approx(exact(f, p), rel=1e-12)


@pytest.mark.reference("inverse_moments")
@pytest.mark.parametrize("p", [0.02, 0.3, 0.499, 0.5, 0.8, 1.0])
@pytest.mark.parametrize("f", [1, 2, 5, 12, 60])
def test_both_moments_by_summation(f: int, p: float) -> None:
    first, second = moments(f, p)
    assert first == pytest.approx(plain_sum(f, p, 1), rel=1e-9)
    assert second == pytest.approx(plain_sum(f, p, 2), rel=1e-8)
    assert second >= first * first * (1 - 1e-12)


def test_large_classes_and_tiny_shares() -> None:
    # The count of a large class is all but known: 1/F is close to p/f.
    for f, p in ((100_000, 0.3), (100_000, 0.7), (5_000, 0.001)):
        assert moments(f, p)[0] == pytest.approx(p / f, rel=1e-2)
    first, second = moments(1, 1e-12)
    assert first == pytest.approx(1e-12 * math.log(1e12), rel=1e-9)
    assert second == pytest.approx(1e-12 * math.pi**2 / 6, rel=1e-6)


def test_several_classes_at_once() -> None:
    first, _ = inverse_moments(np.array([1, 2, 3]), np.array([1.0, 1.0, 1.0]))
    assert first.tolist() == pytest.approx([1, 1 / 2, 1 / 3])


@pytest.mark.parametrize("sizes", [[0], [2, -1]])
def test_classes_without_people_are_refused(sizes: list[int]) -> None:
    with pytest.raises(ValueError, match="must be at least 1"):
        inverse_moments(np.array(sizes), np.full(len(sizes), 0.7))
