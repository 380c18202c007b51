"""Complete (alpha, k)-anonymity: each answer has at most a share of its own in a class of at least k."""

from __future__ import annotations

import numpy as np

from shoal.verify.facts import Sample
from shoal.verify.known import Known, possible_shares
from shoal.verify.outcome import Outcome
from shoal.verify.shares import answer_shares, is_value, largest, shares_outcome
from shoal.verify.terms.base import Model, Term
from shoal.verify.terms.parameters import count, share, shares


def judge(model: Model, sample: Sample) -> Outcome:
    """Each answer's share is at most its own alpha; the figure is the largest share over alpha."""
    answers = sample.histogram.answers()
    with np.errstate(divide="ignore"):
        found = answer_shares(answers) / alpha_of(model, sample)[answers.value]
    return shares_outcome(largest(answers, found), 1.0, model["k"], sample)


def alpha_of(model: Model, sample: Sample) -> np.ndarray:
    """The largest share that each value is allowed."""
    alpha = np.full(len(sample.attribute.known), float(model.get("default", 1.0)))
    for value, own in model["alpha"].items():
        alpha[is_value(sample, value)] = own
    return alpha


def necessary(model: Model, known: Known) -> np.ndarray:
    """Some number of people leaves every answer with its share; which code is which value is not published."""
    if known.coded:
        return np.ones(known.view.classes, dtype=bool)
    return possible_shares(alpha_of(model, known.sample)[known.view.value], known)


TERM = Term(
    name="alpha-k-complete",
    words="completely (alpha,{k})-anonymous",
    group_words="shares of values limited in groups of at least {k} records",
    required={"alpha": shares, "k": count},
    optional={"default": share},
    limit=lambda model: 1.0,
    judge=judge,
    identity=True,
    size=lambda model: model["k"],
    single=True,
    necessary=necessary,
    left=alpha_of,
)
