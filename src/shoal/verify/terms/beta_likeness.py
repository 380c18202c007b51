"""beta-likeness: no answer is much commoner in a class than in the table."""

from __future__ import annotations

import numpy as np

from shoal.verify.facts import Sample
from shoal.verify.known import Known, largest_allowed
from shoal.verify.outcome import TOLERANCE, Outcome
from shoal.verify.shares import answer_shares, largest, shares_outcome, table_shares
from shoal.verify.terms.base import Model, Term
from shoal.verify.terms.parameters import one_of, positive


def judge(model: Model, sample: Sample) -> Outcome:
    """(q - p) / p is at most beta, or at most -ln p where that is less; the figure is the largest q over its cap."""
    answers, shares = sample.histogram.answers(), table_shares(sample)
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = np.minimum(model["beta"], -np.log(shares) if model["variant"] == "enhanced" else np.inf)
        found = answer_shares(answers) / (shares * (1 + gain))[answers.value]
    return shares_outcome(largest(answers, found), 1.0, 0, sample)


def necessary(model: Model, known: Known) -> np.ndarray:
    """The table's shares, each at least the largest of a class over 1 + beta, add up to no more than 1.

    People with several answers have shares that add up to more, so that nothing follows for them.
    """
    classes = known.view.classes
    if known.facts.claims.people:
        return np.ones(classes, dtype=bool)
    answers = known.sample.histogram.answers()
    most = np.zeros(len(answers.known))
    np.maximum.at(most, answers.value, answer_shares(answers))
    return np.full(classes, most.sum() <= (1 + largest_allowed(model["beta"])) * (1 + TOLERANCE))


TERM = Term(
    name="beta-likeness",
    main="beta",
    words="{variant} {beta:g}-like",
    required={"beta": positive, "variant": one_of("basic", "enhanced")},
    optional={"reference": one_of("input", "released")},
    limit=lambda model: 1.0,
    judge=judge,
    sides=lambda model: (model.get("reference", "input"),),
    reads_input=True,
    necessary=necessary,
    left=lambda model, sample: 1 / 2,
)
