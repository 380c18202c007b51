"""(eps, m)-anonymity: at most 1/m of a class lies near any of its numbers; rows are counted."""

from __future__ import annotations

import numpy as np

from shoal.verify.facts import Sample
from shoal.verify.known import Known, possible_shares
from shoal.verify.numeric import numbers_only
from shoal.verify.outcome import Outcome, at_most
from shoal.verify.terms.base import Model, Term
from shoal.verify.terms.parameters import flag, from_one, not_negative
from shoal.verify.values import distinct


def judge(model: Model, sample: Sample) -> Outcome:
    """For every row at most 1/m of its class's rows lie within eps of it, itself included.

    The reach of each distinct number is found among all numbers once; counting then only compares ranks.
    """
    attribute = sample.attribute
    view = numbers_only(sample.histogram, attribute)
    number = distinct(attribute.numbers[view.value])
    reach = model["eps"] * (np.abs(number) if model.get("relative", False) else 1.0)
    # A pair exactly eps apart is within eps, whatever the last bits of the subtraction say.
    reach = reach + 1e-12 + 1e-15 * np.abs(number)
    lowest = np.searchsorted(number, number - reach, side="left")
    highest = np.searchsorted(number, number + reach, side="right")

    rank = np.searchsorted(number, attribute.numbers[view.value])
    base = view.group * len(number)
    order = np.argsort(base + rank)
    base, rank = base[order], rank[order]
    running = np.concatenate([[0], np.cumsum(view.rows[order])])
    near = (
        running[np.searchsorted(base + rank, base + highest[rank])]
        - running[np.searchsorted(base + rank, base + lowest[rank])]
    )
    group = view.group[order]
    share = near / view.sums(view.rows)[group]
    value = np.zeros(view.classes)
    np.maximum.at(value, group, share)
    passes = at_most(value, 1.0 / model["m"]) & ~(sample.given_away & (model["m"] > 1))
    return Outcome(value, ~sample.judged | passes, sample.judged, "high")


def necessary(model: Model, known: Known) -> np.ndarray:
    """A number is near itself, so none has more than its share."""
    return possible_shares(np.full(len(known.view.group), 1.0 / model["m"]), known)


TERM = Term(
    name="eps-m",
    main="eps",
    words="({eps:g},{m})-anonymous",
    group_words="groups in which at most 1 in {m} lies within {eps:g} of any record",
    required={"eps": not_negative, "m": from_one},
    optional={"relative": flag},
    limit=lambda model: 1.0 / model["m"],
    judge=judge,
    numeric=True,
    rows_first=True,
    necessary=necessary,
)
