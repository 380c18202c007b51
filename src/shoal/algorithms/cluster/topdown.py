"""Top-down local recoding (Xu, Wang, Pei, Wang, Shi & Fu 2006)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.algorithms.base import Problem
from shoal.algorithms.cluster.parts import Clusterer, across_parts, local_values
from shoal.algorithms.prices import prices_of
from shoal.kernels.cluster.top_down import partition_part, partition_parts
from shoal.recoding.recodings import Grouping


@dataclass(frozen=True, kw_only=True)
class TopDown(Clusterer):
    """Part the records around two that are far apart until groups have at most k, then mend those that have fewer.

    Each record goes to the side whose normalised certainty penalty it raises less. A group too small is filled from a
    large one or merged with its nearest, whichever raises the penalty of all less. O(n²) in the worst case.

    Examples
    --------
    >>> TopDown(k=5).parameters()
    {'name': 'top-down', 'suppression_limit': 0.0}
    """

    name: ClassVar[str] = "top-down"

    def group(self, problem: Problem) -> Grouping:
        """Group all rows."""
        parts, k = self.parts(problem), problem.judge.k
        prices = prices_of(problem.domain, "penalty")
        codes = np.ascontiguousarray(parts.codes.T, dtype=np.int32)
        local, values, value_at = local_values(parts.numbers(), parts.count, codes, prices.card)
        key = np.append(problem.keys.stream("top-down seeds"), np.uint64(0))
        problem.progress(f"parting {problem.table.n} rows" + parts.said)
        ids = np.empty(problem.table.n, dtype=np.int32)
        repaired = np.zeros((parts.count, 3), dtype=np.int64)
        counts = np.empty(parts.count, dtype=np.int64)
        if parts.count == 1:
            counts[0] = partition_part(prices, codes, local, values, value_at[0], key, k, ids, repaired[0])
        else:
            partition_parts(prices, codes, local, values, value_at, parts.starts, key, k, ids, repaired, counts)
        merged, filled, bisected = repaired.sum(axis=0).tolist()
        notes = {"merged": merged, "filled": filled, "bisected_again": bisected}
        return self.grouping(parts, across_parts(parts, ids, counts), notes)
