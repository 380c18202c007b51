"""UPC k-anonymisation (Loukides 2008, Ch. 5): clusters within hard limits on utility and protection."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from shoal.algorithms.aims import Aim, Promise, promise_of, secrets_of
from shoal.algorithms.base import Problem
from shoal.algorithms.cluster.records import Records, collect
from shoal.algorithms.grouping import Grouper, by_rows
from shoal.algorithms.polish import POLISH_ROUNDS, held, outcome, polish
from shoal.algorithms.prices import FINE, pack, quasi_columns, units_of
from shoal.errors import InfeasibleError, ParameterError
from shoal.kernels.cluster.toc import Joining
from shoal.kernels.cluster.upc import Limits, Task, join_limited, limit_clusters
from shoal.kernels.median_split import Pool, numbered
from shoal.kernels.prices import Prices
from shoal.kernels.random import PLACES
from shoal.models.base import Model
from shoal.params import choice, real, whole
from shoal.recoding.recodings import Grouping
from shoal.registry import load

# Subspaces of each listing, in smallest classes.
_SPACES = {"grown": 64, "corrected": 4, "printed": 4}
# What loss may count: where P is easily met, looking at range diversity only makes cells wider.
_GUIDES = (0.5, 1.0)
# Streams of the secret under which the best start is polished again.
_AGAIN = ("polish again", "polish once more")
# Rows on which other limits are tried when nothing can be released.
_TRIED = 2000
# Share of the largest weight below which a weight guides no less: U limits the prices of all columns alike, so that
# each needs ticks enough to tell whether it is kept.
_LEAST = 2.0**-16


@dataclass(frozen=True, kw_only=True)
class UPC(Grouper):
    """Grow clusters whose mean Q-diversity is at most U and whose range diversity is at most P; suppress the rest.

    Rows are first halved into subspaces (Algorithm 2). In each, a random seed takes in the record with which the
    cluster's group diversity, half the sum of both, is smallest, until the limits stop it (Algorithm 6). O(n s m) with
    subspaces of s rows. Several sensitive attributes: the limits hold for each, their mean guides.

    Parameters
    ----------
    utility
        U, shorthand that adds the model ``worst-group-utility``.
    protection
        P, shorthand that adds the model ``range-diversity``.
    strict
        Shorthand that also adds the model ``range-confidence`` with the same P: range diversity is an average, and
        one sensitive range may hold more than P of a class that meets it.
    listing
        ``grown``: clusters end at ``max_size``, but one that fails P grows on as long as its range diversity falls.
        ``printed``: as the document has it, P is asked for from k records on and the first record that breaks it ends
        the cluster, however large. ``corrected``: the same, but P is asked for where a class can first meet it.
    size
        s, fewest rows of a subspace; by default 64 times the smallest class that k and P allow, 4 times where the
        listing is not ``grown``.
    max_size
        No cluster that meets P grows beyond it (leftovers may still join); by default the smallest class that k and P
        allow, and nothing where the listing is not ``grown``.
    assign, leftover_scope
        A leftover joins the cluster whose group diversity is then smallest (``value``) or rises least
        (``increment``), of ``all`` or of those ``near`` it, if the limits still hold.
    guide
        What loss counts in the group diversity, from 0 to 1; the rest is range diversity. Where the listing is
        ``grown``, by default half, as the document has it, and 1 are tried beside Mondrian's groups under the same
        limits; what loses least once polished is kept, and polished again.
    polish
        As everywhere, but ``lm`` by default where the listing is ``grown``. ``polish_seconds`` is for each start, and
        the best is then not polished again: its ``guide`` (or ``mondrian``) and rounds repeat it exactly.
    suppression_limit
        Largest share of rows that may be suppressed, by default all but one class.

    Examples
    --------
    >>> [model.name for model in UPC(k=5, utility=0.7, protection=0.5).models()]
    ['k', 'worst-group-utility', 'range-diversity']
    """

    name: ClassVar[str] = "upc"
    shorthand: ClassVar[tuple[str, ...]] = ("k", "utility", "protection", "strict")
    utility: float | None = None
    protection: float | None = None
    strict: bool = False
    listing: str = "grown"
    size: int | None = None
    assign: str = "value"
    leftover_scope: str = "all"
    max_size: int | None = None
    guide: float | None = None
    suppression_limit: float = 1.0

    def __post_init__(self) -> None:
        choice("UPC", "listing", self.listing, _SPACES)
        super().__post_init__()
        if self.utility is not None:
            real("UPC", "utility", self.utility, low=0.0, high=1.0)
        if self.protection is not None:
            real("UPC", "protection", self.protection, low=0.0, high=1.0, open_low=True)
        if self.strict and self.protection is None:
            raise ParameterError("The 'strict' of UPC needs its 'protection': set it, or add 'range-confidence'.")
        for name in ("size", "max_size"):
            if getattr(self, name) is not None:
                whole("UPC", name, getattr(self, name), least=max(1, self.k or 1))
        choice("UPC", "assign", self.assign, ("value", "increment"))
        choice("UPC", "leftover_scope", self.leftover_scope, ("near", "all"))
        if self.guide is not None:
            real("UPC", "guide", self.guide, low=0.0, high=1.0)

    @property
    def polishes(self) -> Aim | None:
        """What polish lowers."""
        return Aim("lm") if self.polish is None and self.listing == "grown" else super().polishes

    def models(self) -> list[Model]:
        """The models that k, U, P and strict stand for."""
        given: list[tuple[str, dict[str, Any]]] = []
        if self.utility is not None:
            given.append(("worst-group-utility", {"u": self.utility}))
        if self.protection is not None:
            given.append(("range-diversity", {"p": self.protection}))
            if self.strict:
                given.append(("range-confidence", {"p": self.protection}))
        return super().models() + [load("model", name)(**parameters) for name, parameters in given]

    def run(self, problem: Problem) -> Grouping:
        """Cluster under the guide given; without one, try all starts and polish what loses least once more."""
        if self.guide is not None or self.listing != "grown":
            return by_rows(problem, super().run(problem))
        found: dict[str, Grouping] = {}
        failed: list[InfeasibleError] = []
        for guide in _GUIDES:
            try:
                found[f"guide {guide:g}"] = replace(self, guide=guide).run(problem)
            except InfeasibleError as error:
                failed.append(error)
        mondrian = load("algorithm", "mondrian")(
            mode="relaxed", suppression_limit=self.suppression_limit, max_suppressed=self.max_suppressed
        )
        found["mondrian"] = self.polished(problem, mondrian.run(problem))
        allowed = self.rows_allowed(problem.table.n)
        losses = {name: outcome(problem, one, "lm", allowed) for name, one in found.items()}
        best = min(losses, key=lambda name: losses[name])
        if losses[best] == np.inf and failed:
            lost = [error.suppressed for error in failed if isinstance(error, _TooMany)]
            least = min([*lost, *(held(problem, one).n_suppressed for one in found.values())])
            raise failed[0] if least == problem.table.n else _TooMany(least, problem.table.n, self.limit_words)
        better = found[best]
        if self.polishes is not None and self.polish_seconds is None:
            for stream in _AGAIN:
                better = polish(problem, better, self.polishes, self.polish_rounds or POLISH_ROUNDS, stream=stream)
        return replace(better, notes={**better.notes, "start": best, "starts": losses})

    def group(self, problem: Problem) -> Grouping:
        """Cluster what can be clustered."""
        table, promise = problem.table, promise_of(problem)
        order = problem.shuffled.astype(np.int32)
        fewest = max(problem.judge.k, promise.fewest)
        run = _Run(self, problem, fewest)
        problem.progress("halving the table")
        records = run.records(order, promise)
        ids, notes = run.cluster(records, promise, problem.progress)
        if notes["clusters"] == 0:
            problem.progress("looking for limits that would do")
            raise InfeasibleError(_nothing(run, order, promise))
        suppressed = int((ids < 0).sum())
        if suppressed > self.rows_allowed(table.n):
            raise _TooMany(suppressed, table.n, self.limit_words)
        notes |= {"size": run.size, "fewest": fewest, "suppressed": suppressed}
        return Grouping(ids=ids, groups=notes["clusters"], notes=notes)


class _TooMany(InfeasibleError):
    """More rows would be suppressed than allowed."""

    def __init__(self, suppressed: int, n: int, limit: str) -> None:
        super().__init__(
            f"UPC would suppress {suppressed} of {n} rows, and {limit}: raise it, or 'utility', or 'protection'."
        )
        self.suppressed = suppressed


class _Run:
    """One table, to be clustered under one promise or another."""

    def __init__(self, spec: UPC, problem: Problem, fewest: int) -> None:
        self.spec, self.problem = spec, problem
        self.k = problem.judge.k
        self.grows = spec.listing == "grown"
        self.free = self.k if spec.listing == "printed" else fewest
        self.size = _SPACES[spec.listing] * fewest if spec.size is None else int(spec.size)
        self.most = int(spec.max_size or (fewest if self.grows else PLACES))
        for name, least in (("size", self.k), ("max_size", fewest if self.grows else self.k)):
            if getattr(spec, name) is not None:
                whole("UPC", name, getattr(spec, name), least=least)

    def records(self, order: np.ndarray, promise: Promise) -> Records:
        """Rows in subspaces."""
        return collect(self.problem, order, promise.columns, random_seeds=True).halved(self.size)

    def cluster(
        self, records: Records, promise: Promise, progress: Callable[[str], None] = lambda step: None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Cluster of every row (-1: none), in the table's order, and what there is to note."""
        m, spec = records.quasi, self.spec
        if np.diff(records.starts).max() >= PLACES:
            raise ParameterError(f"UPC clusters at most {PLACES - 1} rows at a time: set a smaller size.")
        pool = Pool(np.ascontiguousarray(records.pool.codes[:, :m]), *records.pool[1:])
        secrets = secrets_of(promise, np.ascontiguousarray(records.pool.codes[:, m:]))
        guide = _GUIDES[0] if spec.guide is None else float(spec.guide)
        limits = Limits(promise.utility, self.k, self.free, self.most, self.grows, guide)
        task = Task(pool, secrets, records.starts, self._prices(), limits)
        progress("clustering")
        result = limit_clusters(task)
        found, made = result.found, result.made
        clusters, left = int(found.clusters.sum()), int(found.left.sum())
        if left and clusters:
            progress("placing leftovers")
            how = Joining(spec.leftover_scope == "all", spec.assign == "increment")
            join_limited(task, result, how)
        ids = np.full(self.problem.table.n, -1, dtype=np.int32)
        if clusters:
            ids[records.order] = numbered(found, made)
        mean_size = float(made.size.sum() / clusters) if clusters else 0.0
        return ids, {
            "subspaces": records.parts, "clusters": clusters, "leftovers": left, "mean_size": mean_size,
        }  # fmt: skip

    def _prices(self) -> Prices:
        # Without tolls: U limits the prices themselves.
        columns = quasi_columns(self.problem.domain, tolls=False)
        weights = self.problem.domain.quasi_weights
        return pack(columns, *units_of(columns, np.maximum(weights, weights.max() * _LEAST), FINE))


