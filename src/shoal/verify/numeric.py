"""What models of numbers and of the spread of a class look at; answers only."""

from __future__ import annotations

import numpy as np

from shoal.verify.claims import Column
from shoal.verify.facts import Attribute, Histogram


def numbers_only(histogram: Histogram, attribute: Attribute) -> Histogram:
    """The entries that are answers and numbers."""
    answers = histogram.answers()
    keep = ~np.isnan(attribute.numbers[answers.value])
    return Histogram(
        answers.group[keep], answers.value[keep], answers.count[keep], answers.rows[keep], answers.known,
        answers.known_size,
    )  # fmt: skip


def input_values(attribute: Attribute) -> np.ndarray:
    """Codes of the answers that occur in the input."""
    if attribute.given is None:
        raise ValueError("the input is only known at the gate")
    return np.flatnonzero(attribute.given & attribute.known)


def has_public_domain(column: Column) -> bool:
    """Whether the manifest tells the whole domain of a column."""
    if column.hierarchy is not None:
        return column.whole
    return column.order is not None if column.type == "ordinal" else column.domain is not None
