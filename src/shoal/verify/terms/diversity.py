"""Models of how different the answers of a class are, and how large a share one of them has."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from shoal.verify.counts import Known, possible_shares
from shoal.verify.facts import Histogram, Sample
from shoal.verify.report import TOLERANCE, Outcome, at_least
from shoal.verify.terms.base import Model, Term, count, from_one, positive, scalar, share, shares
from shoal.verify.terms.closeness import answer_shares, is_value, largest, shares_outcome

# ----------------------------------------
# How diverse the values of a class are.
#
# Where non-answers occur, entropy and recursive diversity must hold with them as ordinary values and with them
# removed; others look at answers only. Where people are counted, a diversity sees a class in which everybody has
# one answer as that answer alone.


def both_ways(
    histogram: Histogram,
    figure: Callable[[Histogram], np.ndarray],
    worse: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> np.ndarray:
    """The worse of a figure with non-answers as ordinary values and with them removed."""
    removed = figure(histogram.answers())
    return worse(removed, figure(histogram)) if histogram.has_unknown else removed


def distinct_answers(histogram: Histogram) -> np.ndarray:
    """Number of answers in each class."""
    return np.bincount(histogram.answers().group, minlength=histogram.classes).astype(float)


def entropy(view: Histogram) -> np.ndarray:
    """Of the values of each class, in natural units."""
    share = view.count / view.sums(view.count)[view.group]
    return view.sums(-share * np.log(share))


def recursive_ratio(model: Mapping[str, Any], view: Histogram) -> np.ndarray:
    """r1 over r_l + ... + r_m in each class, 0 without any value."""
    order = np.lexsort((-view.count, view.group))
    group, count = view.group[order], view.count[order]
    place = np.arange(len(group)) - np.searchsorted(group, np.arange(view.classes))[group]
    most = np.bincount(group, weights=count * (place == 0), minlength=view.classes)
    tail = np.bincount(group, weights=count * (place >= model["l"] - 1), minlength=view.classes)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(most > 0, most / tail, 0.0)


class DistinctL(Term):
    """Distinct l-diversity: a class has at least l answers."""

    name = "distinct-l"
    main = "l"
    words = "distinct {l}-diverse"
    required = {"l": count}
    rows_first = True

    def judge(self, model: Model, sample: Sample) -> Outcome:
        """At least l distinct answers."""
        distinct = distinct_answers(sample.diversity)
        return Outcome(distinct, ~sample.judged | (distinct >= model["l"]), sample.judged, "low")

    def can_fail(self, model: Model) -> bool:
        return model["l"] > 1

    def necessary(self, model: Model, known: Known) -> np.ndarray:
        return known.distinct >= model["l"]

    def left(self, model: Model, sample: Sample) -> float | np.ndarray:
        return 1 / model["l"]


class EntropyL(Term):
    """Entropy l-diversity: the answers of a class are as uncertain as l equally likely ones."""

    name = "entropy-l"
    main = "l"
    words = "entropy {l:g}-diverse"
    required = {"l": from_one}

    def judge(self, model: Model, sample: Sample) -> Outcome:
        """Entropy of at least ln l; the figure is exp(entropy), comparable with l."""
        found = both_ways(sample.diversity, entropy, np.minimum)
        passes = ~sample.judged | (found >= np.log(model["l"]) - TOLERANCE)
        return Outcome(np.exp(found), passes, sample.judged, "low")

    def can_fail(self, model: Model) -> bool:
        return model["l"] > 1

    def necessary(self, model: Model, known: Known) -> np.ndarray:
        """The flattest histogram there can be is uncertain enough."""
        most = np.minimum(entropy(known.view), entropy(known.whole))
        return at_least(most, np.log(model["l"]))

    def left(self, model: Model, sample: Sample) -> float | np.ndarray:
        return 1 / math.ceil(model["l"] - TOLERANCE)


class RecursiveCl(Term):
    """Recursive (c, l)-diversity: the commonest answer of a class is not too common beside the rare ones."""

    name = "recursive-cl"
    main = "c"
    words = "recursive ({c:g},{l})-diverse"
    required = {"c": positive, "l": count}

    def judge(self, model: Model, sample: Sample) -> Outcome:
        """r1 < c (r_l + ... + r_m), strictly; the figure is r1 over that tail.

        The comparison is strict, so a difference within rounding counts as equality, which fails.
        """
        value = both_ways(sample.diversity, lambda view: recursive_ratio(model, view), np.maximum)
        passes = ~sample.judged | (value < model["c"] * (1 - TOLERANCE))
        return Outcome(value, passes, sample.judged, "high")

    def necessary(self, model: Model, known: Known) -> np.ndarray:
        """The flattest histogram there can be has a tail that is long enough."""
        least = np.maximum(recursive_ratio(model, known.view), recursive_ratio(model, known.whole))
        return least < model["c"]

    def left(self, model: Model, sample: Sample) -> float | np.ndarray:
        return 1 / model["l"]


class PSensitive(Term):
    """p-sensitive k-anonymity: a class of at least k has at least p answers."""

    name = "p-sensitive"
    main = "p"
    words = "{p}-sensitive {k}-anonymous"
    group_words = "at least {p} values in groups of at least {k} records"
    required = {"p": count, "k": count}
    identity = True
    rows_first = True

    def judge(self, model: Model, sample: Sample) -> Outcome:
        """At least p distinct answers, in a class of at least k."""
        distinct = distinct_answers(sample.diversity)
        passes = (~sample.judged | (distinct >= model["p"])) & (sample.sizes >= model["k"])
        return Outcome(distinct, passes, sample.judged, "low")

    def size(self, model: Model) -> int:
        return int(model["k"])

    def can_fail(self, model: Model) -> bool:
        return model["p"] > 1

    def necessary(self, model: Model, known: Known) -> np.ndarray:
        return known.distinct >= model["p"]

    def left(self, model: Model, sample: Sample) -> float | np.ndarray:
        return 1 / model["p"]


def alpha_of(model: Model, sample: Sample) -> np.ndarray:
    """The largest share that each value is allowed."""
    alpha = np.full(len(sample.attribute.known), float(model.get("default", 1.0)))
    for value, own in model["alpha"].items():
        alpha[is_value(sample, value)] = own
    return alpha


class AlphaKComplete(Term):
    """Complete (alpha, k)-anonymity: each answer has at most a share of its own in a class of at least k."""

    name = "alpha-k-complete"
    words = "completely (alpha,{k})-anonymous"
    group_words = "shares of values limited in groups of at least {k} records"
    required = {"alpha": shares, "k": count}
    optional = {"default": share}
    identity = True
    single = True

    def limit(self, model: Model) -> float:
        return 1.0

    def judge(self, model: Model, sample: Sample) -> Outcome:
        """Each answer's share is at most its own alpha; the figure is the largest share over alpha."""
        answers = sample.histogram.answers()
        with np.errstate(divide="ignore"):
            found = answer_shares(answers) / alpha_of(model, sample)[answers.value]
        return shares_outcome(largest(answers, found), 1.0, model["k"], sample)

    def size(self, model: Model) -> int:
        return int(model["k"])

    def necessary(self, model: Model, known: Known) -> np.ndarray:
        """Some number of people leaves every answer with its share; which code is which value is not published."""
        if known.coded:
            return np.ones(known.view.classes, dtype=bool)
        return possible_shares(alpha_of(model, known.sample)[known.view.value], known)

    def left(self, model: Model, sample: Sample) -> float | np.ndarray:
        return alpha_of(model, sample)


