"""Models of numbers and of their spread in a class."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from shoal.verify.counts import Known, possible_shares
from shoal.verify.facts import Attribute, Facts, Histogram, Sample
from shoal.verify.manifest_column import Column
from shoal.verify.manifest_schema import Claims
from shoal.verify.report import Outcome, at_least, at_most
from shoal.verify.terms.base import Model, Term, count, flag, from_one, not_negative
from shoal.verify.values import MISSING, canonical, distinct

# ----------------------------------------
# What models of numbers and of the spread of a class look at; answers only.


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


class KE(Term):
    """(k, e)-anonymity: a class has at least k numbers that span at least e."""

    name = "k-e"
    main = "e"
    words = "({k},{e:g})-anonymous"
    group_words = "groups of at least {k} numbers that span at least {e:g}"
    required = {"k": count, "e": not_negative}
    numeric = True
    rows_first = True

    def judge(self, model: Model, sample: Sample) -> Outcome:
        """At least k distinct numbers that span at least e; the figure is the span."""
        attribute = sample.attribute
        view = numbers_only(sample.diversity, attribute)
        low, high = view.extremes(attribute.numbers[view.value])
        span = np.nan_to_num(high - low)
        numbers = np.bincount(view.group, minlength=view.classes)
        return Outcome(
            span, ~sample.judged | ((numbers >= model["k"]) & at_least(span, model["e"])), sample.judged, "low"
        )

    def necessary(self, model: Model, known: Known) -> np.ndarray:
        return known.distinct >= max(model["k"], 2 if model["e"] > 0 else 1)

    def left(self, model: Model, sample: Sample) -> float | np.ndarray:
        return 1 / model["k"]


class Variance(Term):
    """Variance: the numbers of a class are spread by at least v; rows are counted."""

    name = "variance"
    main = "v"
    words = "of variance at least {v:g}"
    required = {"v": not_negative}
    numeric = True
    rows_first = True

    def judge(self, model: Model, sample: Sample) -> Outcome:
        """Population variance over the rows of at least v."""
        attribute = sample.attribute
        view = numbers_only(sample.histogram, attribute)
        number = attribute.numbers[view.value]
        rows = np.maximum(view.sums(view.rows), 1)
        mean = view.sums(view.rows * number) / rows
        spread = view.sums(view.rows * (number - mean[view.group]) ** 2) / rows
        passes = at_least(spread, model["v"]) & ~(sample.given_away & (model["v"] > 0))
        return Outcome(spread, ~sample.judged | passes, sample.judged, "low")

    def necessary(self, model: Model, known: Known) -> np.ndarray:
        return known.distinct >= (2 if model["v"] > 0 else 1)


class EpsM(Term):
    """(eps, m)-anonymity: at most 1/m of a class lies near any of its numbers; rows are counted."""

    name = "eps-m"
    main = "eps"
    words = "({eps:g},{m})-anonymous"
    group_words = "groups in which at most 1 in {m} lies within {eps:g} of any record"
    required = {"eps": not_negative, "m": from_one}
    optional = {"relative": flag}
    numeric = True
    rows_first = True

    def limit(self, model: Model) -> float:
        return 1.0 / model["m"]

    def judge(self, model: Model, sample: Sample) -> Outcome:
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

    def necessary(self, model: Model, known: Known) -> np.ndarray:
        """A number is near itself, so none has more than its share."""
        return possible_shares(np.full(len(known.view.group), 1.0 / model["m"]), known)


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


class MaxRange(Term):
    """Mean S-diversity: the answers of a class lie far apart, on the mean over the attributes."""

    name = "max-range"
    main = "limit"
    words = "of mean S-diversity at most {limit:g}"
    leaves_open = "What lies between the extremes of '{}': one value may be all but certain in a class that spans it."
    required = {"limit": not_negative}
    together = True
    reads_input = True

    def judge(self, model: Model, sample: Sample) -> Outcome:
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

    def protects_each(self, model: Model, columns: int) -> bool:
        # The S-diversity of a column with one value is 1.
        return columns == 1 or columns * model["limit"] < 1

    def needs_input(self, claims: Claims, columns: Sequence[Column]) -> bool:
        return not all(has_public_domain(column) for column in columns)

    def necessary(self, model: Model, known: Known) -> np.ndarray:
        """An attribute with one answer in a class has no spread there, whatever its domain."""
        facts, single, judged = known.facts, np.zeros(known.view.classes), np.zeros(known.view.classes)
        for name in known.sample.names:
            answers = facts.histogram([name]).answers()
            distinct = np.bincount(answers.group, minlength=answers.classes)
            single, judged = single + (distinct == 1), judged + (distinct > 0)
        return at_most(single / np.maximum(judged, 1), model["limit"])
