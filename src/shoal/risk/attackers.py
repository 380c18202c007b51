"""Three attackers (El Emam & Dankar 2008), and how likely each of them finds the right person.

The *prosecutor* knows that a target is in the table: 1/f for a class of f people. The *journalist* does not, and picks
somebody of the population: 1/F. The *marketer* matches everybody and counts how many matches are right.
"""

from __future__ import annotations

import math

import numpy as np

from shoal.data.coding import code_texts
from shoal.data.table import Table
from shoal.errors import InputError, SchemaError
from shoal.kernels.suda import inverse_moments
from shoal.params import nearest
from shoal.results import Risk
from shoal.risk.classes import Classes

# ----------------------------------------
# Individual risk: how likely a match is right when the table is a sample (Benedetti & Franconi 1998).
#
# Of a class with f people in the sample and the share p of its population drawn, F people are in the population.
# Given f, F is taken as f plus a negative binomial count with parameters f and p; p is the sampling fraction, or f
# over the sum of the class's survey weights. The risk of each of its records is E[1/F | f] (Franconi & Polettini
# 2004):
#
# - f = 1: (p/q) ln(1/p) - f = 2: (p/q**2) (p ln p + q) - f = 3: (p/(2 q**3)) (q (3q - 2) - 2 p**2 ln p) - any f:
# (p**f / f) 2F1(f, f; f + 1; q), with q = 1 - p


# Two-sided 95 % of the normal distribution.
Z = 1.959963984540054