def _nothing(run: _Run, order: np.ndarray, promise: Promise) -> str:
    """Why nothing can be released, with the nearest limits (in hundredths) that release something of a sample."""
    sample = order[:_TRIED]

    def works(other: Promise) -> bool:
        return run.cluster(run.records(sample, other), other)[1]["clusters"] > 0

    utility = _smallest(lambda value: works(promise.relaxed(utility=value)), promise.utility)
    least = float(promise.protection.min())
    protection = _smallest(lambda value: works(promise.relaxed(protection=value)), least)
    hints = [] if utility is None else [f"U = {utility:g} would do at this P"]
    hints += [] if protection is None else [f"P = {protection:g} would do at this U"]
    where = "" if order.size <= _TRIED else f" on a sample of {_TRIED} rows"
    advice = " and ".join(hints) + where if hints else "neither U nor P alone would do: lower k, or raise both"
    return f"UPC can release nothing at U = {promise.utility:g} and P = {least:g}: {advice}."


def _smallest(works: Callable[[float], bool], above: float) -> float | None:
    """The smallest hundredth above a limit that works, by bisection; None when not even 1 does."""
    low, high = int(above * 100 + 1e-9), 100
    if high <= low or not works(1.0):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        if works(middle / 100):
            high = middle
        else:
            low = middle
    return high / 100
