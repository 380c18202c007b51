"""Class size, diversity and share models, straight from their definitions.

Every function takes a model's entry of the manifest and a sample, and judges all classes at once. Where
non-answers occur, entropy and recursive diversity must hold with them as ordinary values and with them
removed; the others look at answers only. Where people are counted, a diversity sees a class in which everybody has one
answer as that answer alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import polars as pl

from shoal.verify.facts import Histogram, Sample
from shoal.verify.outcome import TOLERANCE, Outcome, at_most
from shoal.verify.values import canonical


def k(model: Mapping[str, Any], sample: Sample) -> Outcome:
    """Every class has at least k people (or rows)."""
    sizes = sample.sizes
    return Outcome(sizes.astype(float), sizes >= model["k"], np.ones(len(sizes), dtype=bool), "low")


def distinct_l(model: Mapping[str, Any], sample: Sample) -> Outcome:
    """At least l distinct answers."""
    distinct = _distinct(sample.diversity)
    return Outcome(distinct, ~sample.judged | (distinct >= model["l"]), sample.judged, "low")


def p_sensitive(model: Mapping[str, Any], sample: Sample) -> Outcome:
    """At least p distinct answers, in a class of at least k."""
    distinct = _distinct(sample.diversity)
    passes = (~sample.judged | (distinct >= model["p"])) & (sample.sizes >= model["k"])
    return Outcome(distinct, passes, sample.judged, "low")


def entropy_l(model: Mapping[str, Any], sample: Sample) -> Outcome:
    """Entropy of at least ln l; the figure is exp(entropy), comparable with l."""
    found = both_ways(sample.diversity, entropy, np.minimum)
    passes = ~sample.judged | (found >= np.log(model["l"]) - TOLERANCE)
    return Outcome(np.exp(found), passes, sample.judged, "low")


def recursive_cl(model: Mapping[str, Any], sample: Sample) -> Outcome:
    """r1 < c (r_l + ... + r_m), strictly; the figure is r1 over that tail.

    The comparison is strict, so a difference within rounding counts as equality, which fails.
    """
    value = both_ways(sample.diversity, lambda view: recursive_ratio(model, view), np.maximum)
    passes = ~sample.judged | (value < model["c"] * (1 - TOLERANCE))
    return Outcome(value, passes, sample.judged, "high")


def recursive_ratio(model: Mapping[str, Any], view: Histogram) -> np.ndarray:
    """r1 over r_l + ... + r_m in each class, 0 without any value."""
    order = np.lexsort((-view.count, view.group))
    group, count = view.group[order], view.count[order]
    place = np.arange(len(group)) - np.searchsorted(group, np.arange(view.classes))[group]
    most = np.bincount(group, weights=count * (place == 0), minlength=view.classes)
    tail = np.bincount(group, weights=count * (place >= model["l"] - 1), minlength=view.classes)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(most > 0, most / tail, 0.0)


def alpha_general(model: Mapping[str, Any], sample: Sample) -> Outcome:
    """No answer has a share above alpha, in a class of at least k."""
    answers = sample.histogram.answers()
    return _shares_outcome(_largest(answers, _shares(answers)), model["alpha"], model["k"], sample)


def alpha_simple(model: Mapping[str, Any], sample: Sample) -> Outcome:
    """One given answer has a share of at most alpha, in a class of at least k."""
    answers = sample.histogram.answers()
    shares = np.where(_is_value(sample, model["value"])[answers.value], _shares(answers), 0.0)
    return _shares_outcome(_largest(answers, shares), model["alpha"], model["k"], sample)


def alpha_complete(model: Mapping[str, Any], sample: Sample) -> Outcome:
    """Each answer's share is at most its own alpha; the figure is the largest share over alpha."""
    answers = sample.histogram.answers()
    with np.errstate(divide="ignore"):
        shares = _shares(answers) / alpha_of(model, sample)[answers.value]
    return _shares_outcome(_largest(answers, shares), 1.0, model["k"], sample)


def alpha_of(model: Mapping[str, Any], sample: Sample) -> np.ndarray:
    """The largest share that one of the alpha models allows each value."""
    known = sample.attribute.known
    if model["name"] == "alpha-k-general":
        return np.full(len(known), float(model["alpha"]))
    if model["name"] == "alpha-k-simple":
        return np.where(_is_value(sample, model["value"]), float(model["alpha"]), 1.0)
    alpha = np.full(len(known), float(model.get("default", 1.0)))
    for value, own in model["alpha"].items():
        alpha[_is_value(sample, value)] = own
    return alpha


def both_ways(
    histogram: Histogram,
    figure: Callable[[Histogram], np.ndarray],
    worse: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> np.ndarray:
    """The worse of a figure with non-answers as ordinary values and with them removed."""
    removed = figure(histogram.answers())
    return worse(removed, figure(histogram)) if histogram.has_unknown else removed


def _distinct(histogram: Histogram) -> np.ndarray:
    return np.bincount(histogram.answers().group, minlength=histogram.classes).astype(float)


def entropy(view: Histogram) -> np.ndarray:
    """Of the values of each class, in natural units."""
    share = view.count / view.sums(view.count)[view.group]
    return view.sums(-share * np.log(share))


def _shares(answers: Histogram) -> np.ndarray:
    """Share of each entry among the people (or rows) of its class that have an answer."""
    return answers.count / answers.known_size[answers.group]


def _largest(view: Histogram, figure: np.ndarray) -> np.ndarray:
    largest = np.zeros(view.classes)
    np.maximum.at(largest, view.group, figure)
    return largest


def _shares_outcome(value: np.ndarray, alpha: float, size: int, sample: Sample) -> Outcome:
    passes = (~sample.judged | at_most(value, alpha)) & (sample.sizes >= size)
    return Outcome(value, passes, sample.judged, "high")


def _is_value(sample: Sample, value: Any) -> np.ndarray:
    """For each value code, whether it is the given value."""
    attribute = sample.attribute
    text = canonical(pl.Series([str(value)]), attribute.columns[0].type)[0].item()
    return np.array([own is not None and own == text for own in attribute.texts.to_list()], dtype=bool)
