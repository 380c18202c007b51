"""The judge that holds several models against group statistics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.data.stats import Attribute, GroupStats, Histogram, Key
from shoal.kernels import rules as kernel
from shoal.models.base import (
    BALANCED,
    BREACH,
    DISCLOSURE,
    MATCHES,
    PRESENCE,
    SHARED,
    Model,
    Reference,
    Rule,
    merging_keeps,
    smallest_class,
)

_EMPTY = np.empty(0, dtype=np.float64)
# Rules that follow from the counts of known values in one go over all groups, however many and small these are.
_BY_COUNTS = (kernel.DISTINCT, kernel.SHARE)


@dataclass(frozen=True, eq=False, kw_only=True)
class Judgement:
    """One model on one attribute over all groups.

    ``values`` are the figures as reports show them (NaN where a group has no known value), ``ok`` the verdicts.
    """

    model: Model
    on: tuple[str, ...] | None
    values: np.ndarray
    limit: float
    ok: np.ndarray
    better: str

    @property
    def worst(self) -> float:
        """The figure of the worst group."""
        known = self.values[~np.isnan(self.values)]
        if known.size == 0:
            return math.nan
        return float(known.min() if self.better == "up" else known.max())


class Judge:
    """Several models compiled once for one table and reference.

    Parameters
    ----------
    models
        What every class must satisfy.
    reference
        Statistics of the whole table as one group.
    """

    def __init__(self, models: Sequence[Model], reference: Reference) -> None:
        self.models = list(models)
        self.reference = reference
        every = [(model, rules) for model in models for rules in model.all_rules(reference)]
        # Those that kernels know come first, so that both count rules alike.
        self.sets = sorted(every, key=lambda pair: pair[1][0].op < 0)
        self._flat = [rule for _, rules in self.sets for rule in rules]
        found: dict[Key, Attribute] = {}
        for rule in self._flat:
            if rule.attribute is not None:
                found.setdefault(rule.attribute.key, rule.attribute)
        self.attributes = list(found.values())
        self.needs_spreads = any(rule.op == kernel.EXTENT for rule in self._flat)
        self.needs_breaches = any(rule.op == BREACH for rule in self._flat)
        self.needs_population = any(rule.op in (MATCHES, PRESENCE) for rule in self._flat)
        self.needs_presence = any(rule.op == PRESENCE for rule in self._flat)
        self.needs_anybody = any(rule.anybody for rule in self._flat)
        # Whether anything is judged by the cells of classes, and not by their rows alone.
        self.needs_cells = self.needs_spreads or self.needs_population or self.needs_anybody
        # Whether kernels that group records go by less than what classes are judged by.
        self.beyond_kernels = self.needs_population or any(rule.op == DISCLOSURE for rule in self._flat)
        guides = [(model, rules) for model in models for rules in model.guides(reference)]
        self.rules = compile_rules([pair for pair in self.sets if pair[1][0].op >= 0] + guides, self.attributes)

    @property
    def k(self) -> int:
        """Smallest class any of the models allows."""
        return smallest_class(self.models)

    @property
    def about(self) -> list[tuple[str, ...] | None]:
        """The columns that each judgement is about, None for one about sizes alone."""
        return [_about(rules) for _, rules in self.sets]

    def judge(self, stats: GroupStats) -> list[Judgement]:
        """One judgement a model and attribute."""
        values = [self._values(index, rule, stats) for index, rule in enumerate(self._flat)]
        result = []
        start = 0
        for model, rules in self.sets:
            mine = values[start : start + len(rules)]
            result.append(_judgement(model, rules, mine, stats.sizes.size))
            start += len(rules)
        return result

    def ok(self, stats: GroupStats) -> np.ndarray:
        """Which groups satisfy every model."""
        good = np.ones(stats.sizes.size, dtype=bool)
        for judgement in self.judge(stats):
            good &= judgement.ok
        return good

    def _values(self, index: int, rule: Rule, stats: GroupStats) -> np.ndarray:
        if rule.op == kernel.EXTENT:
            # Before anything is generalised there is no extent to judge.
            return stats.spreads if stats.spreads is not None else np.full(stats.sizes.size, np.nan)
        if rule.op == BREACH:
            # Nor is there a breach before it is known which nodes stand for sensitive values.
            found = (stats.breaches or {}).get((rule.names[0], int(rule.p0)))
            return found if found is not None else np.full(stats.sizes.size, np.nan)
        if rule.op == SHARED:
            found = (stats.shared or {}).get((rule.names[0], int(rule.p0)))
            return found if found is not None else np.full(stats.sizes.size, np.nan)
        if rule.op == MATCHES:
            return _figure(stats.population, stats)
        if rule.op == PRESENCE:
            # Whoever matches several groups may be in any of them, which makes them likelier and never less likely.
            return _presence(stats, several=rule.sense == kernel.AT_MOST)
        if rule.anybody and stats.anybody is not None:
            return stats.anybody.astype(np.float64)
        if rule.attribute is None:
            return stats.sizes.astype(np.float64)
        runs = stats.histograms[rule.attribute.key].runs()
        values = np.concatenate([self._figures(index, rule, rule.attribute, one) for one in runs])
        broken = (stats.broken or {}).get(rule.attribute.names[0])
        if rule.op == BALANCED and broken is not None:
            values[broken & ~np.isnan(values)] = 0.0
        return values

    def _figures(self, index: int, rule: Rule, attribute: Attribute, histogram: Histogram) -> np.ndarray:
        """The figure of each group of a run."""
        if rule.op == BALANCED:
            return _balanced(attribute, histogram)
        if rule.op == DISCLOSURE:
            return _disclosure(attribute, histogram, rule.ref)
        if rule.op in _BY_COUNTS and not attribute.people and not attribute.unknown.any():
            return _by_counts(rule, histogram)
        return kernel.judge_rule(
            self.rules, index, histogram.indptr, histogram.codes, histogram.counts, histogram.known
        )


def _judgement(model: Model, rules: Sequence[Rule], values: Sequence[np.ndarray], groups: int) -> Judgement:
    ok = np.ones(groups, dtype=bool)
    shown = np.zeros(groups)
    at = 0
    while at < len(rules):
        rule = rules[at]
        value = values[at]
        if rule.combine > 1:
            value = average_known(values[at : at + rule.combine])
        ok &= compare(value, rule.sense, rule.limit) | np.isnan(value)
        if at == 0:
            shown = np.exp(value) if rule.exponential else value * rule.scale
        at += max(rule.combine, 1)
    first = rules[0]
    limit = math.exp(first.limit) if first.exponential else first.limit * first.scale
    better = "up" if first.sense == kernel.AT_LEAST else "down"
    return Judgement(model=model, on=_about(rules), values=shown, limit=limit, ok=ok, better=better)


def _about(rules: Sequence[Rule]) -> tuple[str, ...] | None:
    """The columns that a judgement is about, None where it is about sizes alone."""
    names = tuple(
        name
        for rule in rules[: max(rules[0].combine, 1)]
        for name in (rule.attribute.names if rule.attribute else rule.names)
    )
    return names or None


def _by_counts(rule: Rule, histogram: Histogram) -> np.ndarray:
    """Distinct values of each group, or the largest share over its cap, where all values are known; as the kernel."""
    begins, found = histogram.indptr[:-1], np.diff(histogram.indptr)
    some = found > 0
    values = np.where(some, found.astype(np.float64), np.nan)
    if rule.op == kernel.SHARE and some.any():
        shares = histogram.counts / (np.repeat(histogram.known, found) * rule.ref[histogram.codes])
        values[some] = np.maximum.reduceat(shares, begins[some])
    return values


def _balanced(one: Attribute, histogram: Histogram) -> np.ndarray:
    """Distinct values of each group, 0 where one is commoner than another."""
    groups = histogram.known.size
    owner = np.repeat(np.arange(groups), np.diff(histogram.indptr))
    known = one.unknown[histogram.codes] == 0
    owner, counts = owner[known], histogram.counts[known]
    distinct = np.bincount(owner, minlength=groups).astype(np.float64)
    most = np.zeros(groups)
    np.maximum.at(most, owner, counts)
    even = most * distinct == np.bincount(owner, counts, minlength=groups)
    return np.where(distinct == 0, np.nan, np.where(even, distinct, 0.0))


def _figure(found: np.ndarray | None, stats: GroupStats) -> np.ndarray:
    """A figure a group; NaN before there are cells that it could be of."""
    return np.full(stats.sizes.size, np.nan) if found is None else found.astype(np.float64)


def _presence(stats: GroupStats, *, several: bool) -> np.ndarray:
    """Each group's share of the people of the population who match it, or the largest sum of what they match."""
    if several and stats.presence is not None:
        return stats.presence
    with np.errstate(divide="ignore"):
        return stats.sizes / _figure(stats.population, stats)


