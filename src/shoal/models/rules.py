"""The conditions that models are made of, and what they compare classes with."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from shoal.data.domain import Domain
from shoal.data.stats import Attribute, GroupStats
from shoal.kernels import rules as kernel

_EMPTY = np.empty(0, dtype=np.float64)
_NO_TREE = np.empty((0, 0), dtype=np.int32)
# A rule on the breaches that group statistics may hold: no kernel knows it, so nothing that groups records does.
BREACH = -1
# A rule on whether values are equally frequent and what they were before: no kernel knows it either.
BALANCED = -2
# A rule on how far the share of each value is from the reference's, in either direction.
DISCLOSURE = -3
# Rules on how many people of the population match a group's cells, and on which share of them the group is.
MATCHES, PRESENCE = -4, -5
# A rule on how few records of a group share items that are published of them.
SHARED = -6


@dataclass(frozen=True, eq=False, kw_only=True)
class Rule:
    """One condition of the kernels' closed set, on one attribute (None: on the group's size).

    ``ref`` is the reference without unknown values, ``ref_full`` the one with them where it differs.
    ``scale`` turns the kernel's value and limit into the figures that reports show; ``keeps`` is whether merging
    keeps the condition on this table, where that depends on more than the condition. ``names`` are the columns of a
    rule that looks at no attribute's histogram. ``anybody``: once there are cells, a size is the number of rows that
    a group could be, where ``*`` counts as any value.
    """

    op: int
    sense: int
    limit: float
    attribute: Attribute | None = None
    p0: float = 0.0
    p1: float = 0.0
    ref: np.ndarray = field(default_factory=lambda: _EMPTY)
    ref_full: np.ndarray | None = None
    tree: np.ndarray = field(default_factory=lambda: _NO_TREE)
    combine: int = 1
    scale: float = 1.0
    exponential: bool = False
    keeps: bool = True
    names: tuple[str, ...] = ()
    anybody: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class Reference:
    """The distribution classes are compared with: histograms of one group, the whole reference table.

    ``whole`` is False where the rows judged are only a part of what the statistics are of.
    """

    domain: Domain
    stats: GroupStats
    whole: bool = True

    def counts(self, attribute: Attribute) -> np.ndarray:
        """Count of every code in the reference."""
        histogram = self.stats.histograms[attribute.key]
        counts = np.zeros(attribute.card, dtype=np.int64)
        counts[histogram.codes] = histogram.counts
        return counts


def size_rule(k: int) -> Rule:
    """At least k people."""
    return Rule(op=kernel.SIZE, sense=kernel.AT_LEAST, limit=float(k))


def adds_up(rule: Rule) -> bool:
    """Whether merging two classes that meet a rule gives one that does, as far as counting goes."""
    one = rule.attribute
    if one is None:
        return True
    if one.people:
        return False
    if rule.op in (kernel.DISTINCT, kernel.SPREAD):
        return True
    if rule.op in (kernel.SHARE, kernel.RANGE_PAIRS, kernel.RANGE_SHARE):
        return rule.keeps
    return not one.unknown.any()
