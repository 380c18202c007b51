"""Measures of class sizes and labels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from shoal.measures.base import NOTHING_RELEASED, Measure
from shoal.params import whole
from shoal.recoding.kinds import Trait
from shoal.recoding.recoded import PriceStats


@dataclass(frozen=True, kw_only=True)
class Discernability(Measure):
    """Squared class sizes, plus n for every suppressed record (Bayardo & Agrawal; Loukides, Def. 2.1.2)."""

    name: ClassVar[str] = "dm"
    needs: ClassVar[Trait | None] = Trait.ALIKE

    def value(self, stats: PriceStats) -> tuple[float, dict[str, float | None]]:
        """Sum of squares and penalties."""
        sizes = stats.sizes.astype(object) if stats.n > 1 << 31 else stats.sizes.astype("int64")
        return float((sizes * sizes).sum() + stats.n * stats.n_suppressed), {}

    def bounds(self, stats: PriceStats) -> tuple[float, float]:
        """All singletons to one class."""
        return float(stats.n), float(stats.n) ** 2


@dataclass(frozen=True, kw_only=True)
class AverageClassSize(Measure):
    """Rows over classes times k; the row count is the input's, the figure for released rows stands beside.

    ``k`` is the recipe's when not given.
    """

    name: ClassVar[str] = "c-avg"
    needs: ClassVar[Trait | None] = Trait.ALIKE
    k: int | None = None

    def __post_init__(self) -> None:
        if self.k is not None:
            whole("AverageClassSize", "k", self.k, least=1)

    def value(self, stats: PriceStats) -> tuple[float, dict[str, float | None]]:
        """Mean class size in units of k."""
        unit = stats.sizes.size * (self.k or stats.k)
        return stats.n / unit, {"released": stats.n_released / unit}

    def bounds(self, stats: PriceStats) -> tuple[float, float]:
        """No upper bound worth naming but n."""
        return 0.0, float(max(stats.n, 1))

    def undefined(self, stats: PriceStats) -> str | None:
        """An empty release has no classes."""
        return None if stats.sizes.size else NOTHING_RELEASED


@dataclass(frozen=True, kw_only=True)
class Classification(Measure):
    """Share of records that are not of their class's commonest label, suppressed ones counted (Iyengar).

    ``target`` is the label, the first sensitive attribute when not given.
    """

    name: ClassVar[str] = "cm"
    needs: ClassVar[Trait | None] = Trait.ALIKE
    target: str | None = None

    def value(self, stats: PriceStats) -> tuple[float, dict[str, float | None]]:
        """Minority share."""
        target = self.target or stats.sensitive[0]
        minority = int(stats.n_released - stats.majority(target).sum())
        released = minority / stats.n_released if stats.n_released else math.nan
        return (minority + stats.n_suppressed) / stats.n, {"released": released if stats.n_released else None}

    def undefined(self, stats: PriceStats) -> str | None:
        """It needs a label."""
        return None if self.target or stats.sensitive else "there is no sensitive attribute to be the label"
