"""Models of sensitive ranges, straight from their definitions, pair by pair and range by range."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from shoal.verify.counts import Known, possible_shares
from shoal.verify.facts import Attribute, Sample
from shoal.verify.manifest_column import Column
from shoal.verify.manifest_schema import Claims
from shoal.verify.policies import Layout, exact, lay_out, ranks
from shoal.verify.report import Outcome, at_most
from shoal.verify.terms.base import Model, Term, positive_share
from shoal.verify.terms.numeric import has_public_domain, input_values
from shoal.verify.values import MISSING, canonical

# ----------------------------------------
# Models of sensitive ranges, straight from their definitions, pair by pair and range by range.


# Pairs looked at in one go, which bounds the memory.
_PAIRS = 1 << 21

# Classes of more values than this are not looked at pair by pair where their values lie on a line.
_LARGE = 64


@dataclass(frozen=True, eq=False)
class Distance:
    """How far apart values are, as a share of the domain.

    Attributes
    ----------
    between
        Of two arrays of value codes.
    line
        Where distances are along a line: the place of each code on it, as a share of the domain.
    """

    between: Callable[[np.ndarray, np.ndarray], np.ndarray]
    line: np.ndarray | None = None


def _outcome(model: Mapping[str, Any], sample: Sample, layout: Layout, figure: np.ndarray) -> Outcome:
    """A class with a value that should have a range and has none is not protected at all."""
    view = sample.histogram.answers()
    lost = np.bincount(view.group, weights=layout.low[view.value] < 0, minlength=view.classes) > 0
    figure = np.where(lost, 1.0, figure)
    passes = ~sample.judged | (at_most(figure, model["p"]) & ~lost)
    return Outcome(figure, passes, sample.judged, "high")


def has_hidden_ranges(columns: Sequence[Column]) -> bool:
    """Whether the manifest leaves out ranges of values that are not released."""
    return any(column.policy is not None and column.policy.part for column in columns)


def _layout(attribute: Attribute) -> Layout:
    column = attribute.columns[0]
    return lay_out(column.policy, column, attribute.texts, attribute.numbers)


def _large_classes(group: np.ndarray) -> list[tuple[int, int]]:
    """Where the entries of each large class begin and end."""
    ends = np.flatnonzero(np.diff(group, append=-1)) + 1
    starts = np.concatenate([[0], ends[:-1]]).astype(np.int64)
    return [(int(a), int(b)) for a, b in zip(starts, ends, strict=True) if b - a > _LARGE]


def _along_the_line(place: np.ndarray, count: np.ndarray, first: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Closeness of each value of one class to those from ``first`` to ``after``, summed; places ascend."""
    own = np.arange(len(place))
    place = place - place[0]
    many = np.concatenate([[0], np.cumsum(count)])
    far = np.concatenate([[0.0], np.cumsum(count * place)])
    below = place * (many[own] - many[first]) - (far[own] - far[first])
    above = (far[after] - far[own]) - place * (many[after] - many[own])
    return many[after] - many[first] - below - above


def _slices(sizes: np.ndarray) -> list[tuple[int, int]]:
    """Runs of entries with few enough pairs, one entry at least."""
    running = np.cumsum(sizes)
    found, start = [], 0
    while start < len(sizes):
        before = running[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(running, before + _PAIRS, side="right")))
        found.append((start, stop))
        start = stop
    return found


def _distance(sample: Sample) -> Distance:
    """Distance of two value codes as a share of the domain, 0 where the domain has one value."""
    attribute = sample.attribute
    column = attribute.columns[0]
    if column.hierarchy is not None:
        return _tree_distance(attribute)
    if column.type == "ordinal":
        places = [np.nan if place is None else place for place in ranks(column, attribute.texts.to_list())]
        return _along(np.array(places, dtype=float), len(column.order or ()) - 1)
    if column.type in ("numeric", "date"):
        return _number_distance(attribute)
    scale = len(input_values(attribute)) - 1
    return Distance(lambda one, other: (one != other) / scale if scale > 0 else np.zeros(len(one)))


def _number_distance(attribute: Attribute) -> Distance:
    column = attribute.columns[0]
    numbers = [
        exact(text, number) for text, number in zip(attribute.texts.to_list(), attribute.numbers.tolist(), strict=True)
    ]
    if column.domain is not None:
        width = column.domain[1] - column.domain[0]
    else:
        known = [numbers[code] for code in input_values(attribute) if numbers[code] is not None]
        width = float(max(known) - min(known)) if known else 0.0
    # Offsets keep differences that large numbers would lose as floats.
    base = min((number for number in numbers if number is not None), default=0)
    return _along(np.array([np.nan if number is None else float(number - base) for number in numbers]), width)


def _along(places: np.ndarray, width: float) -> Distance:
    line = places / width if width > 0 else np.zeros(len(places))
    return Distance(lambda one, other: np.abs(line[one] - line[other]), line)


