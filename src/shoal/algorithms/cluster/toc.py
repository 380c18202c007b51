"""TOC k-anonymisation (Loukides 2008, Ch. 3): classes that trade utility against protection."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from shoal.algorithms.aims import PROTECTION, Aim
from shoal.algorithms.base import Problem
from shoal.algorithms.cluster.records import Records, collect
from shoal.algorithms.grouping import Grouper
from shoal.algorithms.prices import fraction
from shoal.data.table import Table
from shoal.errors import InfeasibleError, ParameterError
from shoal.kernels.cluster.toc import Aim as Goal
from shoal.kernels.cluster.toc import Joining, Task, cluster, join_leftovers, trial, try_thresholds
from shoal.kernels.median_split import numbered
from shoal.kernels.prices import Prices
from shoal.kernels.random import PLACES
from shoal.params import choice, real, whole
from shoal.recoding.recodings import Grouping
from shoal.registry import load

# ----------------------------------------
# Choosing TOC's threshold and subspace size on a sample (Loukides 2008, Algorithms 3 and 4).


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
    aim: Goal
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


_CHOICES = {
    "listing": ("polished", "printed"),
    "protection": PROTECTION,
    "linkage": ("record", "cluster"),
    "seeds": ("random", "order"),
    "leftover": ("reinsert", "suppress"),
    "assign": ("value", "increment"),
    "leftover_scope": ("near", "all"),
    "scale": ("normalised", "raw"),
    "score": ("sum", "weighted"),
    "fallback": ("error", "single"),
}
# Parameters of the printed listing alone.
_PRINTED = {
    "linkage", "delta", "size", "prepartition", "seeds", "leftover", "assign", "leftover_scope", "scale", "max_size",
    "sample_fraction", "max_iterations", "score", "epsilon", "with_replacement", "fallback",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class TOC(Grouper):
    """Classes for which utility_weight x loss + protection_weight x what they tell is small.

    By default Mondrian's groups are polished under that sum. ``listing = "printed"`` is the document's own method, MRG:
    clusters grow around seeds while utility_weight x Q-diversity + protection_weight x S-diversity <= delta. Both are
    means over columns, the first weighted by the attribute weights. Rows are first halved into subspaces (Algorithm 2),
    each of which is clustered by itself (Algorithm 1); leftovers then join the clusters near them (Algorithm 5).
    O(n (log n + s)) with subspaces of s rows.

    Parameters
    ----------
    utility_weight, protection_weight
        w_u and w_p, which sum to 1.
    listing
        ``polished``, or ``printed``, to which all parameters below but ``protection`` belong.
    protection
        What counts beside loss (``lm``) when groups are polished: ``range-diversity``, or ``mpm``, the spread of
        sensitive values. As printed it is always their spread.
    linkage
        The next record of a cluster is the nearest to its seed (``record``), or the one with which the cluster's
        objective is smallest (``cluster``); then clusters stop at k records, unless ``max_size`` is given.
    delta
        Largest value of the objective while a cluster grows; None chooses it on a sample (Algorithm 3), and goes on to
        the next best where nothing can be released under it.
    size
        s, fewest rows of a subspace; None chooses it on a sample (Algorithm 4).
    prepartition
        False clusters the whole table as one pool, in O(n^2 / cluster size).
    seeds
        ``random`` draws each seed; ``order`` takes the first record left of the keyed order that also breaks ties.
    leftover, assign, leftover_scope
        ``reinsert`` or ``suppress`` records in clusters that stayed below k; they join the cluster whose objective
        is then smallest (``value``) or rises least (``increment``), of those ``near`` them or of ``all``.
    scale
        Widest column by ``normalised`` or ``raw`` range when rows are halved.
    max_size
        No cluster grows beyond it (leftovers may still join); 2k - 1 is a good choice.
    sample_fraction, max_iterations, score, epsilon, with_replacement
        Of the heuristics: share of rows sampled, rounds, ``sum`` of UM and MPM or ``weighted`` as the objective is,
        change of the score that ends the doubling of s, and how rows are drawn.
    fallback
        When no cluster reaches k: ``error``, or one ``single`` cluster of everybody.

    Examples
    --------
    >>> str(TOC(k=5, utility_weight=0.8, protection_weight=0.2).polishes)
    '0.8 lm + 0.2 range-diversity'
    >>> TOC(k=5, listing="printed", delta=0.3, size=20).parameters()["delta"]
    0.3
    """

    name: ClassVar[str] = "toc"
    utility_weight: float = 0.5
    protection_weight: float = 0.5
    listing: str = "polished"
    protection: str = "range-diversity"
    linkage: str = "record"
    delta: float | None = None
    size: int | None = None
    prepartition: bool = True
    seeds: str = "random"
    leftover: str = "reinsert"
    assign: str = "value"
    leftover_scope: str = "near"
    scale: str = "normalised"
    max_size: int | None = None
    sample_fraction: float = 0.02
    max_iterations: int = 3
    score: str = "sum"
    epsilon: float = 0.01
    with_replacement: bool = False
    fallback: str = "error"

    def __post_init__(self) -> None:
        # First, because polish follows from them.
        for name in ("utility_weight", "protection_weight"):
            real("TOC", name, getattr(self, name), low=0.0, high=1.0)
        super().__post_init__()
        if abs(self.utility_weight + self.protection_weight - 1.0) > 1e-9:
            raise ParameterError(
                "The 'utility_weight' and 'protection_weight' of TOC must sum to 1. "
                f"Got {self.utility_weight!r} and {self.protection_weight!r}."
            )
        if self.delta is not None:
            real("TOC", "delta", self.delta, low=0.0, high=1.0)
        for name in ("size", "max_size"):
            if getattr(self, name) is not None:
                whole("TOC", name, getattr(self, name), least=max(1, self.k or 1))
        real("TOC", "sample_fraction", self.sample_fraction, low=0.0, high=1.0, open_low=True)
        whole("TOC", "max_iterations", self.max_iterations, least=1)
        real("TOC", "epsilon", self.epsilon, low=0.0)
        for name, options in _CHOICES.items():
            choice("TOC", name, getattr(self, name), options)
        if self.listing == "polished":
            self._refuse_printed()

    def _refuse_printed(self) -> None:
        """What only the printed listing has would otherwise be set in vain."""
        if self.polish is not None:
            raise ParameterError(
                "The 'polish' of TOC follows from its weights: leave it out, or set listing = 'printed'."
            )
        for one in fields(self):
            if one.name in _PRINTED and getattr(self, one.name) != one.default:
                raise ParameterError(
                    f"The '{one.name}' of TOC belongs to the printed listing: set listing = 'printed', or leave it out."
                )

    @property
    def polishes(self) -> Aim | None:
        """What polish lowers."""
        if self.listing == "printed":
            return super().polishes
        weight = float(self.protection_weight)
        return Aim("lm", self.protection, weight) if weight > 0 else Aim("lm")

    def group(self, problem: Problem) -> Grouping:
        """Group all rows."""
        self._check(problem.table, problem.judge.k)
        if self.listing == "printed":
            return self._printed(problem)
        # The start that measured best: of its own clusters, polish makes no more than of Mondrian's groups.
        return load("algorithm", "mondrian")(mode="relaxed").group(problem)  # type: ignore[no-any-return]

    def _printed(self, problem: Problem) -> Grouping:
        """Algorithms 1 to 5; with a threshold chosen here, the first of them under which there is a release."""
        order = problem.shuffled.astype(np.int32)
        notes, delta, size = self._choose(problem, order)
        deltas = [delta]
        if self.delta is None and self.fallback == "error":
            deltas += [one for one in next_best(notes["deltas"]) if one != delta]
        for place, delta in enumerate(deltas):
            try:
                return self._clustered(problem, order, delta, size, notes | {"delta": delta})
            except InfeasibleError:
                if place == len(deltas) - 1:
                    raise
        raise AssertionError

    def _clustered(
        self, problem: Problem, order: np.ndarray, delta: float, size: int, notes: dict[str, Any]
    ) -> Grouping:
        table = problem.table
        used = table.sensitive if self.protection_weight > 0 else []
        records = collect(problem, order, used, random_seeds=self.seeds == "random")
        if self.prepartition:
            problem.progress("halving the table")
            records = records.halved(size, raw=self.scale == "raw")
        if np.diff(records.starts).max() >= PLACES:
            raise ParameterError(
                f"TOC clusters at most {PLACES - 1} rows at a time: set prepartition, or a smaller size."
            )
        return self._cluster(problem, records, delta, notes | {"subspaces": records.parts})

    def _cluster(self, problem: Problem, records: Records, delta: float, notes: dict[str, Any]) -> Grouping:
        table = problem.table
        problem.progress("clustering")
        prices = self._objective(records)
        aim = self._goal(prices, problem.judge.k, delta)
        task = Task(records.pool, records.starts, prices, aim)
        found, made = cluster(task)
        count, left = int(found.clusters.sum()), int(found.left.sum())
        if count == 0:
            return self._nothing(table, aim, notes)
        if left and self.leftover == "reinsert":
            problem.progress("placing leftovers")
            join_leftovers(task, found, made, Joining(self.leftover_scope == "all", self.assign == "increment"))
        elif left > self.rows_allowed(table.n):
            raise InfeasibleError(
                f"TOC leaves {left} of {table.n} rows over at delta = {aim.delta:g}, and {self.limit_words}: "
                "raise it or delta, or set leftover to 'reinsert'."
            )
        ids = np.empty(table.n, dtype=np.int32)
        ids[records.order] = numbered(found, made)
        notes |= {"clusters": count, "leftovers": left, "mean_size": float(made.size.sum() / count)}
        return Grouping(ids=ids, groups=count, notes=notes)

    def _check(self, table: Table, k: int) -> None:
        if self.protection_weight > 0 and not table.sensitive:
            raise ParameterError(
                "The 'protection_weight' of TOC needs a sensitive attribute: name one, or set it to 0."
            )
        for name in ("size", "max_size"):
            if getattr(self, name) is not None:
                whole("TOC", name, getattr(self, name), least=k)

    def _objective(self, records: Records) -> Prices:
        """Prices whose sum is the objective, but for its base."""
        quasi = [fraction(weight) for weight in records.weights.tolist()]
        useful, protected = (fraction(float(one)) for one in (self.utility_weight, self.protection_weight))
        shown = len(records.columns) - len(quasi)
        return records.prices(
            [useful * weight / sum(quasi) for weight in quasi] + [-protected / shown for _ in range(shown)]
        )

    def _goal(self, prices: Prices, k: int, delta: float) -> Goal:
        base = round(-float(prices.unit[prices.unit < 0].sum()))
        linked = self.linkage == "cluster"
        most = int(self.max_size or (k if linked else PLACES))
        return Goal(base, float(delta), k, most, linked)

    def _choose(self, problem: Problem, order: np.ndarray) -> tuple[dict[str, Any], float, int]:
        """Delta and s as given, else chosen on a sample."""
        delta, size = self.delta, self.size
        notes: dict[str, Any] = {}
        if delta is None or (size is None and self.prepartition):
            problem.progress("trying thresholds and subspace sizes on a sample")
            sample = self._sample(problem, order)
            prices = self._objective(sample)
            trials = Trials(
                sample=sample,
                prices=prices,
                aim=self._goal(prices, problem.judge.k, delta or 0.0),
                rounds=int(self.max_iterations),
                increment=self.assign == "increment",
                shares=(self.utility_weight, self.protection_weight) if self.score == "weighted" else (1.0, 1.0),
            )
            notes["sample"] = sample.order.size
            if delta is None:
                delta, notes["deltas"] = trials.choose_delta()
            if size is None and self.prepartition:
                size, notes["sizes"] = trials.choose_size(delta, self.epsilon, raw=self.scale == "raw")
        notes |= {"delta": delta} | ({"size": size} if self.prepartition else {})
        return notes, delta, size or 0

    def _sample(self, problem: Problem, order: np.ndarray) -> Records:
        table = problem.table
        rows = order[: sample_size(table.n, problem.judge.k, self.sample_fraction)]
        if self.with_replacement:
            rows = order[problem.keys.generator("sample").integers(0, table.n, rows.size)]
        return collect(problem, rows, table.sensitive, random_seeds=self.seeds == "random")

    def _nothing(self, table: Table, aim: Goal, notes: dict[str, Any]) -> Grouping:
        if self.fallback == "single":
            ids = np.zeros(table.n, dtype=np.int32)
            return Grouping(
                ids=ids, groups=1, notes=notes | {"clusters": 1, "leftovers": 0, "mean_size": float(table.n)}
            )
        raise InfeasibleError(
            f"No cluster of TOC reaches {aim.k} records at delta = {aim.delta:g}: set a larger delta, or a smaller "
            "protection_weight."
        )
