"""Range diversity: few pairs of a class lie close to each other within one sensitive range."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoal.verify.claims import Claims, Column
from shoal.verify.known import Known
from shoal.verify.numeric import has_public_domain
from shoal.verify.outcome import at_most
from shoal.verify.ranges import has_hidden_ranges, range_diversity
from shoal.verify.terms.base import Model, Term
from shoal.verify.terms.parameters import positive_share


def needs_input(claims: Claims, columns: Sequence[Column]) -> bool:
    """Whether ranges are not told, or have a width to measure by a domain that is not public."""
    ranged = [column for column in columns if column.policy is not None]
    return has_hidden_ranges(columns) or not all(has_public_domain(column) for column in ranged)


def necessary(model: Model, known: Known) -> np.ndarray:
    """A value is as close to itself as can be, so the mean over pairs is at least the sum of squared shares."""
    view = known.view
    share = view.count / view.sums(view.count)[view.group]
    return at_most(view.sums(share**2), model["p"])


TERM = Term(
    name="range-diversity",
    main="p",
    words="of range diversity at most {p:g}",
    leaves_open=(
        "A likely guess at the range of '{}': range diversity is a mean over pairs, so one sensitive range may hold "
        "most of a class."
    ),
    closed_by=("range-confidence",),
    required={"p": positive_share},
    limit=lambda model: model["p"],
    judge=range_diversity,
    single=True,
    reads_input=True,
    needs_input=needs_input,
    necessary=necessary,
)
