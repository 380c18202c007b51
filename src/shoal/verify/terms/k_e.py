"""(k, e)-anonymity: a class has at least k numbers that span at least e."""

from __future__ import annotations

import numpy as np

from shoal.verify.facts import Sample
from shoal.verify.numeric import numbers_only
from shoal.verify.outcome import Outcome, at_least
from shoal.verify.terms.base import Model, Term
from shoal.verify.terms.parameters import count, not_negative


def judge(model: Model, sample: Sample) -> Outcome:
    """At least k distinct numbers that span at least e; the figure is the span."""
    attribute = sample.attribute
    view = numbers_only(sample.diversity, attribute)
    low, high = view.extremes(attribute.numbers[view.value])
    span = np.nan_to_num(high - low)
    numbers = np.bincount(view.group, minlength=view.classes)
    return Outcome(
        span, ~sample.judged | ((numbers >= model["k"]) & at_least(span, model["e"])), sample.judged, "low"
    )


TERM = Term(
    name="k-e",
    main="e",
    words="({k},{e:g})-anonymous",
    group_words="groups of at least {k} numbers that span at least {e:g}",
    required={"k": count, "e": not_negative},
    limit=lambda model: model["e"],
    judge=judge,
    numeric=True,
    rows_first=True,
    necessary=lambda model, known: known.distinct >= max(model["k"], 2 if model["e"] > 0 else 1),
    left=lambda model, sample: 1 / model["k"],
)
