"""delta-presence: a class holds some share of the people of the population who match it, and no more."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoal.errors import VerificationError
from shoal.verify.claims import Claims, Column
from shoal.verify.facts import Sample
from shoal.verify.outcome import Outcome, at_least, at_most
from shoal.verify.population import matching_people, most_present
from shoal.verify.terms.base import Model, Term
from shoal.verify.terms.parameters import positive_share, share


def judge(model: Model, sample: Sample) -> Outcome:
    """Between delta_min and delta_max; infinite where nobody of the population matches.

    The figure is that of whoever is likeliest to be in the data, and is larger than a class's own share where cells of
    several classes cover the same people.
    """
    with np.errstate(divide="ignore"):
        shares = sample.sizes / matching_people(sample.facts)
    found = most_present(sample.facts, shares)
    passes = at_most(found, model["delta_max"]) & at_least(shares, model["delta_min"])
    return Outcome(found, passes, np.ones(len(found), dtype=bool), "high")


def check(claims: Claims, model: Model, columns: Sequence[Column], joint: bool) -> None:
    """Refuse limits in the wrong order."""
    if model["delta_min"] > model["delta_max"]:
        raise VerificationError("The manifest's model 'delta-presence' has an impossible 'delta_min'.")


TERM = Term(
    name="delta-presence",
    main="delta_max",
    words="({delta_min:g},{delta_max:g})-present",
    leaves_open=(
        "Membership beyond the odds of delta-presence: they are those of somebody who knows the population table "
        "alone, and of people whom some class covers."
    ),
    required={"delta_max": positive_share, "delta_min": share},
    limit=lambda model: model["delta_max"],
    judge=judge,
    valued=False,
    of_cells=True,
    membership=True,
    sides=lambda model: ("population",),
    check=check,
)
