"""Recursive (c, l)-diversity: the commonest answer of a class is not too common beside the rare ones."""

from __future__ import annotations

import numpy as np

from shoal.verify.diversity import both_ways, recursive_ratio
from shoal.verify.facts import Sample
from shoal.verify.known import Known
from shoal.verify.outcome import TOLERANCE, Outcome
from shoal.verify.terms.base import Model, Term
from shoal.verify.terms.parameters import count, positive


def judge(model: Model, sample: Sample) -> Outcome:
    """r1 < c (r_l + ... + r_m), strictly; the figure is r1 over that tail.

    The comparison is strict, so a difference within rounding counts as equality, which fails.
    """
    value = both_ways(sample.diversity, lambda view: recursive_ratio(model, view), np.maximum)
    passes = ~sample.judged | (value < model["c"] * (1 - TOLERANCE))
    return Outcome(value, passes, sample.judged, "high")


def necessary(model: Model, known: Known) -> np.ndarray:
    """The flattest histogram there can be has a tail that is long enough."""
    least = np.maximum(recursive_ratio(model, known.view), recursive_ratio(model, known.whole))
    return least < model["c"]


TERM = Term(
    name="recursive-cl",
    main="c",
    words="recursive ({c:g},{l})-diverse",
    required={"c": positive, "l": count},
    limit=lambda model: model["c"],
    judge=judge,
    necessary=necessary,
    left=lambda model, sample: 1 / model["l"],
)
