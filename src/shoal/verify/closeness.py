"""t-closeness: how far each class's distribution of an attribute is from the whole table's.

All distances run over the values that occur in a class only. That is exact: absent values enter through what
the table's shares must add up to, as each function says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from shoal.verify.claims import Column
from shoal.verify.facts import Attribute, Histogram, Sample
from shoal.verify.outcome import Outcome, at_most
from shoal.verify.values import canonical


def t_closeness(model: Mapping[str, Any], sample: Sample) -> Outcome:
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
