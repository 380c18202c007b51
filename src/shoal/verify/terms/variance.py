"""Variance: the numbers of a class are spread by at least v; rows are counted."""

from __future__ import annotations

import numpy as np

from shoal.verify.facts import Sample
from shoal.verify.numeric import numbers_only
from shoal.verify.outcome import Outcome, at_least
from shoal.verify.terms.base import Model, Term
from shoal.verify.terms.parameters import not_negative


def judge(model: Model, sample: Sample) -> Outcome:
    """Population variance over the rows of at least v."""
    attribute = sample.attribute
    view = numbers_only(sample.histogram, attribute)
    number = attribute.numbers[view.value]
    rows = np.maximum(view.sums(view.rows), 1)
    mean = view.sums(view.rows * number) / rows
    spread = view.sums(view.rows * (number - mean[view.group]) ** 2) / rows
    passes = at_least(spread, model["v"]) & ~(sample.given_away & (model["v"] > 0))
    return Outcome(spread, ~sample.judged | passes, sample.judged, "low")


TERM = Term(
    name="variance",
    main="v",
    words="of variance at least {v:g}",
    required={"v": not_negative},
    limit=lambda model: model["v"],
    judge=judge,
    numeric=True,
    rows_first=True,
    necessary=lambda model, known: known.distinct >= (2 if model["v"] > 0 else 1),
)
