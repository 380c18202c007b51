"""Choosing TOC's threshold and subspace size on a sample (Loukides 2008, Algorithms 3 and 4)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from shoal.algorithms.cluster.records import Records
from shoal.kernels.cluster.toc import Aim, Task, trial, try_thresholds
from shoal.kernels.prices import Prices


def sample_size(n: int, k: int, fraction: float) -> int:
    """Rows of the sample; its cap keeps the heuristics' cost independent of the table's size."""
    return min(n, max(math.ceil(fraction * n), 20 * k), max(2000, 20 * k))


def delta_candidates(iteration: int) -> list[float]:
    """Midpoints of 2^i equal intervals of [0, 1]."""
    count = 2**iteration
    return [(2 * place + 1) / (2 * count) for place in range(count)]


def next_best(tried: Sequence[Mapping[str, Any]]) -> list[float]:
    """Thresholds that were tried, best score first, then those without one, largest first; 1 allows every cluster."""
    scored = sorted((one for one in tried if one["score"] is not None), key=_rank)
    others = sorted((one["delta"] for one in tried if one["score"] is None), reverse=True)
    return [*(one["delta"] for one in scored), *others, 1.0]


def _rank(one: Mapping[str, Any]) -> tuple[float, float]:
    return round(one["score"], 12), one["delta"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Trials:
    """Clusterings of a sample, scored by UM + MPM over their clusters; smaller is better.

    Attributes
    ----------
    sample
        With every sensitive column; the table's own domains price it.
    prices
        Under the weights of the objective.
    aim
        Limits; its delta is replaced.
    rounds
        max_iterations of both algorithms.
    increment
        How leftovers join.
    shares
        What UM and MPM are multiplied by in the score.
    """

    sample: Records
    prices: Prices
    aim: Aim
    rounds: int
    increment: bool
    shares: Sequence[float]

    @cached_property
    def plain(self) -> Prices:
        """Every column alike, for figures column by column."""
        return self.sample.prices([1.0] * len(self.sample.columns))

    def choose_delta(self) -> tuple[float, list[dict[str, Any]]]:
        """Algorithm 3: the candidate with the best score, of equals the smallest; and all that were tried.

        A candidate under which no cluster reaches k has no score; if none has one, the largest is returned.
        """
        deltas = sorted({delta for i in range(1, self.rounds + 1) for delta in delta_candidates(i)})
        results = try_thresholds(self._task(self.sample, 0.0), self.plain, np.array(deltas), self.increment)
        tried = [{"delta": delta} | self._score(result) for delta, result in zip(deltas, results, strict=True)]
        scored = [one for one in tried if one["score"] is not None]
        best = min(scored, key=_rank, default=tried[-1])
        return best["delta"], tried

    def choose_size(self, delta: float, epsilon: float, *, raw: bool) -> tuple[int, list[dict[str, Any]]]:
        """Algorithm 4: double the subspaces, from k rows on, until the score changes by less than ``epsilon``."""
        size = self.aim.k
        tried: list[dict[str, Any]] = []
        while True:
            parts = self.sample.copy().halved(size, raw=raw)
            result = np.zeros(len(parts.columns) + 1, dtype=np.int64)
            trial(self._task(parts, delta), self.plain, self.increment, result)
            tried.append({"size": size} | self._score(result))
            scores = [one["score"] for one in tried[-2:]]
            close = len(tried) > 1 and None not in scores and abs(scores[0] - scores[1]) < epsilon
            if close or len(tried) == self.rounds or 2 * size > self.sample.order.size:
                return size, tried
            size *= 2

    def _task(self, parts: Records, delta: float) -> Task:
        return Task(parts.pool, parts.starts, self.prices, self.aim._replace(delta=float(delta)))

    def _score(self, result: np.ndarray) -> dict[str, Any]:
        """Figures of one trial, from the columns' ticks over all clusters and the number of these."""
        if result[-1] == 0:
            return {"clusters": 0, "um": None, "mpm": None, "score": None}
        m, weights = self.sample.quasi, self.sample.weights
        means = result[:-1] / (self.plain.unit * result[-1])
        um = float(means[:m] @ weights / weights.sum())
        spread = means[m:]
        mpm = float(1.0 - spread.mean()) if spread.size else None
        score = self.shares[0] * um + self.shares[1] * (mpm or 0.0)
        return {"clusters": int(result[-1]), "um": um, "mpm": mpm, "score": score}
