"""Distinct l-diversity: a class has at least l answers."""

from __future__ import annotations

from shoal.verify.diversity import distinct_answers
from shoal.verify.facts import Sample
from shoal.verify.outcome import Outcome
from shoal.verify.terms.base import Model, Term
from shoal.verify.terms.parameters import count


def judge(model: Model, sample: Sample) -> Outcome:
    """At least l distinct answers."""
    distinct = distinct_answers(sample.diversity)
    return Outcome(distinct, ~sample.judged | (distinct >= model["l"]), sample.judged, "low")


TERM = Term(
    name="distinct-l",
    main="l",
    words="distinct {l}-diverse",
    required={"l": count},
    limit=lambda model: model["l"],
    judge=judge,
    can_fail=lambda model: model["l"] > 1,
    rows_first=True,
    necessary=lambda model, known: known.distinct >= model["l"],
    left=lambda model, sample: 1 / model["l"],
)
