"""Range confidence: no sensitive range holds too large a share of a class."""

from __future__ import annotations

import numpy as np

from shoal.verify.known import Known, possible_shares
from shoal.verify.policies import lay_out
from shoal.verify.ranges import has_hidden_ranges, range_confidence
from shoal.verify.terms.base import Model, Term
from shoal.verify.terms.parameters import positive_share


def necessary(model: Model, known: Known) -> np.ndarray:
    """No value has more than the limit's share, and no range holds every answer of a class."""
    view, passes = known.view, possible_shares(np.full(len(known.view.group), model["p"]), known)
    attribute = known.sample.attribute
    if known.coded or model["p"] >= 1:
        return passes
    layout = lay_out(attribute.columns[0].policy, attribute.columns[0], attribute.texts, attribute.numbers)
    for low, high in set(layout.declared):
        place = layout.place[view.value]
        outside = np.bincount(view.group, weights=(place < low) | (place > high), minlength=view.classes)
        passes &= outside > 0
    return passes


TERM = Term(
    name="range-confidence",
    main="p",
    words="of range confidence at most {p:g}",
    required={"p": positive_share},
    limit=lambda model: model["p"],
    judge=range_confidence,
    single=True,
    needs_input=lambda claims, columns: has_hidden_ranges(columns),
    necessary=necessary,
)
