"""Simple (alpha, k)-anonymity: one given answer has at most the share alpha of a class of at least k."""

from __future__ import annotations

import numpy as np

from shoal.verify.facts import Sample
from shoal.verify.known import Known, possible_shares
from shoal.verify.outcome import Outcome
from shoal.verify.shares import answer_shares, is_value, largest, shares_outcome
from shoal.verify.terms.base import Model, Term
from shoal.verify.terms.parameters import count, scalar, share


def judge(model: Model, sample: Sample) -> Outcome:
    """One given answer has a share of at most alpha, in a class of at least k."""
    answers = sample.histogram.answers()
    shares = np.where(is_value(sample, model["value"])[answers.value], answer_shares(answers), 0.0)
    return shares_outcome(largest(answers, shares), model["alpha"], model["k"], sample)


def alpha_of_simple(model: Model, sample: Sample) -> np.ndarray:
    """The largest share that each value is allowed."""
    return np.where(is_value(sample, model["value"]), float(model["alpha"]), 1.0)


def necessary(model: Model, known: Known) -> np.ndarray:
    """Some number of people leaves the answer with its share; which code it would be is not published."""
    if known.coded:
        return np.ones(known.view.classes, dtype=bool)
    return possible_shares(alpha_of_simple(model, known.sample)[known.view.value], known)


TERM = Term(
    name="alpha-k-simple",
    main="alpha",
    words="simply ({alpha:g},{k})-anonymous for one value",
    group_words="one value with a share of at most {alpha:g} in groups of at least {k} records",
    required={"alpha": share, "k": count, "value": scalar},
    limit=lambda model: model["alpha"],
    judge=judge,
    identity=True,
    size=lambda model: model["k"],
    single=True,
    can_fail=lambda model: model["alpha"] < 1,
    necessary=necessary,
    left=alpha_of_simple,
)
