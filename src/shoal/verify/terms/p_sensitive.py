"""p-sensitive k-anonymity: a class of at least k has at least p answers."""

from __future__ import annotations

from shoal.verify.diversity import distinct_answers
from shoal.verify.facts import Sample
from shoal.verify.outcome import Outcome
from shoal.verify.terms.base import Model, Term
from shoal.verify.terms.parameters import count


def judge(model: Model, sample: Sample) -> Outcome:
    """At least p distinct answers, in a class of at least k."""
    distinct = distinct_answers(sample.diversity)
    passes = (~sample.judged | (distinct >= model["p"])) & (sample.sizes >= model["k"])
    return Outcome(distinct, passes, sample.judged, "low")


TERM = Term(
    name="p-sensitive",
    main="p",
    words="{p}-sensitive {k}-anonymous",
    group_words="at least {p} values in groups of at least {k} records",
    required={"p": count, "k": count},
    limit=lambda model: model["p"],
    judge=judge,
    identity=True,
    size=lambda model: model["k"],
    can_fail=lambda model: model["p"] > 1,
    rows_first=True,
    necessary=lambda model, known: known.distinct >= model["p"],
    left=lambda model, sample: 1 / model["p"],
)
