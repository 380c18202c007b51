"""k-map: at least k people of the population match the cells of every class."""

from __future__ import annotations

import math
from bisect import bisect_left

import numpy as np

from shoal.verify.facts import Sample
from shoal.verify.outcome import TOLERANCE, Outcome
from shoal.verify.population import matching_people
from shoal.verify.terms.base import Model, Term
from shoal.verify.terms.parameters import count, number, positive_share


def judge(model: Model, sample: Sample) -> Outcome:
    """People of the population who match, or with a sampling fraction the size of the class."""
    found = matching_people(sample.facts) if "fraction" not in model else sample.sizes
    return Outcome(found.astype(float), found >= limit(model), np.ones(len(found), dtype=bool), "low")


def limit(model: Model) -> int:
    """k people, or the smallest class that makes fewer people unlikely."""
    if "fraction" not in model:
        return int(model["k"])
    # Larger classes make it less likely, so that halving what is left finds the smallest that will do.
    sizes, likely = range(1, int(model["k"])), model.get("significance", 0.05) + TOLERANCE
    return 1 + bisect_left(sizes, True, key=lambda size: too_few(size, model) <= likely)


def too_few(size: int, model: Model) -> float:
    """The chance that a class of that size in the sample has fewer than k people in the population.

    With every number of people equally likely beforehand, those who were not drawn follow a negative binomial
    distribution.
    """
    drawn = model["fraction"]
    if drawn == 1:
        return float(size < model["k"])
    total = 0.0
    for people in range(size, model["k"]):
        ways = math.lgamma(people + 1) - math.lgamma(size + 1) - math.lgamma(people - size + 1)
        total += math.exp(ways + (size + 1) * math.log(drawn) + (people - size) * math.log1p(-drawn))
    return total


TERM = Term(
    name="k-map",
    main="k",
    words="{k}-map anonymous",
    leaves_open=(
        "People known to be in the data: k-map counts people of the population, by a table or an estimate, and a class "
        "may hold a single record."
    ),
    required={"k": count},
    optional={"fraction": positive_share, "significance": lambda value: number(value) and 0 < value <= 0.5},
    limit=limit,
    judge=judge,
    identity=True,
    size=lambda model: limit(model) if "fraction" in model else 0,
    valued=False,
    of_cells=True,
    sides=lambda model: ("",) if "fraction" in model else ("population",),
)
