"""Bottom-up local recoding (Xu, Wang, Pei, Wang, Shi & Fu 2006)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.algorithms.base import Problem
from shoal.algorithms.cluster.records import Clusterer, Parts, across_parts, equal_records, local_values
from shoal.algorithms.prices import prices_of
from shoal.kernels.cluster.bottom_up import merge_entries, roots
from shoal.kernels.cluster.top_down import partition_part, partition_parts
from shoal.kernels.prices import Prices, widest_columns
from shoal.recoding.recodings import Grouping


@dataclass(frozen=True, kw_only=True)
class BottomUp(Clusterer):
    """Merge groups too small with the group they cost least with, then halve those of 2k records or more.

    The cost is the normalised certainty penalty of the merged group as a whole. Equal records begin as one group.
    Groups end with k to 2k - 1 records; O(n² log k) without subspaces.

    Examples
    --------
    >>> BottomUp(k=5, prepartition=2000).parameters()
    {'name': 'bottom-up', 'suppression_limit': 0.0, 'prepartition': 2000}
    """

    name: ClassVar[str] = "bottom-up"

    def most_groups(self, problem: Problem) -> int:
        """Every record may begin as a group."""
        return problem.domain.n

    def group(self, problem: Problem) -> Grouping:
        """Group all rows."""
        parts, k = self.parts(problem), problem.judge.k
        prices = prices_of(problem.domain, "penalty")
        problem.progress(f"merging {problem.table.n} rows" + parts.said)
        rows, entry_at, part = equal_records(parts, parts.codes.T, prices.card)
        order = np.argsort(rows[entry_at[:-1]])
        first = rows[entry_at[:-1]][order]
        starts = np.searchsorted(part[order], np.arange(parts.count + 1))
        codes = np.ascontiguousarray(parts.codes[first].T, dtype=np.int32)
        parent, passes = merge_entries(prices, codes, np.diff(entry_at)[order], starts, k)
        of_entry = np.empty(order.size, dtype=np.int64)
        of_entry[order] = roots(parent)
        ids = np.empty(rows.size, dtype=np.int64)
        ids[rows] = np.repeat(of_entry, np.diff(entry_at))
        ids, large = split_large(prices, parts, ids, k)
        return self.grouping(parts, ids, {"passes": int(passes.max()), "split": large})


def split_large(prices: Prices, parts: Parts, ids: np.ndarray, k: int) -> tuple[np.ndarray, int]:
    """Cut groups of 2k records or more into as many as they have room for, in the order of their widest column.

    Halves are cut again, each along its own widest column. Returns group numbers and how many groups were cut.
    """
    codes = np.ascontiguousarray(parts.codes.T, dtype=np.int32)
    order = np.argsort(ids, kind="stable")
    starts = np.append(np.flatnonzero(np.diff(ids[order], prepend=-1)), order.size)
    pieces = np.diff(starts) // k
    large = int((pieces > 1).sum())
    while (pieces > 1).any():
        group = np.repeat(np.arange(pieces.size), np.diff(starts))
        widest = np.where(pieces > 1, widest_columns(prices, np.ascontiguousarray(codes[:, order]), starts), -1)[group]
        by = np.where(widest >= 0, codes[np.maximum(widest, 0), order], 0)
        order = order[np.lexsort((order, by, group))]
        left = pieces // 2
        middle = np.where(pieces > 1, starts[:-1] + np.diff(starts) * left // pieces, starts[:-1])
        pieces = np.stack([left, pieces - left], axis=1).ravel()
        both = np.stack([starts[:-1], middle], axis=1).ravel()
        kept = pieces > 0
        pieces, starts = pieces[kept], np.append(both[kept], order.size)
    found = np.empty(ids.size, dtype=np.int64)
    found[order] = np.repeat(np.arange(pieces.size), np.diff(starts))
    return found, large


# ----------------------------------------
# Top-down local recoding (Xu, Wang, Pei, Wang, Shi & Fu 2006).


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
