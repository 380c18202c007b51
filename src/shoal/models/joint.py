"""What knowing one sensitive attribute does to the protection of another."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shoal.kernels.grouping import group_rows
from shoal.models.base import Judge
from shoal.recoding.released import Released
from shoal.table.stats import GroupCounter


def split_verdicts(released: Released, judge: Judge, engine: GroupCounter) -> list[dict[str, Any]]:
    """Worst class of every model after splitting each class by each other sensitive attribute.

    Nothing is required to hold here; reports show it so that a publisher sees what an intruder who knows one
    attribute still faces.
    """
    table = released.table
    found = []
    for column in table.sensitive:
        ids, first, _ = group_rows(
            np.stack([released.classes + 1, column.codes]), np.array([released.n_classes + 1, column.card])
        )
        ids = np.where(released.classes >= 0, ids, -1).astype(np.int32)
        stats = engine.group_stats(table, ids, first.size, judge.attributes)
        kept = stats.rows > 0
        for judgement in judge.judge(stats):
            if judgement.on is None or column.name in judgement.on:
                continue
            values = judgement.values[kept]
            values = values[~np.isnan(values)]
            worst = (values.min() if judgement.better == "up" else values.max()) if values.size else math.nan
            found.append(
                {
                    "model": judgement.model.name,
                    "on": list(judgement.on),
                    "known": column.name,
                    "worst": float(worst),
                    "limit": judgement.limit,
                    "failing_rows": int(stats.rows[kept & ~judgement.ok].sum()),
                }
            )
    return found
