"""Mean S-diversity: the answers of a class lie far apart, on the mean over the attributes."""

from __future__ import annotations

import numpy as np
import polars as pl

from shoal.verify.facts import Attribute, Facts, Histogram, Sample
from shoal.verify.known import Known
from shoal.verify.numeric import has_public_domain, input_values, numbers_only
from shoal.verify.outcome import Outcome, at_most
from shoal.verify.terms.base import Model, Term
from shoal.verify.terms.parameters import not_negative
from shoal.verify.values import MISSING, canonical


def judge(model: Model, sample: Sample) -> Outcome:
    """The mean over the attributes of 1 - spread/domain is at most the limit.

    An attribute without any answer in a class is left out of that class's mean.
    """
    facts = sample.facts
    total = np.zeros(facts.classes.count)
    judged = np.zeros(facts.classes.count)
    for name in sample.names:
        answers = Sample(facts, (name,), sample.side).diversity.answers()
        has_answer = np.bincount(answers.group, minlength=answers.classes) > 0
        diversity = 1.0 - _spread(facts, name, answers)
        total += np.where(has_answer, diversity, 0.0)
        judged += has_answer
    value = total / np.maximum(judged, 1)
    return Outcome(value, (judged == 0) | at_most(value, model["limit"]), judged > 0, "high")


def _spread(facts: Facts, name: str, answers: Histogram) -> np.ndarray:
    """Spread of each class over the spread of the domain, 0 where the domain has one value."""
    attribute = facts.attribute([name])
    column = attribute.columns[0]
    if column.hierarchy is not None:
        return _tree_spread(attribute, answers)
    if column.type == "ordinal":
        given, _ = canonical(pl.Series(column.order, dtype=pl.String), column.type)
        rank = {text: place for place, text in enumerate(given.to_list())}
        texts = attribute.texts.to_list()
        place = np.array([rank.get(text, np.nan) for text in texts], dtype=float)
        low, high = answers.extremes(place[answers.value])
        return _quotient(np.nan_to_num(high - low), len(rank) - 1)
    if column.type in ("numeric", "date"):
        view = numbers_only(answers, attribute)
        low, high = view.extremes(attribute.numbers[view.value])
        if column.domain is not None:
            domain = column.domain[1] - column.domain[0]
        else:
            numbers = attribute.numbers[input_values(attribute)]
            domain = float(np.nanmax(numbers) - np.nanmin(numbers)) if (~np.isnan(numbers)).any() else 0.0
        return _quotient(np.nan_to_num(high - low), domain)
    count = np.bincount(answers.group, minlength=answers.classes)
    return _quotient(count - 1, len(input_values(attribute)) - 1)


def _tree_spread(attribute: Attribute, answers: Histogram) -> np.ndarray:
    """(Leaves under the lowest common ancestor - 1) / (leaves - 1)."""
    column = attribute.columns[0]
    rows = [row for row in column.hierarchy or () if row[0] != MISSING]
    leaves, _ = canonical(pl.Series([row[0] for row in rows], dtype=pl.String), column.type)
    row_of = dict(zip(leaves.to_list(), rows, strict=True))
    texts = attribute.texts.to_list()
    # A value outside the hierarchy has no node: its class then counts as having no spread at all.
    spread = np.zeros(answers.classes)
    for level, labels in reversed(list(enumerate(zip(*rows, strict=True)))):
        number = {label: place for place, label in enumerate(dict.fromkeys(labels))}
        size = np.bincount([number[label] for label in labels])
        node = np.array(
            [number[row_of[text][level]] if text in row_of else np.nan for text in texts], dtype=float
        )
        low, high = answers.extremes(node[answers.value])
        one = low == high
        under = size[np.where(one, low, 0).astype(np.int64)]
        spread = np.where(one, _quotient(under - 1, len(rows) - 1), spread)
    return spread


def _quotient(part: np.ndarray, whole: float) -> np.ndarray:
    return part / whole if whole > 0 else np.zeros(len(part))


def necessary(model: Model, known: Known) -> np.ndarray:
    """An attribute with one answer in a class has no spread there, whatever its domain."""
    facts, single, judged = known.facts, np.zeros(known.view.classes), np.zeros(known.view.classes)
    for name in known.sample.names:
        answers = facts.histogram([name]).answers()
        distinct = np.bincount(answers.group, minlength=answers.classes)
        single, judged = single + (distinct == 1), judged + (distinct > 0)
    return at_most(single / np.maximum(judged, 1), model["limit"])


TERM = Term(
    name="max-range",
    main="limit",
    words="of mean S-diversity at most {limit:g}",
    leaves_open="What lies between the extremes of '{}': one value may be all but certain in a class that spans it.",
    required={"limit": not_negative},
    limit=lambda model: model["limit"],
    judge=judge,
    together=True,
    # The S-diversity of a column with one value is 1.
    protects_each=lambda model, columns: columns == 1 or columns * model["limit"] < 1,
    reads_input=True,
    needs_input=lambda claims, columns: not all(has_public_domain(column) for column in columns),
    necessary=necessary,
)