class AlphaKGeneral(Term):
    """General (alpha, k)-anonymity: no answer has more than the share alpha of a class of at least k."""

    name = "alpha-k-general"
    main = "alpha"
    words = "generally ({alpha:g},{k})-anonymous"
    group_words = "no value with a share above {alpha:g} in groups of at least {k} records"
    required = {"alpha": share, "k": count}
    identity = True

    def judge(self, model: Model, sample: Sample) -> Outcome:
        """No answer has a share above alpha, in a class of at least k."""
        answers = sample.histogram.answers()
        return shares_outcome(largest(answers, answer_shares(answers)), model["alpha"], model["k"], sample)

    def size(self, model: Model) -> int:
        return int(model["k"])

    def can_fail(self, model: Model) -> bool:
        return model["alpha"] < 1

    def necessary(self, model: Model, known: Known) -> np.ndarray:
        """Some number of people leaves every answer, or the code that stands for it, with a share of at most alpha."""
        return possible_shares(np.full(len(known.view.group), float(model["alpha"])), known)

    def left(self, model: Model, sample: Sample) -> float | np.ndarray:
        return model["alpha"]


def alpha_of_simple(model: Model, sample: Sample) -> np.ndarray:
    """The largest share that each value is allowed."""
    return np.where(is_value(sample, model["value"]), float(model["alpha"]), 1.0)


class AlphaKSimple(Term):
    """Simple (alpha, k)-anonymity: one given answer has at most the share alpha of a class of at least k."""

    name = "alpha-k-simple"
    main = "alpha"
    words = "simply ({alpha:g},{k})-anonymous for one value"
    group_words = "one value with a share of at most {alpha:g} in groups of at least {k} records"
    required = {"alpha": share, "k": count, "value": scalar}
    identity = True
    single = True

    def judge(self, model: Model, sample: Sample) -> Outcome:
        """One given answer has a share of at most alpha, in a class of at least k."""
        answers = sample.histogram.answers()
        shares = np.where(is_value(sample, model["value"])[answers.value], answer_shares(answers), 0.0)
        return shares_outcome(largest(answers, shares), model["alpha"], model["k"], sample)

    def size(self, model: Model) -> int:
        return int(model["k"])

    def can_fail(self, model: Model) -> bool:
        return model["alpha"] < 1

    def necessary(self, model: Model, known: Known) -> np.ndarray:
        """Some number of people leaves the answer with its share; which code it would be is not published."""
        if known.coded:
            return np.ones(known.view.classes, dtype=bool)
        return possible_shares(alpha_of_simple(model, known.sample)[known.view.value], known)

    def left(self, model: Model, sample: Sample) -> float | np.ndarray:
        return alpha_of_simple(model, sample)