def _disclosure(one: Attribute, histogram: Histogram, shares: np.ndarray) -> np.ndarray:
    """Largest |log2| of a value's share of each group over that of the reference; infinite where one is lacking."""
    groups = histogram.known.size
    owner = np.repeat(np.arange(groups), np.diff(histogram.indptr))
    known = one.unknown[histogram.codes] == 0
    owner, codes, counts = owner[known], histogram.codes[known], histogram.counts[known]
    with np.errstate(divide="ignore"):
        ratio = np.abs(np.log2(counts / histogram.known[owner] / shares[codes]))
    worst = np.zeros(groups)
    np.maximum.at(worst, owner, ratio)
    there = np.bincount(owner, weights=shares[codes] > 0, minlength=groups)
    worst[there < np.count_nonzero(shares)] = np.inf
    return np.where(histogram.known == 0, np.nan, worst)


def average_known(values: Sequence[np.ndarray]) -> np.ndarray:
    """Mean over the attributes of each group, those without a known value left out; NaN where none has one."""
    stacked = np.stack(values)
    known = (~np.isnan(stacked)).sum(axis=0)
    return np.where(known > 0, np.nansum(stacked, axis=0) / np.maximum(known, 1), np.nan)


def compare(values: np.ndarray, sense: int, limit: float) -> np.ndarray:
    """Which values meet a limit, with the spec's absolute tolerance; the strict comparison has none."""
    if sense == kernel.AT_LEAST:
        return values >= limit - kernel.TOLERANCE
    if sense == kernel.AT_MOST:
        return values <= limit + kernel.TOLERANCE
    return values < limit


