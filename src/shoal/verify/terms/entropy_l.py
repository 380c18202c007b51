"""Entropy l-diversity: the answers of a class are as uncertain as l equally likely ones."""

from __future__ import annotations

import math

import numpy as np

from shoal.verify.diversity import both_ways, entropy
from shoal.verify.facts import Sample
from shoal.verify.known import Known
from shoal.verify.outcome import TOLERANCE, Outcome, at_least
from shoal.verify.terms.base import Model, Term
from shoal.verify.terms.parameters import from_one


def judge(model: Model, sample: Sample) -> Outcome:
    """Entropy of at least ln l; the figure is exp(entropy), comparable with l."""
    found = both_ways(sample.diversity, entropy, np.minimum)
    passes = ~sample.judged | (found >= np.log(model["l"]) - TOLERANCE)
    return Outcome(np.exp(found), passes, sample.judged, "low")


def necessary(model: Model, known: Known) -> np.ndarray:
    """The flattest histogram there can be is uncertain enough."""
    most = np.minimum(entropy(known.view), entropy(known.whole))
    return at_least(most, np.log(model["l"]))


TERM = Term(
    name="entropy-l",
    main="l",
    words="entropy {l:g}-diverse",
    required={"l": from_one},
    limit=lambda model: model["l"],
    judge=judge,
    can_fail=lambda model: model["l"] > 1,
    necessary=necessary,
    left=lambda model, sample: 1 / math.ceil(model["l"] - TOLERANCE),
)
