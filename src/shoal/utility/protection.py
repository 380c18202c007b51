"""Measures of what a release still says about its sensitive attributes (Loukides, Defs 3.1.4 and 5.1.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.data.column import FLAT, closeness
from shoal.data.policies import policy_of
from shoal.kernels import rules as kernel
from shoal.recoding.kinds import Trait
from shoal.recoding.recoded import PriceStats
from shoal.utility.base import NOTHING_RELEASED, Measure

# A class whose S-diversity is above this has next to no spread left.
_EXPOSED = 0.9


def s_diversities(stats: PriceStats) -> list[np.ndarray]:
    """S-diversity of each class, an attribute after another; NaN where a class has no known value."""
    return [_figures(stats, name, kernel.CLOSENESS) for name in stats.sensitive]


def range_diversities(stats: PriceStats) -> list[np.ndarray]:
    """Range diversity of each class, an attribute after another; NaN where a class has no known value."""
    return [_figures(stats, name, kernel.RANGE_PAIRS) for name in stats.sensitive]


def range_confidences(stats: PriceStats) -> list[np.ndarray]:
    """Largest share of each class in one sensitive range; NaN where a class has no known value."""
    return [_figures(stats, name, kernel.RANGE_SHARE) for name in stats.sensitive]


def _figures(stats: PriceStats, name: str, op: int) -> np.ndarray:
    one, histogram = stats.counts(name)
    assert one.column is not None
    geometry, policy = closeness(one.column, one.unknown), policy_of(one.column)
    scale, kind, ref = geometry.scale, float(geometry.kind), geometry.ref
    if op == kernel.RANGE_PAIRS:
        ref = policy.pairs_reference(geometry)
    elif op == kernel.RANGE_SHARE:
        kind, ref = float(one.column.kind == FLAT), policy.share_reference()
    mixed, tree = bool(one.unknown.any()), geometry.tree.ravel().astype(np.int32)
    shared = one.people and kernel.is_diversity(op)
    view = kernel.RuleView(op, kernel.AT_MOST, scale, kind, one.card, mixed, False, shared, one.unknown, ref, ref, tree)
    found = [kernel.judge_view(view, run.indptr, run.codes, run.counts, run.known) for run in histogram.runs()]
    return np.concatenate(found)


def _class_means(figures: Sequence[np.ndarray]) -> np.ndarray:
    """Mean over the attributes of each class with a known value in any of them."""
    stacked = np.stack(figures)
    known = (~np.isnan(stacked)).sum(axis=0)
    return np.nansum(stacked, axis=0)[known > 0] / known[known > 0]


@dataclass(frozen=True, kw_only=True)
class _Protection(Measure):
    """A figure of the sensitive attributes; what is unknown takes no part."""

    needs: ClassVar[Trait | None] = Trait.ALIKE

    def undefined(self, stats: PriceStats) -> str | None:
        """It needs a class with a known sensitive value."""
        if not stats.sensitive:
            return "there is no sensitive attribute"
        if not stats.sizes.size:
            return NOTHING_RELEASED
        known = any(stats.counts(name)[1].known.any() for name in stats.sensitive)
        return None if known else "no class has a known sensitive value"


@dataclass(frozen=True, kw_only=True)
class MaxRangeProtection(_Protection):
    """MPM (Loukides, Def. 3.1.4): mean over classes of the mean over sensitive attributes of S-diversity.

    It sees the two extremes of a class only, and averages, so the worst class and the share of records in classes
    that are all but exposed stand beside it.
    """

    name: ClassVar[str] = "mpm"

    def value(self, stats: PriceStats) -> tuple[float, dict[str, float | None]]:
        """The mean, the worst class, and the share of records in classes above 0.9 in some attribute."""
        figures = s_diversities(stats)
        exposed = np.nan_to_num(np.stack(figures), nan=0.0).max(axis=0) > _EXPOSED
        return float(_class_means(figures).mean()), {
            "worst class": float(np.nanmax(np.stack(figures))),
            "exposed records": float(stats.sizes[exposed].sum() / stats.n_released),
        }


@dataclass(frozen=True, kw_only=True)
class WorstGroupProtection(_Protection):
    """WGP (Loukides, Def. 5.1.5): the largest range diversity of a class, over all sensitive attributes."""

    name: ClassVar[str] = "wgp"

    def value(self, stats: PriceStats) -> tuple[float, dict[str, float | None]]:
        """The worst class."""
        return float(np.nanmax(np.stack(range_diversities(stats)))), {}


@dataclass(frozen=True, kw_only=True)
class MeanRangeDiversity(_Protection):
    """Mean over classes of the mean over sensitive attributes of range diversity (Loukides, Def. 5.1.4).

    It averages pairs, so the largest share of a class in one sensitive range stands beside it.
    """

    name: ClassVar[str] = "range-diversity"

    def value(self, stats: PriceStats) -> tuple[float, dict[str, float | None]]:
        """The mean, and the worst range confidence."""
        worst = float(np.nanmax(np.stack(range_confidences(stats))))
        return float(_class_means(range_diversities(stats)).mean()), {"worst range confidence": worst}