def individual_risk(sizes: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of 1/F for every class; O(records).

    Parameters
    ----------
    sizes
        People of each class in the sample.
    shares
        Share of each class's population that is in the sample, above 0 and up to 1.
    """
    sizes, shares = np.asarray(sizes, dtype=np.int64), np.asarray(shares, dtype=np.float64)
    mean, square = inverse_moments(sizes, shares)
    return mean, np.maximum(square - mean * mean, 0.0)


def records_within(sizes: np.ndarray, shares: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Expected number of records whose class has at most h people in the population, h = 0 .. most, and its variance.

    P(F = f) = p**f, and P(F = h + 1) = P(F = h) q h / (h + 1 - f).
    """
    mean, variance = np.zeros(most + 1), np.zeros(most + 1)
    mine = sizes <= most
    f, p = sizes[mine].astype(np.float64), shares[mine]
    chance, within = np.zeros(f.size), np.zeros(f.size)
    for h in range(1, most + 1):
        step = chance * (1.0 - p) * (h - 1) / np.maximum(h - f, 1.0)
        chance = np.where(f == h, p**h, np.where(f < h, step, 0.0))
        within = np.minimum(within + chance, 1.0)
        mean[h] = (f * within).sum()
        variance[h] = (f * f * within * (1.0 - within)).sum()
    return mean, variance


def population_range(size: int, share: float) -> tuple[int, int]:
    """Central 95 % of the population size F of one class."""
    chance = share**size
    if chance == 0.0:  # so many people that their number is all but known
        centre, spread = size / share, Z * math.sqrt(size * (1.0 - share)) / share
        return max(size, math.floor(centre - spread)), math.ceil(centre + spread)
    total, h, low = chance, size, size
    while total < 0.975:
        if total < 0.025:
            low = h + 1
        chance *= (1.0 - share) * h / (h + 1 - size)
        total += chance
        h += 1
        if chance < 1e-18 and h > size / share:
            break
    return low, h


# Risks that the curve has points at: 1, 1/2, ... 1/50.
_CURVE = 50


def counted(value: float, baseline: float | None, sentence: str) -> Risk:
    """A figure that is no estimate."""
    return Risk(value=float(value), interval=(float(value), float(value)), baseline=baseline, sentence=sentence)


def homogeneous(name: str, share: float, baseline: float) -> Risk:
    """Count the people, among those whose value is known, whose class has one sensitive value alone."""
    told = f"{share:.1%} of those whose {name} is known are in classes where everybody has the same, so it is read off."
    return counted(share, baseline, told)


def confidence(name: str, worst: float, baseline: float) -> Risk:
    """The largest share that a sensitive value has in a class."""
    return counted(worst, baseline, f"Who finds the class of a person guesses {name} right with up to {worst:.0%}.")


def estimated(value: float, spread: float, high: float, baseline: float | None, sentence: str) -> Risk:
    """A figure with its standard deviation, and what it cannot exceed."""
    value = min(float(value), high)
    interval = (max(0.0, value - Z * spread), min(high, value + Z * spread))
    return Risk(value=value, interval=interval, baseline=baseline, sentence=sentence)


def people_below(threshold: float) -> int:
    """The largest class whose risk is above the threshold: 4 for 0.2."""
    return math.ceil(1.0 / threshold - 1e-9) - 1


def prosecutor_figures(classes: Classes, threshold: float) -> dict[str, Risk]:
    """Everything about the prosecutor; all of it counted."""
    n, sizes = classes.records, classes.sizes
    found = _counted_figures("prosecutor", sizes, sizes, n, threshold, "the table")
    unique = float((sizes == 1).sum() / n)
    found["sample-unique"] = counted(
        unique, float(n == 1), f"{unique:.1%} of the records have a combination that nobody else in the table has."
    )
    return found


def journalist_figures(classes: Classes, threshold: float) -> dict[str, Risk]:
    """Everything about the journalist: counted in a population table, else by individual risk."""
    if classes.population is not None:
        everybody = int(n_population(classes))
        return _counted_figures("journalist", classes.sizes, classes.population, everybody, threshold, "the population")
    if classes.shares is None:
        return {}
    sizes, shares, n = classes.sizes, classes.shares, classes.records
    mean, variance = individual_risk(sizes, shares)
    worst = int(np.argmax(mean))
    low, high = population_range(int(sizes[worst]), float(shares[worst]))
    expected, spread = float((sizes * mean).sum()), math.sqrt(float((sizes * sizes * variance).sum()))
    people = people_below(threshold)
    within, within_variance = records_within(sizes, shares, people)
    above, above_spread = float(within[people] / n), math.sqrt(within_variance[people]) / n
    # Nobody hides among fewer people of the population than of the table, so at best one of each class is found.
    base, most = 1.0 / n_population(classes), float(sizes.size)
    return {
        "journalist-max": _worst_record(float(mean[worst]), low, high, base),
        "journalist-mean": estimated(
            expected / n, spread / n, most / n, base,
            f"Picking somebody of the population with the same combination is right about {_one_in(expected / n)}.",
        ),
        "journalist-above": estimated(
            above, above_spread, 1.0, float(base > threshold),
            f"About {above:.1%} of the records are shared by fewer than {people + 1} people of the population.",
        ),
        "journalist-expected": estimated(
            expected, spread, most, n * base,
            f"Of {n:,} records about {expected:,.1f} would be matched with the right person of the population.",
        ),
    }  # fmt: skip


def _worst_record(risk: float, low: int, high: int, baseline: float) -> Risk:
    """The riskiest record, which shares its combination with ``low`` to ``high`` people; they may be one number."""
    share = f"{low:,}" if low == high else f"between {low:,} and {high:,}"
    return Risk(
        value=risk,
        interval=(min(risk, 1.0 / high), max(risk, 1.0 / low)),
        baseline=baseline,
        sentence=f"The record at most risk is found about {_one_in(risk)}: very likely {share} of the population have "
        "its combination.",
    )


def marketer_figures(classes: Classes, journalist: dict[str, Risk]) -> dict[str, Risk]:
    """The expected share and number of right matches, against the population where it is known."""
    n = classes.records
    if journalist:
        share = journalist["journalist-mean"]
        expected = journalist["journalist-expected"]
        against = "the population"
    else:
        right = float(classes.sizes.size)
        share, expected, against = counted(right / n, 1.0 / n, ""), counted(right, 1.0, ""), "a list of the same people"
    text = f"Whoever matches all {n:,} records with {against} gets about {expected.value:,.1f} of them right"
    return {
        "marketer-mean": Risk(
            value=share.value, interval=share.interval, baseline=share.baseline, sentence=f"{text}, {share.value:.1%}."
        ),
        "marketer-expected": Risk(
            value=expected.value, interval=expected.interval, baseline=expected.baseline, sentence=f"{text}."
        ),
    }


def n_population(classes: Classes) -> float:
    """People of the population, as far as it is known; those of the table otherwise."""
    if classes.everybody is not None:
        return float(classes.everybody)
    if classes.shares is None:
        return float(classes.records)
    return float((classes.sizes / classes.shares).sum())


def risk_curve(sizes: np.ndarray, hidden: np.ndarray, shares: np.ndarray | None) -> list[tuple[float, float]]:
    """Share of records with a risk of at least 1/h, the lowest h first.

    ``hidden`` is how many people each class hides among; with ``shares`` it is estimated instead.
    """
    n = sizes.sum()
    if shares is None:
        within = np.cumsum(np.bincount(np.minimum(hidden, _CURVE + 1), weights=sizes, minlength=_CURVE + 2))
    else:
        within = records_within(sizes, shares, _CURVE)[0]
    return [(1.0 / h, float(within[h] / n)) for h in range(1, _CURVE + 1)]


def _counted_figures(
    who: str, sizes: np.ndarray, hidden: np.ndarray, n_all: int, threshold: float, where: str
) -> dict[str, Risk]:
    """Figures of an attacker for whom each class hides among a known number of people of ``n_all``."""
    n = int(sizes.sum())
    smallest = int(hidden.min())
    expected = float((sizes / hidden).sum())
    people = people_below(threshold)
    above = float(sizes[hidden <= people].sum() / n)
    base = 1.0 / n_all
    return {
        f"{who}-max": counted(1.0 / smallest, base, _max_sentence(smallest, where)),
        f"{who}-mean": counted(
            expected / n, base, f"Picking somebody of {where} with the same combination is right about "
            f"{_one_in(expected / n)}.",
        ),
        f"{who}-above": counted(
            above, float(base > threshold),
            f"{above:.1%} of the records can be narrowed down to fewer than {people + 1} people of {where}.",
        ),
        f"{who}-expected": counted(
            expected, n / n_all, f"Of {n:,} records about {expected:,.1f} would be matched with the right person.",
        ),
    }  # fmt: skip


def _max_sentence(smallest: int, where: str) -> str:
    if smallest == 1:
        return f"Somebody is alone in {where} with a combination, and is found for certain."
    return f"At most 1 in {smallest:,}: nobody can be narrowed down to fewer than {smallest:,} records of {where}."


def _one_in(risk: float) -> str:
    """A probability in words."""
    if risk > 0.5:
        return f"{risk:.0%} of the time"
    return f"1 time in {1.0 / risk:,.1f}" if risk > 0 else "never"


# ----------------------------------------
# Household risk: somebody of a household is found, which gives the others away.
#
# 1 - product of (1 - r_i) over its members (Franconi & Polettini 2004), members found independently of each other.


def household_figures(
    table: Table, household: str, ids: np.ndarray, risk: np.ndarray, variance: np.ndarray | None
) -> tuple[dict[str, Risk], np.ndarray]:
    """Figures over households, and the household's risk of every row.

    Parameters
    ----------
    ids
        Class of every row.
    risk, variance
        Risk of each class's records, and its variance where it is an estimate.
    """
    homes, count = _homes(table, household)
    rows = _members(table, homes, risk[ids])
    mine, home = risk[ids[rows]], homes[rows]
    with np.errstate(divide="ignore"):
        logs = np.bincount(home, weights=np.log1p(-mine), minlength=count)
    found = -np.expm1(logs)
    expected = float(found.sum())
    spread = 0.0 if variance is None else _spread(ids[rows], home, logs, mine, variance)
    worst = float(found.max())
    texts = (
        f"The household at most risk has somebody found with a probability of {worst:.0%}.",
        f"In an average household somebody is found with a probability of {expected / count:.1%}.",
        f"Of {count:,} households about {expected:,.1f} have somebody who would be found.",
    )
    figures = {
        "household-max": counted(worst, None, texts[0]),
        "household-mean": estimated(expected / count, spread / count, 1.0, None, texts[1]),
        "household-expected": estimated(expected, spread, float(count), None, texts[2]),
    }
    return figures, found[homes]


def _homes(table: Table, name: str) -> tuple[np.ndarray, int]:
    if name not in table.kept.columns:
        near = nearest(name, table.kept.columns)
        hint = f"Did you mean '{near}'?" if near else f"The columns are: {', '.join(table.kept.columns)}."
        raise SchemaError(f"There is no household column '{name}' in the table. {hint}")
    cells = table.series(name)
    if count := cells.null_count():
        raise InputError(
            f"The household column '{name}' has {count} missing cells: give whoever lives alone a number too."
        )
    codes, values = code_texts(name, cells, None)
    return codes, len(values)


def _members(table: Table, homes: np.ndarray, risk: np.ndarray) -> np.ndarray:
    """One row for each person of each household, the riskiest."""
    if table.subjects is None:
        return np.arange(table.n)
    order = np.lexsort((-risk, table.subjects, homes))
    new = np.ones(order.size, dtype=bool)
    new[1:] = (np.diff(homes[order]) != 0) | (np.diff(table.subjects[order]) != 0)
    return order[new]


def _spread(
    classes: np.ndarray, home: np.ndarray, logs: np.ndarray, mine: np.ndarray, variance: np.ndarray
) -> float:
    """Standard deviation of the expected number of households, by the delta method over the classes' 1/F."""
    # Whoever is found for certain has a risk without variance, so what the division gives does not matter there.
    others = np.exp(logs[home] - np.log1p(-np.minimum(mine, 1.0 - 1e-12)))
    slopes = np.bincount(classes, weights=others, minlength=variance.size)
    return math.sqrt(float((slopes**2 * variance).sum()))