def compile_rules(sets: Sequence[tuple[Model, Sequence[Rule]]], attributes: Sequence[Attribute]) -> kernel.Rules:
    """Pack rules into flat arrays for the kernels."""
    index = {one.key: number for number, one in enumerate(attributes)}
    rules = [rule for _, mine in sets for rule in mine]
    # References are stored back to back: for each rule the one with unknown values if it differs, then the one without.
    refs = [(_EMPTY if rule.ref_full is None else rule.ref_full, rule.ref) for rule in rules]
    sizes = np.array([[full.size, known.size] for full, known in refs], dtype=np.int64).reshape(-1, 2)
    ends = np.cumsum(sizes).reshape(-1, 2)
    unknown_at = np.cumsum([0, *(one.card for one in attributes)], dtype=np.int64)

    def column(name: str, dtype: type) -> np.ndarray:
        return np.array([getattr(rule, name) for rule in rules], dtype=dtype)

    return kernel.Rules(
        op=column("op", np.int64),
        attr=np.array([-1 if rule.attribute is None else index[rule.attribute.key] for rule in rules], dtype=np.int64),
        sense=column("sense", np.int64),
        limit=column("limit", np.float64),
        p0=column("p0", np.float64),
        p1=column("p1", np.float64),
        combine=column("combine", np.int64),
        strict_parent=np.array([not merging_keeps(model, mine) for model, mine in sets for _ in mine], dtype=np.int64),
        ref=np.concatenate([_EMPTY, *(part for pair in refs for part in pair)]).astype(np.float64),
        ref_at=np.column_stack([ends[:, 0] - sizes[:, 0], ends]),
        tree=np.concatenate([np.empty(0, dtype=np.int32), *(rule.tree.ravel() for rule in rules)]).astype(np.int32),
        tree_at=np.cumsum([0, *(rule.tree.size for rule in rules)], dtype=np.int64),
        unknown=np.concatenate([np.empty(0, dtype=np.uint8), *(one.unknown for one in attributes)]),
        unknown_at=unknown_at,
        card=np.array([one.card for one in attributes], dtype=np.int64),
        people=np.array([one.people for one in attributes], dtype=np.uint8),
    )
