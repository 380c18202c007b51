"""What a recoding would come to: its figure after failing classes are suppressed."""

from __future__ import annotations

import dataclasses
import math

from shoal.algorithms.base import Problem
from shoal.catalogue import load
from shoal.models.suppression import settled
from shoal.recoding.recoded import Released, apply_recoding
from shoal.recoding.recodings import Recoding


def held(problem: Problem, recoding: Recoding) -> Released:
    """What a recoding releases once failing classes are suppressed."""
    judge = problem.judge
    released = apply_recoding(problem.rows, recoding)
    stats = problem.rows.stats(released.classmap, judge.attributes)
    good = settled(judge, dataclasses.replace(stats, spreads=released.spreads), released.classmap, problem.rows)
    return dataclasses.replace(released.suppress(~good), k=judge.k)


def outcome(problem: Problem, recoding: Recoding, measure: str, allowed: int) -> float:
    """The measure's figure, less being better; infinite when more than ``allowed`` rows would be suppressed."""
    released = held(problem, recoding)
    if released.n_classes == 0 or released.n_suppressed > allowed:
        return math.inf
    score = load("measure", measure)().score(released.price_stats())
    if score.value is None:
        return math.inf
    return -score.value if score.better == "up" else score.value