def _tree_distance(attribute: Attribute) -> Distance:
    """(Leaves under the lowest common ancestor - 1) / (leaves - 1)."""
    column = attribute.columns[0]
    rows = [row for row in column.hierarchy or () if row[0] != MISSING]
    leaves = _leaf_rows(rows, column.type)
    texts = attribute.texts.to_list()
    nodes, sizes = [], []
    for level in range(len(rows[0])):
        number = {label: place for place, label in enumerate(dict.fromkeys(row[level] for row in rows))}
        nodes.append(np.array([number[rows[leaves[text]][level]] if text in leaves else -1 for text in texts]))
        sizes.append(np.bincount([number[row[level]] for row in rows]))

    def distance(one: np.ndarray, other: np.ndarray) -> np.ndarray:
        under = np.ones(len(one))
        for node, size in zip(reversed(nodes), reversed(sizes), strict=True):
            under = np.where(node[one] == node[other], size[node[one]], under)
        return (under - 1) / (len(rows) - 1) if len(rows) > 1 else np.zeros(len(one))

    return Distance(distance)


def _leaf_rows(rows: list, kind: str) -> dict[str | None, int]:
    """Canonical texts of a hierarchy's leaves to their rows."""
    texts, _ = canonical(pl.Series([row[0] for row in rows], dtype=pl.String), kind)
    return {text: place for place, text in enumerate(texts.to_list())}


class RangeConfidence(Term):
    """Range confidence: no sensitive range holds too large a share of a class."""

    name = "range-confidence"
    main = "p"
    words = "of range confidence at most {p:g}"
    required = {"p": positive_share}
    single = True

    def judge(self, model: Model, sample: Sample) -> Outcome:
        """Largest share of a class's answers in one range of the policy."""
        view = sample.histogram.answers()
        layout = _layout(sample.attribute)
        most = np.zeros(view.classes)
        np.maximum.at(most, view.group, view.count)  # every range holds the value whose range it is
        order = np.argsort(layout.place[view.value], kind="stable")
        place, group, count = layout.place[view.value][order], view.group[order], view.count[order]
        for low, high in set(layout.declared):
            inside = slice(np.searchsorted(place, low, side="left"), np.searchsorted(place, high, side="right"))
            most = np.maximum(most, np.bincount(group[inside], weights=count[inside], minlength=view.classes))
        share = np.minimum(most / np.maximum(view.known_size, 1), 1.0)
        return _outcome(model, sample, layout, share)

    def needs_input(self, claims: Claims, columns: Sequence[Column]) -> bool:
        return has_hidden_ranges(columns)

    def necessary(self, model: Model, known: Known) -> np.ndarray:
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


class RangeDiversity(Term):
    """Range diversity: few pairs of a class lie close to each other within one sensitive range."""

    name = "range-diversity"
    main = "p"
    words = "of range diversity at most {p:g}"
    leaves_open = (
        "A likely guess at the range of '{}': range diversity is a mean over pairs, so one sensitive range may hold "
        "most of a class."
    )
    closed_by = ("range-confidence",)
    required = {"p": positive_share}
    single = True
    reads_input = True

    def judge(self, model: Model, sample: Sample) -> Outcome:
        """Mean closeness of ordered pairs, itself included, 0 where the second is outside the first one's range."""
        attribute = sample.attribute
        view = sample.diversity.answers()
        layout = _layout(attribute)
        order = np.lexsort((layout.place[view.value], view.group))
        group, value, count = view.group[order], view.value[order], view.count[order]
        base = group * (len(layout.place) + 1)
        key = base + layout.place[value]
        first = np.searchsorted(key, base + layout.low[value], side="left")
        after = np.searchsorted(key, base + layout.high[value], side="right")
        # A value's closeness to itself needs no domain, which the release alone may not tell.
        distance = _distance(sample) if (after - first > 1).any() else Distance(lambda one, other: np.zeros(len(one)))
        near = np.zeros(len(value))
        line = distance.line
        for start, stop in () if line is None else _large_classes(group):
            mine = slice(start, stop)
            place = line[value[mine]]  # type: ignore[index]
            near[mine] = _along_the_line(place, count[mine], first[mine] - start, after[mine] - start)
            after[mine] = first[mine]  # no pair of theirs is left
        for start, stop in _slices(after - first):
            sizes = (after - first)[start:stop]
            one = np.repeat(np.arange(start, stop), sizes)
            other = np.arange(len(one)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + first[one]
            close = 1.0 - distance.between(value[one], value[other])
            near[start:stop] += np.bincount(one - start, weights=close * count[other], minlength=stop - start)
        total = np.bincount(group, weights=count, minlength=view.classes)
        pairs = np.bincount(group, weights=count * near, minlength=view.classes)
        figure = pairs / np.maximum(total, 1) ** 2
        return _outcome(model, sample, layout, np.minimum(figure, 1.0))

    def needs_input(self, claims: Claims, columns: Sequence[Column]) -> bool:
        """Whether ranges are not told, or have a width to measure by a domain that is not public."""
        ranged = [column for column in columns if column.policy is not None]
        return has_hidden_ranges(columns) or not all(has_public_domain(column) for column in ranged)

    def necessary(self, model: Model, known: Known) -> np.ndarray:
        """A value is as close to itself as can be, so the mean over pairs is at least the sum of squared shares."""
        view = known.view
        share = view.count / view.sums(view.count)[view.group]
        return at_most(view.sums(share**2), model["p"])
