"""k-anonymity: nobody is in a class of fewer than k."""

from __future__ import annotations

import numpy as np

from shoal.verify.facts import Sample
from shoal.verify.outcome import Outcome
from shoal.verify.terms.base import Model, Term
from shoal.verify.terms.parameters import count


def judge(model: Model, sample: Sample) -> Outcome:
    """Every class has at least k people (or rows)."""
    sizes = sample.sizes
    return Outcome(sizes.astype(float), sizes >= model["k"], np.ones(len(sizes), dtype=bool), "low")


TERM = Term(
    name="k",
    main="k",
    words="{k}-anonymous",
    group_words="groups of at least {k} records",
    required={"k": count},
    limit=lambda model: model["k"],
    judge=judge,
    identity=True,
    size=lambda model: model["k"],
    sized=True,
    valued=False,
)
