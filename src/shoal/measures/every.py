"""All measures of one release, for its evidence."""

from __future__ import annotations

from functools import partial
from numbers import Real

from shoal.catalogue import load, spared, working
from shoal.recoding.recoded import PriceStats
from shoal.results import Score


def every_score(stats: PriceStats) -> dict[str, Score]:
    """The score of every measure by name, without those of plug-ins that fail."""
    found = {name: spared("measure", name, partial(_score, name, stats)) for name in working("measure")}
    return {name: score for name, score in found.items() if score is not None}


def _score(name: str, stats: PriceStats) -> Score:
    score: Score = load("measure", name)().score(stats)
    figures = [score.value, score.low, score.high, score.suppression, *score.also.values()]
    texts = [score.better, score.reason, *score.also]
    # What a plug-in gives may be anything, and evidence that cannot be written would stop a release that is good.
    if not all(one is None or isinstance(one, Real) for one in figures):
        raise TypeError("A figure is no number.")
    if not all(one is None or isinstance(one, str) for one in texts):
        raise TypeError("What is said of a figure is no text.")
    return score
