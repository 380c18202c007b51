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
from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np

from shoal.data.domain import Domain
from shoal.data.rows import PeopledRows
from shoal.data.table import Table
from shoal.errors import ParameterError
from shoal.params import real, whole
from shoal.results import Risk
from shoal.risk.attackers import Z, counted, n_population
from shoal.risk.classes import Classes, counted_rows
from shoal.risk.report import FoundSet

# ----------------------------------------
# Fitting two parameters by likelihood, without a library for it: both models here have smooth, single-peaked ones.


Function = Callable[[np.ndarray], float]
_STEPS = 400
_TOLERANCE = 1e-9


def maximise(function: Function, starts: Sequence[Sequence[float]]) -> np.ndarray:
    """Where a function is largest: Nelder & Mead's simplex (1965) from several starts, the best of them."""
    found = [_simplex(function, np.array(start, dtype=np.float64)) for start in starts]
    return max(found, key=function)


def _simplex(function: Function, start: np.ndarray) -> np.ndarray:
    points = [start, *(start + 0.5 * unit for unit in np.eye(start.size))]
    values = [function(point) for point in points]
    for _ in range(_STEPS):
        order = sorted(range(len(points)), key=lambda place: -values[place])
        points, values = [points[place] for place in order], [values[place] for place in order]
        if values[0] - values[-1] < _TOLERANCE and np.abs(points[0] - points[-1]).max() < 1e-6:
            break
        centre = np.mean(points[:-1], axis=0)
        point, value = _moved(function, centre, points[-1], values)
        if value > values[-1]:
            points[-1], values[-1] = point, value
        else:
            points = [points[0], *((points[0] + other) / 2.0 for other in points[1:])]
            values = [values[0], *(function(point) for point in points[1:])]
    return points[int(np.argmax(values))]


def _moved(
    function: Function, centre: np.ndarray, worst: np.ndarray, values: Sequence[float]
) -> tuple[np.ndarray, float]:
    """The worst corner reflected, farther where that is best of all, nearer where it is still worst."""
    reflected = 2.0 * centre - worst
    value = function(reflected)
    if value > values[0]:
        farther = 3.0 * centre - 2.0 * worst
        other = function(farther)
        return (farther, other) if other > value else (reflected, value)
    if value > values[-2]:
        return reflected, value
    nearer = 0.5 * centre + 0.5 * (reflected if value > values[-1] else worst)
    return nearer, function(nearer)


def standard_error(function: Function, figure: Function, best: np.ndarray, step: float = 1e-3) -> float | None:
    """Standard error of a figure of the parameters, by the curvature of their log-likelihood and the delta method.

    None where the likelihood is flat, so that the parameters, and the figure, could be anything.
    """
    units = step * np.eye(best.size)
    curvature = np.array([[_second(function, best, a, b) for b in units] for a in units]) / step**2
    slope = np.array([figure(best + unit) - figure(best - unit) for unit in units]) / (2.0 * step)
    if not np.isfinite(curvature).all() or np.linalg.eigvalsh(curvature).max() > -1e-6:
        return None
    return float(np.sqrt(slope @ np.linalg.solve(-curvature, slope)))


def _second(function: Function, at: np.ndarray, a: np.ndarray, b: np.ndarray) -> float:
    return (function(at + a + b) - function(at + a - b) - function(at - a + b) + function(at - a - b)) / 4.0


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


# ----------------------------------------
# Which columns are quasi-identifiers: the smallest sets of them that single people out.
#
# Whoever stands alone on some columns stands alone on more of them, so that sets are visited by size and none is
# looked at that contains one already found.


_ROLES = ("quasi", "sensitive", "neutral")
# Each is one pass over the rows.
_MOST_SETS = 100_000


def discover(
    table: Table | PeopledRows, *, share: float = 0.05, most: int = 4, progress: Callable[[str], None] | None = None
) -> list[FoundSet]:
    """Minimal sets of columns on which at least ``share`` of the people stand alone (0: at least one of them).

    Quasi-identifiers, sensitive and neutral columns count alike: anything published may be known from elsewhere.

    Parameters
    ----------
    most
        Largest set to look at.

    Returns
    -------
    list
        The smallest sets first, among them those that single most people out.
    """
    real("the discovery", "share", share, low=0.0, high=1.0)
    whole("the discovery", "most", most, least=1)
    step = progress if progress is not None else lambda text: None
    rows = counted_rows(table)
    names = _names(rows.domain)
    most = min(most, len(names))
    _refuse_many(len(names), most)
    people = rows.domain.n_subjects if rows.domain.by_people else rows.domain.n
    found: list[FoundSet] = []
    kept: set[tuple[int, ...]] = set()
    for size in range(1, most + 1):
        here, sets = [], math.comb(len(names), size)
        for number, places in enumerate(combinations(range(len(names)), size), 1):
            step(f"looking at sets of {size} columns: {number:,} of {sets:,}")
            if any(part in kept for small in range(1, size) for part in combinations(places, small)):
                continue
            columns = tuple(names[place] for place in places)
            alone = rows.singled(columns)
            if alone > 0 and alone >= share * people - 1e-9:
                kept.add(places)
                here.append(FoundSet(columns=columns, people=alone, share=alone / people))
        found += sorted(here, key=lambda one: (-one.people, one.columns))
    return found


def _names(domain: Domain) -> list[str]:
    """The columns that are or could be published."""
    roles = domain.schema.roles()
    names = [name for name in domain.types if roles.get(name) in _ROLES]
    if not names:
        raise ParameterError("There is no column that quasi-identifiers could be found among: give some a role.")
    return names


def _refuse_many(columns: int, most: int) -> None:
    sets = sum(math.comb(columns, size) for size in range(1, most + 1))
    if sets > _MOST_SETS:
        raise ParameterError(
            f"{columns} columns have {sets:,} sets of up to {most}, too many to look at: look for smaller ones, or "
            "leave columns out."
        )
