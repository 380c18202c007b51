"""Which share of its class each answer has, and whether that is within a limit."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from shoal.verify.facts import Histogram, Sample
from shoal.verify.outcome import Outcome, at_most
from shoal.verify.values import canonical


def answer_shares(answers: Histogram) -> np.ndarray:
    """Share of each entry among the people (or rows) of its class that have an answer."""
    return answers.count / answers.known_size[answers.group]


def table_shares(sample: Sample) -> np.ndarray:
    """Share of each answer among the people (or rows) of the whole table that have one."""
    counts = np.where(sample.attribute.known, sample.table, 0)
    return counts / max(sample.facts.answering(sample.names, sample.side), 1)


def largest(view: Histogram, figure: np.ndarray) -> np.ndarray:
    """The largest figure among the entries of each class, 0 without any."""
    found = np.zeros(view.classes)
    np.maximum.at(found, view.group, figure)
    return found


def shares_outcome(value: np.ndarray, alpha: float, size: int, sample: Sample) -> Outcome:
    """At most alpha, in a class of at least a size."""
    passes = (~sample.judged | at_most(value, alpha)) & (sample.sizes >= size)
    return Outcome(value, passes, sample.judged, "high")


def is_value(sample: Sample, value: Any) -> np.ndarray:
    """For each value code, whether it is the given value."""
    attribute = sample.attribute
    text = canonical(pl.Series([str(value)]), attribute.columns[0].type)[0].item()
    return np.array([own is not None and own == text for own in attribute.texts.to_list()], dtype=bool)
