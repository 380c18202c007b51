"""Three attackers (El Emam & Dankar 2008), and how likely each of them finds the right person.

The *prosecutor* knows that a target is in the table: 1/f for a class of f people. The *journalist* does not, and picks
somebody of the population: 1/F. The *marketer* matches everybody and counts how many matches are right.
"""

from __future__ import annotations

import math

import numpy as np

from shoal.results import Risk
from shoal.risk.classes import Classes
from shoal.risk.individual import Z, individual_risk, population_range, records_within

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
