"""delta-disclosure privacy: every answer of the table is about as common in each class."""

from __future__ import annotations

import numpy as np

from shoal.verify.facts import Sample
from shoal.verify.known import Known
from shoal.verify.outcome import TOLERANCE, Outcome
from shoal.verify.shares import answer_shares, largest, table_shares
from shoal.verify.terms.base import Model, Term
from shoal.verify.terms.parameters import one_of, positive


def judge(model: Model, sample: Sample) -> Outcome:
    """|log2(q / p)| is below delta for every answer of the table, strictly; infinite where a class lacks one."""
    answers, shares = sample.histogram.answers(), table_shares(sample)
    with np.errstate(divide="ignore"):
        found = np.abs(np.log2(answer_shares(answers) / shares[answers.value]))
    lacks = answers.sums(shares[answers.value] > 0) < (shares > 0).sum()
    value = np.where(lacks, np.inf, largest(answers, found))
    return Outcome(value, ~sample.judged | (value < model["delta"] * (1 - TOLERANCE)), sample.judged, "high")


def necessary(model: Model, known: Known) -> np.ndarray:
    """Classes have the same answers; where rows are counted, no share is 4 to the delta times that of another class."""
    answers = known.sample.histogram.answers()
    judged = int((known.most > 0).sum())
    fewest, most = np.full(len(answers.known), np.inf), np.zeros(len(answers.known))
    np.minimum.at(fewest, answers.value, answer_shares(answers))
    np.maximum.at(most, answers.value, answer_shares(answers))
    everywhere = np.bincount(answers.value, minlength=len(answers.known))[most > 0] == judged
    apart = np.log2(most[most > 0] / fewest[most > 0]) < 2 * model["delta"]
    return np.full(answers.classes, bool(everywhere.all() and (known.facts.claims.people or apart.all())))


TERM = Term(
    name="delta-disclosure",
    main="delta",
    words="{delta:g}-disclosure private",
    required={"delta": positive},
    optional={"reference": one_of("input", "released")},
    limit=lambda model: model["delta"],
    judge=judge,
    sides=lambda model: (model.get("reference", "input"),),
    reads_input=True,
    necessary=necessary,
    left=lambda model, sample: 1 / 2,
)
