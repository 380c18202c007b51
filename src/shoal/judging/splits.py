"""What reports add to the verdicts: splits by another attribute, and distances to the other reference."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shoal.judging.feasible import whole_reference
from shoal.models.judge import Judge
from shoal.recoding.applied import Released
from shoal.table.classmap import EVERYBODY, Split, Together


def split_verdicts(released: Released, judge: Judge) -> list[dict[str, Any]]:
    """Worst class of every model after splitting each class by each other sensitive attribute.

    Nothing is required to hold here; reports show it so that a publisher sees what an intruder who knows one
    attribute still faces.
    """
    rows, found = released.rows, []
    for column in rows.domain.sensitive:
        stats = rows.stats(Split(released.classmap, column.name), judge.attributes)
        for judgement in judge.judge(stats):
            if judgement.on is None or column.name in judgement.on:
                continue
            values = judgement.values[~np.isnan(judgement.values)]
            worst = (values.min() if judgement.better == "up" else values.max()) if values.size else math.nan
            found.append(
                {
                    "model": judgement.model.name,
                    "on": list(judgement.on),
                    "known": column.name,
                    "worst": float(worst),
                    "limit": judgement.limit,
                    "failing_rows": int(stats.rows[~judgement.ok].sum()),
                }
            )
    return found


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
