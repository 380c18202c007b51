"""Clustering for (alpha, k)-anonymity (Han et al. 2008, after Wong et al. 2006)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.algorithms.base import Problem
from shoal.algorithms.cluster.records import Clusterer, Parts, across_parts
from shoal.algorithms.prices import prices_of
from shoal.data.stats import Attribute
from shoal.errors import InfeasibleError, ParameterError
from shoal.kernels.cluster.alpha_k import Records, cluster_classes, cluster_parts
from shoal.kernels.rules import SHARE
from shoal.models.base import Model, Rule
from shoal.recoding.recodings import Grouping
from shoal.registry import load

_MODELS = ("alpha-k-simple", "alpha-k-general", "alpha-k-complete")


@dataclass(frozen=True, kw_only=True)
class AlphaK(Clusterer):
    """Merge the smallest class with its nearest compatible one until every class has k records; O(n²) to O(n³).

    Two classes are compatible when together they have at most 2k - 1 records and no value's share passes its alpha,
    small classes being judged as if filled up to k. What stays too small may exceed 2k - 1 records, or is dissolved,
    or is suppressed within the limit.

    Parameters
    ----------
    alpha
        Shorthand that adds, with ``k``, the model ``alpha-k-simple`` if ``value`` is given, ``alpha-k-general`` for a
        number, ``alpha-k-complete`` for a table of value = share. Otherwise the models must hold exactly one of these.
    value
        The value that ``alpha-k-simple`` protects.
    on
        The sensitive attribute, where there are several.

    Examples
    --------
    >>> [model.name for model in AlphaK(k=3, alpha=0.4).models()]
    ['alpha-k-general']
    """

    name: ClassVar[str] = "alpha-k"
    shorthand: ClassVar[tuple[str, ...]] = ("k", "alpha", "value", "on")
    alpha: float | Mapping[str, float] | None = None
    value: Any = None
    on: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.alpha is None and (self.value is not None or self.on is not None):
            raise ParameterError("AlphaK needs 'alpha' beside 'value' or 'on': give it, or leave them to the models.")
        if self.alpha is not None and self.k is None:
            raise ParameterError("AlphaK needs 'k' beside 'alpha': give it, or leave both to the models.")

    def __hash__(self) -> int:
        alpha = tuple(sorted(self.alpha.items())) if isinstance(self.alpha, Mapping) else self.alpha
        return hash((self.name, self.k, alpha, str(self.value), self.on, self.prepartition, self.suppression_limit))

    def models(self) -> list[Model]:
        """The model that the shorthand stands for."""
        if self.alpha is None:
            return super().models()
        given = {"alpha": self.alpha, "k": self.k, "on": self.on}
        if self.value is not None:
            return [load("model", "alpha-k-simple")(value=self.value, **given)]
        return [load("model", "alpha-k-complete" if isinstance(self.alpha, Mapping) else "alpha-k-general")(**given)]

    def group(self, problem: Problem) -> Grouping:
        """Group all rows."""
        rule, k = _share_rule(problem), problem.judge.k
        one = rule.attribute
        assert one is not None
        least = smallest_class(one, np.bincount(problem.table.values(one), minlength=one.card), rule.ref, k)
        parts = self.parts(problem)
        problem.progress(f"merging {problem.table.n} rows" + parts.said)
        ids, count, done = self._cluster(problem, parts, one, rule.ref, least)
        merged, beyond, moved, suppressed = done.tolist()
        self._check_suppressed(suppressed, problem.table.n)
        notes = {"smallest_possible": least, "merged": merged, "merged_beyond_rule_1": beyond, "moved": moved}
        sizes = np.bincount(ids[ids >= 0], minlength=count)
        notes |= {"above_2k_minus_1": int((sizes > 2 * k - 1).sum()), "suppressed": suppressed}
        return self.grouping(parts, ids, notes)

    def _cluster(
        self, problem: Problem, parts: Parts, one: Attribute, caps: np.ndarray, k: int
    ) -> tuple[np.ndarray, int, np.ndarray]:
        """Class of each place, their number, and how often each kind of step was taken."""
        prices = prices_of(problem.domain, "penalty")
        records = Records(
            codes=np.ascontiguousarray(parts.codes.T, dtype=np.int32),
            value=problem.table.values(one)[parts.rows].astype(np.int32),
            cap=np.asarray(caps, dtype=np.float64),
            known=(1 - one.unknown).astype(np.int64),
        )
        done = np.zeros((parts.count, 4), dtype=np.int64)
        ids, count = np.arange(parts.rows.size, dtype=np.int32), parts.rows.size
        if parts.count > 1:
            counts = np.empty(parts.count, dtype=np.int64)
            cluster_parts(prices, records, parts.starts, k, ids, counts, done)
            # What subspaces could not merge may find a class in another one.
            ids, count = across_parts(parts, ids, counts), int(counts.sum())
        count = cluster_classes(prices, records, ids, count, k, True, done[0])
        return ids, count, done.sum(axis=0)

    def _check_suppressed(self, suppressed: int, n: int) -> None:
        if suppressed == n or suppressed > self.rows_allowed(n):
            raise InfeasibleError(
                f"{suppressed} of {n} rows fit no class of the (alpha, k) model, and {self.limit_words}: "
                "raise it or alpha."
            )


def _share_rule(problem: Problem) -> Rule:
    """The caps that the one (alpha, k) model sets on its one attribute."""
    found = [(model, rules) for model, rules in problem.judge.sets if model.name in _MODELS]
    if len({model.name for model, _ in found}) != 1 or len({id(model) for model, _ in found}) != 1:
        raise ParameterError(f"The algorithm 'alpha-k' needs exactly one of the models {', '.join(_MODELS)}: set one.")
    if len(found) > 1:
        raise ParameterError(
            f"The algorithm 'alpha-k' needs its model '{found[0][0].name}' on one sensitive attribute: set 'on'."
        )
    return next(rule for rule in found[0][1] if rule.op == SHARE)


def smallest_class(one: Attribute, counts: np.ndarray, caps: np.ndarray, k: int) -> int:
    """Fewest records, k or more, that a class can have: values within their caps must fill it.

    Below that, rule 2 would refuse every merge. A class may be filled by unknown values as well.
    """
    if one.unknown.any():
        return k
    size, rows = k, int(counts.sum())
    while size < rows and np.minimum(np.floor(np.minimum(caps, 1.0) * size + 1e-9), counts).sum() < size:
        size += 1
    return size
