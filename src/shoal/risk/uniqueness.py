"""How many of the records that are unique in a sample are unique in the population too.

Every estimator gives P, the probability that a sample unique is a population unique, from nothing but the sizes of the
sample's classes and the sampling fraction; the share of records that are unique in the population is P times the share
that is unique in the sample. With c_i classes of size i, n records, a population of N and the fraction f = n/N:

``zayatz`` (Zayatz 1991)
    The population's classes are taken to be distributed as the sample's: P = c_1 h(1) / sum of c_i h(i), where h(i)
    is the hypergeometric probability that a class of i people puts exactly one into the sample.
``pitman`` (Pitman 1995, Hoshino 2001)
    Ewens-Pitman sampling formula, its theta and alpha by maximum likelihood. The next person joins a given singleton
    with probability (1 - alpha)/(theta + i) after i people, so P is the product of 1 - that over i = n .. N - 1.
``snb`` (Chen & McNulty 1998)
    Slide negative binomial: F - 1 is negative binomial (alpha, beta). Thinned by f, a class has one person with
    probability (1 - f) b_1 + f b_0, b_j negative binomial (alpha, beta / (beta + f (1 - beta))); P is f beta**alpha
    over that. Fitted by maximum likelihood to the sizes above zero.

The intervals hold the error of the fit and the chance of the draw, not that of a wrong model: compare the estimators.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from shoal.results import Risk
from shoal.risk.classes import Classes
from shoal.risk.fitting import maximise, standard_error
from shoal.risk.individual import Z
from shoal.risk.reidentify import counted, n_population

Estimator = Callable[[np.ndarray, np.ndarray, int, int], tuple[float, float | None]]
_lgamma = np.frompyfunc(math.lgamma, 1, 1)


def uniqueness_figures(classes: Classes) -> dict[str, Risk]:
    """Share of records that are unique in the population: counted, or by every estimator."""
    n = classes.records
    if classes.population is not None:
        share = float(classes.sizes[classes.population == 1].sum() / n)
        text = f"{share:.1%} of the records have a combination that nobody else in the population has."
        return {"population-unique": counted(share, float(classes.everybody == 1), text)}
    if classes.shares is None:
        return {}
    sizes, counts = classes.histogram
    population = max(n, round(n_population(classes)))
    ones = int(counts[0]) if sizes[0] == 1 else 0
    return {
        f"population-unique-{name}": _figure(estimator, sizes, counts, n, population, ones)
        for name, estimator in ESTIMATORS.items()
    }


def _figure(estimator: Estimator, sizes: np.ndarray, counts: np.ndarray, n: int, population: int, ones: int) -> Risk:
    chance, error = _no_estimate(ones, n == population) or estimator(sizes, counts, n, population)
    value, high = ones * chance / n, ones / n
    if error is None:
        interval = (0.0, high)
    else:
        spread = math.sqrt(ones * chance * (1.0 - chance) + (ones * error) ** 2) / n
        interval = (max(0.0, value - Z * spread), min(high, value + Z * spread))
    text = f"About {value:.2%} of the records are unique in the population as well, {chance:.0%} of those unique here."
    return Risk(value=value, interval=interval, baseline=float(population == 1), sentence=text)


def _no_estimate(ones: int, whole: bool) -> tuple[float, float] | None:
    """What needs no model: nobody is unique here, or everybody is here."""
    return (0.0, 0.0) if ones == 0 else (1.0, 0.0) if whole else None


def zayatz(sizes: np.ndarray, counts: np.ndarray, n: int, population: int) -> tuple[float, float | None]:
    """P and its standard error, the c_i taken as Poisson."""
    one = np.array([_draws_one(int(i), n, population) for i in sizes])
    total = float((counts * one).sum())
    chance = counts[0] * one[0] / total
    slope = -chance * one / total
    slope[0] += one[0] / total
    return float(chance), float(np.sqrt((counts * slope**2).sum()))


def _draws_one(size: int, n: int, population: int) -> float:
    """Hypergeometric probability that exactly one of ``size`` people is among n of the population."""
    if population - size < n - 1:
        return 0.0
    ways = [math.lgamma(x + 1.0) for x in (population - size, n - 1, population - size - n + 1, population, n)]
    rest = math.lgamma(population - n + 1.0)
    return size * math.exp(ways[0] - ways[1] - ways[2] - ways[3] + ways[4] + rest)


def pitman(sizes: np.ndarray, counts: np.ndarray, n: int, population: int) -> tuple[float, float | None]:
    """P and its standard error under the Ewens-Pitman sampling formula."""
    classes = float(counts.sum())

    def terms(at: np.ndarray) -> tuple[float, float]:
        alpha = 1.0 / (1.0 + math.exp(-min(max(at[0], -30.0), 30.0)))
        return alpha, math.exp(min(max(at[1], -30.0), 30.0)) - alpha

    def likelihood(at: np.ndarray) -> float:
        alpha, theta = terms(at)
        ratio = theta / alpha
        new = (classes - 1.0) * math.log(alpha) + math.lgamma(ratio + classes) - math.lgamma(ratio + 1.0)
        any_one = math.lgamma(theta + n) - math.lgamma(theta + 1.0)
        again = (counts * (_lgamma(sizes - alpha) - math.lgamma(1.0 - alpha))).sum()
        return float(new - any_one + again)

    def figure(at: np.ndarray) -> float:
        alpha, theta = terms(at)
        # A difference of log-gammas of numbers so far from 1 loses digits; their leading terms give it to 1e-6.
        return math.exp(_log_ratio(theta + population, 1.0 - alpha) - _log_ratio(theta + n, 1.0 - alpha))

    return _fitted(likelihood, figure, [(0.0, math.log(classes)), (-2.0, math.log(classes)), (1.0, 0.0)])


def _log_ratio(x: float, step: float) -> float:
    """ln of gamma(x - step) / gamma(x)."""
    if x < 1e6:
        return math.lgamma(x - step) - math.lgamma(x)
    return -step * math.log(x) + step * (step + 1.0) / (2.0 * x)


def snb(sizes: np.ndarray, counts: np.ndarray, n: int, population: int) -> tuple[float, float | None]:
    """P and its standard error under the slide negative binomial model."""
    fraction = n / population
    classes = float(counts.sum())

    def terms(at: np.ndarray) -> tuple[float, float]:
        odds = math.exp(min(max(at[1], -30.0), 30.0))
        return math.exp(min(max(at[0], -30.0), 30.0)), 1.0 / (1.0 + odds)

    def likelihood(at: np.ndarray) -> float:
        alpha, thinned = terms(at)
        logs = _binomial_logs(sizes, alpha, thinned)
        before = _binomial_logs(sizes - 1, alpha, thinned)
        chances = np.logaddexp(math.log1p(-fraction) + logs, math.log(fraction) + before)
        seen = -math.expm1(math.log1p(-fraction) + alpha * math.log(thinned))
        return float((counts * chances).sum() - classes * math.log(max(seen, 1e-300)))

    def figure(at: np.ndarray) -> float:
        alpha, thinned = terms(at)
        # thinned = beta / (beta + f (1 - beta)), solved for beta.
        beta = fraction * thinned / (1.0 - thinned + fraction * thinned)
        nobody = alpha * math.log(thinned)
        one = (1.0 - fraction) * alpha * (1.0 - thinned) + fraction
        return fraction * math.exp(alpha * math.log(beta) - nobody) / one

    mean = max(n / classes - fraction, 1e-3)
    starts = [(0.0, math.log(mean)), (-2.0, math.log(mean) + 2.0), (-5.0, math.log(mean) + 3.0)]
    return _fitted(likelihood, figure, starts)


def _binomial_logs(j: np.ndarray, alpha: float, beta: float) -> np.ndarray:
    """ln of the negative binomial probability of j, minus infinity below zero."""
    whole = np.maximum(j, 0)
    ways = _lgamma(whole + alpha).astype(np.float64) - _lgamma(whole + 1.0).astype(np.float64) - math.lgamma(alpha)
    return np.where(j < 0, -np.inf, ways + alpha * math.log(beta) + whole * math.log1p(-beta))


def _fitted(
    likelihood: Callable[[np.ndarray], float], figure: Callable[[np.ndarray], float], starts: list[tuple[float, float]]
) -> tuple[float, float | None]:
    best = maximise(likelihood, starts)
    return min(1.0, figure(best)), standard_error(likelihood, figure, best)


ESTIMATORS: dict[str, Estimator] = {"zayatz": zayatz, "pitman": pitman, "snb": snb}
