"""What reports add to the verdicts: splits by another attribute, and distances to the other reference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from shoal.data.classes import EVERYBODY, Split, Together, in_runs
from shoal.judging.feasible import whole_reference
from shoal.models.judge import Judge
from shoal.recoding.recoded import Released


def split_verdicts(released: Released, judge: Judge) -> list[dict[str, Any]]:
    """Worst class of every model after splitting each class by each other sensitive attribute.

    Nothing is required to hold here; reports show it so that a publisher sees what an intruder who knows one
    attribute still faces.
    """
    found = []
    for column in released.domain.sensitive:
        told = [at for at, names in enumerate(judge.about) if names is not None and column.name not in names]
        if not told:
            continue  # nothing would be told of it
        worst, failing = {at: list[float]() for at in told}, dict.fromkeys(told, 0)
        for classes in in_runs(released.classmap, released.sizes):
            stats = released.rows.stats(Split(classes, column.name), judge.attributes)
            judgements = judge.judge(stats)
            for at in told:
                worst[at].append(judgements[at].worst)
                failing[at] += int(stats.rows[~judgements[at].ok].sum())
        found += [
            {
                "model": judgements[at].model.name,
                "on": list(judge.about[at] or ()),
                "known": column.name,
                "worst": _worst(worst[at], judgements[at].better),
                "limit": judgements[at].limit,
                "failing_rows": failing[at],
            }
            for at in told
        ]
    return found


def _worst(figures: Sequence[float], better: str) -> float:
    known = [one for one in figures if not math.isnan(one)]
    return (min if better == "up" else max)(known, default=math.nan)


def other_references(released: Released, judge: Judge) -> list[dict[str, Any]]:
    """Worst class of every model that compares, against the reference that it does not name; nothing need hold here.

    Private: a distance to the input tells about suppressed people.
    """
    rows, found = released.rows, []
    for model in judge.models:
        if not model.compares:
            continue
        among = EVERYBODY if model.relative else Together(released.classmap)
        other = Judge([model], whole_reference(rows, [model], among))
        stats = rows.stats(released.classmap, other.attributes)
        found += [
            {
                "model": model.name,
                "on": list(one.on or ()),
                "against": "input" if model.relative else "released",
                "worst": one.worst,
                "limit": one.limit,
            }
            for one in other.judge(stats)
        ]
    return found
