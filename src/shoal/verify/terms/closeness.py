"""Models of how near the distribution of a class is to that of the whole table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from shoal.errors import VerificationError
from shoal.verify.counts import Known, largest_allowed
from shoal.verify.facts import Attribute, Facts, Histogram, Sample
from shoal.verify.manifest_column import Column
from shoal.verify.manifest_schema import Claims
from shoal.verify.report import TOLERANCE, Outcome, at_most
from shoal.verify.terms.base import Model, Term, not_negative, one_of, positive
from shoal.verify.values import canonical

# ----------------------------------------
# t-closeness: how far each class's distribution of an attribute is from the whole table's.
#
# All distances run over the values that occur in a class only. That is exact: absent values enter through what the
# table's shares must add up to, as each function says.


def default_distance(columns: Sequence[Column]) -> str:
    """The distance of an attribute when the model names none."""
    if len(columns) > 1:
        return "equal"
    if columns[0].type in ("numeric", "date", "ordinal"):
        return "ordered"
    return "equal" if columns[0].hierarchy is None else "hierarchical"


def _distance(name: str, view: Histogram, shares: np.ndarray, attribute: Attribute) -> np.ndarray:
    if name == "ordered":
        return ordered(view, shares, places(view, shares, attribute))
    if name == "hierarchical":
        return hierarchical(view, shares, nodes(attribute))
    return kullback_leibler(view, shares) if name == "kl" else variational(view, shares)


def variational(view: Histogram, shares: np.ndarray) -> np.ndarray:
    """Half the sum of |p - q|: since both add up to 1, the sum of p - q where p is larger."""
    own = view.count / view.sums(view.count)[view.group]
    return view.sums(np.maximum(own - shares[view.value], 0.0))


def kullback_leibler(view: Histogram, shares: np.ndarray) -> np.ndarray:
    """The sum of p ln(p/q), infinite where the table lacks a value of the class."""
    own = view.count / view.sums(view.count)[view.group]
    with np.errstate(divide="ignore"):
        return np.maximum(view.sums(own * np.log(own / shares[view.value])), 0.0)


def places(view: Histogram, shares: np.ndarray, attribute: Attribute) -> np.ndarray:
    """Rank of each value that occurs, -1 for others: by number or declared order, then text, missing last."""
    column = attribute.columns[0]
    texts = attribute.texts
    key = attribute.numbers
    if column.type == "ordinal":
        given, _ = canonical(pl.Series(column.order, dtype=pl.String), column.type)
        rank = {text: float(place) for place, text in enumerate(given)}
        key = np.array([rank.get(text, np.nan) for text in texts.to_list()], dtype=float)
    occurs = shares > 0
    occurs[view.value] = True
    ordering = pl.DataFrame(
        {"code": np.arange(len(key)), "key": key, "text": texts, "missing": texts.is_null()}
    )
    ordering = ordering.filter(pl.Series(occurs)).with_columns(pl.col("key").fill_nan(None))
    ordering = ordering.sort("missing", "key", "text", nulls_last=True)
    place = np.full(len(key), -1, dtype=np.int64)
    place[ordering["code"].to_numpy()] = np.arange(len(ordering))
    return place


def ordered(view: Histogram, shares: np.ndarray, place: np.ndarray) -> np.ndarray:
    """The sum over all places but the last of |cumulative p - cumulative q|, over one less than the places.

    Between two neighbouring values of a class cumulative p is constant and cumulative q rises, so the sum
    over that stretch splits in two at the point where q passes p, and prefix sums of q give both parts.
    """
    last = int(place.max(initial=0))
    if last < 1 or not len(view.group):
        return np.zeros(view.classes)
    by_place = np.zeros(last + 1)
    by_place[place[place >= 0]] = shares[place >= 0]
    table = np.cumsum(by_place)
    area = np.concatenate([[0.0], np.cumsum(table)])

    order = np.lexsort((place[view.value], view.group))
    group, start, count = view.group[order], place[view.value][order], view.count[order]
    first = np.append(True, group[1:] != group[:-1])
    end = np.append(np.where(first[1:], last, start[1:]), last)
    # Whole numbers are summed before dividing, so that a million classes add no rounding.
    running = np.cumsum(count)
    before = (running - count)[first]
    own = (running - before[np.cumsum(first) - 1]) / view.sums(view.count)[group]
    cut = np.clip(np.searchsorted(table, own), start, end)
    below = own * (cut - start) - (area[cut] - area[start])
    above = (area[end] - area[cut]) - own * (end - cut)
    stretch = below + above + np.where(first, area[start], 0.0)
    return np.bincount(group, weights=stretch, minlength=view.classes) / last


def nodes(attribute: Attribute) -> np.ndarray:
    """Node of each value code on each level of its hierarchy, leaves first.

    A value that is no leaf (missing, other non-answers) hangs directly under the root.
    """
    column = attribute.columns[0]
    rows = column.hierarchy or ()
    leaves, _ = canonical(pl.Series([row[0] for row in rows], dtype=pl.String), column.type)
    row_of = dict(zip(leaves.to_list(), rows, strict=True))
    texts = attribute.texts.to_list()
    height = len(rows[0]) - 1
    found = np.zeros((max(height, 1) + 1, len(texts)), dtype=np.int64)
    for level in range(max(height, 1)):
        number: dict[tuple[str, str | None], int] = {}
        for code, text in enumerate(texts):
            label = ("node", row_of[text][level]) if text in row_of else ("alone", text)
            found[level, code] = number.setdefault(label, len(number))
    return found


def hierarchical(view: Histogram, shares: np.ndarray, node: np.ndarray) -> np.ndarray:
    """The sum over inner nodes N of height(N)/H times min(pos(N), neg(N)).

    ``pos`` and ``neg`` add up the surplus and the shortage of N's children. A node needs transport only where
    a child has a surplus, hence occurs in the class; the shortage then follows from N's own surplus.
    """
    height, values = len(node) - 1, node.shape[1]
    size = view.sums(view.count)
    total = np.zeros(view.classes)
    for level in range(1, height + 1):
        parent = np.zeros(values, dtype=np.int64)
        parent[node[level - 1]] = node[level]
        child_share = np.bincount(node[level - 1], weights=shares)
        node_share = np.bincount(node[level], weights=shares)

        pairs, entry = np.unique(view.group * values + node[level - 1][view.value], return_inverse=True)
        group, child = pairs // values, pairs % values
        own = np.bincount(entry, weights=view.count, minlength=len(pairs)) / size[group]
        upper, above = np.unique(group * values + parent[child], return_inverse=True)
        surplus = np.bincount(above, weights=np.maximum(own - child_share[child], 0.0), minlength=len(upper))
        whole = np.bincount(above, weights=own, minlength=len(upper)) - node_share[upper % values]
        moved = np.minimum(surplus, np.maximum(surplus - whole, 0.0))
        total += level / height * np.bincount(upper // values, weights=moved, minlength=view.classes)
    return total


def _moved(model: Model, known: Known) -> float:
    """The largest share that can be moved between values within t."""
    columns, t = known.sample.attribute.columns, float(largest_allowed(model["t"]))
    distance = model.get("distance") or default_distance(columns)
    if distance == "kl":  # Pinsker
        return float(np.sqrt(t / 2))
    if distance == "ordered":
        # It is divided by the number of values, of which the input may have more.
        if known.sample.side == "input" and model["t"]:
            return np.inf
        return t * (len(np.unique(known.whole.value)) - 1)
    if distance == "hierarchical" or (known.coded and len(columns) == 1 and model.get("distance") is None):
        height = len(columns[0].hierarchy[0]) - 1 if columns[0].hierarchy else np.inf
        return t * height if model["t"] else t
    return t


class TCloseness(Term):
    """t-closeness: each class's distribution of an attribute is near the whole table's."""

    name = "t-closeness"
    main = "t"
    words = "{t:g}-close"
    required = {"t": not_negative}
    optional = {
        "distance": one_of(None, "equal", "ordered", "hierarchical", "variational", "kl"),
        "reference": one_of("input", "released"),
    }
    reads_input = True

    def judge(self, model: Model, sample: Sample) -> Outcome:
        """The distance to the table's distribution is at most t.

        It must hold with non-answers as ordinary values and with them removed from both distributions.
        """
        histogram, attribute, table = sample.histogram, sample.attribute, sample.table
        distance = model.get("distance") or default_distance(attribute.columns)
        views = [(histogram.answers(), np.where(attribute.known, table, 0))]
        if histogram.has_unknown or table[~attribute.known].any():
            views.append((histogram, table))
        worst = np.zeros(histogram.classes)
        for view, counts in views:
            if counts.sum():
                worst = np.maximum(worst, _distance(distance, view, counts / counts.sum(), attribute))
        return Outcome(worst, ~sample.judged | at_most(worst, model["t"]), sample.judged, "high")

    def sides(self, model: Model) -> Sequence[str]:
        return (model.get("reference", "input"),)

    def check(self, claims: Claims, model: Model, columns: Sequence[Column], joint: bool) -> None:
        """Refuse a distance that a column has not."""
        distance = model.get("distance")
        for column in columns:
            if distance == "ordered" and (joint or (column.type == "categorical")):
                raise VerificationError(
                    f"The manifest claims an ordered distance on '{column.name}', which has no order."
                )
            if distance == "hierarchical" and (joint or (column.hierarchy is None and column.coded is None)):
                raise VerificationError(
                    f"The manifest claims a hierarchical distance on '{column.name}', which has no hierarchy."
                )

    def can_fail(self, model: Model) -> bool:
        return model.get("distance") == "kl" or model["t"] < 1

    def necessary(self, model: Model, known: Known) -> np.ndarray:
        """Two classes are at most twice t apart, since both are within t of the table.

        What share of its class a value has at least in one and at most in another is compared; moving a share from one
        value to another costs 1 (equal), or at least a step of the order or of the hierarchy.
        """
        view = known.view
        total = view.sums(view.rows)[view.group]
        fewest = np.maximum(1.0, view.rows - (known.most - known.least)[view.group])
        others = view.sums(fewest)[view.group] - fewest
        low = fewest / (fewest + total - view.rows)
        high = view.rows / np.maximum(known.least[view.group], view.rows + others)
        values = len(known.sample.attribute.known)
        at_one, at_other = np.zeros(values), np.full(values, np.inf)
        np.maximum.at(at_one, view.value, low)
        np.minimum.at(at_other, view.value, high)
        at_other[np.bincount(view.value, minlength=values) < (known.most > 0).sum()] = 0.0
        gap = np.max(at_one - at_other, initial=0.0)
        return np.full(view.classes, gap <= 2 * _moved(model, known) + TOLERANCE)

    def weaker(self, model: Model, facts: Facts, names: tuple[str, ...]) -> Model | None:
        """Twice t against the released rows: a mixture of the classes, hence within t of the input as well.

        Rows must be counted, by a distance that obeys the triangle, on values that are published. A class without any
        answer holds however far it is from the input, and with it the released rows may be.
        """
        columns = [facts.claims.column(name) for name in names]
        distance = model.get("distance") or default_distance(columns)
        plain = not facts.claims.people and all(column.coded is None for column in columns)
        if not plain or distance not in ("equal", "variational", "hierarchical"):
            return None
        if not Sample(facts, names, "input").judged.all():
            return None
        return {**model, "t": 2 * largest_allowed(model["t"])}

    def left(self, model: Model, sample: Sample) -> float | np.ndarray:
        return 1 / 2


# ----------------------------------------
# Which share of its class each answer has, and whether that is within a limit.


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


class BetaLikeness(Term):
    """beta-likeness: no answer is much commoner in a class than in the table."""

    name = "beta-likeness"
    main = "beta"
    words = "{variant} {beta:g}-like"
    required = {"beta": positive, "variant": one_of("basic", "enhanced")}
    optional = {"reference": one_of("input", "released")}
    reads_input = True

    def limit(self, model: Model) -> float:
        return 1.0

    def judge(self, model: Model, sample: Sample) -> Outcome:
        """(q - p) / p is at most beta, or -ln p where that is less; the figure is the largest q over its cap."""
        answers, shares = sample.histogram.answers(), table_shares(sample)
        with np.errstate(divide="ignore", invalid="ignore"):
            gain = np.minimum(model["beta"], -np.log(shares) if model["variant"] == "enhanced" else np.inf)
            found = answer_shares(answers) / (shares * (1 + gain))[answers.value]
        return shares_outcome(largest(answers, found), 1.0, 0, sample)

    def sides(self, model: Model) -> Sequence[str]:
        return (model.get("reference", "input"),)

    def necessary(self, model: Model, known: Known) -> np.ndarray:
        """The table's shares, each at least the largest of a class over 1 + beta, add up to no more than 1.

        People with several answers have shares that add up to more, so that nothing follows for them.
        """
        classes = known.view.classes
        if known.facts.claims.people:
            return np.ones(classes, dtype=bool)
        answers = known.sample.histogram.answers()
        most = np.zeros(len(answers.known))
        np.maximum.at(most, answers.value, answer_shares(answers))
        return np.full(classes, most.sum() <= (1 + largest_allowed(model["beta"])) * (1 + TOLERANCE))

    def left(self, model: Model, sample: Sample) -> float | np.ndarray:
        return 1 / 2


class DeltaDisclosure(Term):
    """delta-disclosure privacy: every answer of the table is about as common in each class."""

    name = "delta-disclosure"
    main = "delta"
    words = "{delta:g}-disclosure private"
    required = {"delta": positive}
    optional = {"reference": one_of("input", "released")}
    reads_input = True

    def judge(self, model: Model, sample: Sample) -> Outcome:
        """|log2(q / p)| is below delta for every answer of the table, strictly; infinite where a class lacks one."""
        answers, shares = sample.histogram.answers(), table_shares(sample)
        with np.errstate(divide="ignore"):
            found = np.abs(np.log2(answer_shares(answers) / shares[answers.value]))
        lacks = answers.sums(shares[answers.value] > 0) < (shares > 0).sum()
        value = np.where(lacks, np.inf, largest(answers, found))
        return Outcome(value, ~sample.judged | (value < model["delta"] * (1 - TOLERANCE)), sample.judged, "high")

    def sides(self, model: Model) -> Sequence[str]:
        return (model.get("reference", "input"),)

    def necessary(self, model: Model, known: Known) -> np.ndarray:
        """Classes have the same answers; where rows are counted, no share is 4 to the delta times another class's."""
        answers = known.sample.histogram.answers()
        judged = int((known.most > 0).sum())
        fewest, most = np.full(len(answers.known), np.inf), np.zeros(len(answers.known))
        np.minimum.at(fewest, answers.value, answer_shares(answers))
        np.maximum.at(most, answers.value, answer_shares(answers))
        everywhere = np.bincount(answers.value, minlength=len(answers.known))[most > 0] == judged
        apart = np.log2(most[most > 0] / fewest[most > 0]) < 2 * model["delta"]
        return np.full(answers.classes, bool(everywhere.all() and (known.facts.claims.people or apart.all())))

    def left(self, model: Model, sample: Sample) -> float | np.ndarray:
        return 1 / 2
