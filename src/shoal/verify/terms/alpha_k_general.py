"""General (alpha, k)-anonymity: no answer has more than the share alpha of a class of at least k."""

from __future__ import annotations

import numpy as np

from shoal.verify.facts import Sample
from shoal.verify.known import Known, possible_shares
from shoal.verify.outcome import Outcome
from shoal.verify.shares import answer_shares, largest, shares_outcome
from shoal.verify.terms.base import Model, Term
from shoal.verify.terms.parameters import count, share


def judge(model: Model, sample: Sample) -> Outcome:
    """No answer has a share above alpha, in a class of at least k."""
    answers = sample.histogram.answers()
    return shares_outcome(largest(answers, answer_shares(answers)), model["alpha"], model["k"], sample)


def necessary(model: Model, known: Known) -> np.ndarray:
    """Some number of people leaves every answer, or the code that stands for it, with a share of at most alpha."""
    return possible_shares(np.full(len(known.view.group), float(model["alpha"])), known)


TERM = Term(
    name="alpha-k-general",
    main="alpha",
    words="generally ({alpha:g},{k})-anonymous",
    group_words="no value with a share above {alpha:g} in groups of at least {k} records",
    required={"alpha": share, "k": count},
    limit=lambda model: model["alpha"],
    judge=judge,
    identity=True,
    size=lambda model: model["k"],
    can_fail=lambda model: model["alpha"] < 1,
    necessary=necessary,
    left=lambda model, sample: model["alpha"],
)
