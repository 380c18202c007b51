"""How diverse the values of a class are.

Where non-answers occur, entropy and recursive diversity must hold with them as ordinary values and with them removed;
others look at answers only. Where people are counted, a diversity sees a class in which everybody has one answer as
that answer alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from shoal.verify.facts import Histogram


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
