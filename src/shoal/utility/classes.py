"""Measures of class sizes and labels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.data.column import Column
from shoal.data.domain import Domain
from shoal.params import whole
from shoal.recoding.cells import CellColumn, IntervalCells
from shoal.recoding.kinds import Trait
from shoal.recoding.lattice import level_cells
from shoal.recoding.recoded import PriceStats
from shoal.utility.base import NOTHING_RELEASED, Measure, Prices, additive, leaf_prices


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


# ----------------------------------------
# Measures of generalisation levels.


def _without_levels(stats: PriceStats) -> str | None:
    """A column that has no hierarchy and was published in intervals has no level to count."""
    for cells in stats.cells:
        if isinstance(cells, IntervalCells):
            partial = (cells.spread() > 0) & ~cells.star
            if partial.any():
                return f"column '{cells.column.name}' has intervals but no hierarchy, so its cells have no level"
    return None


def _level_prices(domain: Domain, unit: float = 1.0) -> Prices:
    def price(cells: CellColumn) -> np.ndarray:
        return cells.levels() / max(cells.height, 1)

    def full(column: Column) -> float:
        return float(level_cells(column, np.zeros(1, dtype=np.int32), 0).height > 0)

    return additive(domain.quasi, np.full(len(domain.quasi), unit), price, full)


def _cost(stats: PriceStats) -> float:
    cost = float(stats.n_suppressed) * sum(1 for cells in stats.cells if cells.height > 0)
    for cells in stats.cells:
        if cells.height > 0:
            cost += float((stats.sizes * (cells.levels() / cells.height)).sum())
    return cost


@dataclass(frozen=True, kw_only=True)
class GeneralisationCost(Measure):
    """Sum over records and columns of level over height; a suppressed record costs 1 a column (Def. 2.1.4)."""

    name: ClassVar[str] = "genc"
    needs: ClassVar[Trait | None] = Trait.COVERING

    def prices(self, domain: Domain) -> Prices:
        """Level over height."""
        return _level_prices(domain)

    def value(self, stats: PriceStats) -> tuple[float, dict[str, float | None]]:
        """The sum, and its share of the largest possible."""
        cost = _cost(stats)
        return cost, {"normalised": cost / (stats.n * len(stats.cells))}

    def bounds(self, stats: PriceStats) -> tuple[float, float]:
        """Nothing to every cell at its root."""
        return 0.0, float(stats.n * len(stats.cells))

    def undefined(self, stats: PriceStats) -> str | None:
        """Intervals without a hierarchy have no level."""
        return _without_levels(stats)


@dataclass(frozen=True, kw_only=True)
class Precision(Measure):
    """One minus the normalised generalisation cost (Sweeney)."""

    name: ClassVar[str] = "precision"
    needs: ClassVar[Trait | None] = Trait.COVERING
    better: ClassVar[str] = "up"

    def prices(self, domain: Domain) -> Prices:
        """The normalised cost it is one minus of."""
        return _level_prices(domain, 1.0 / (domain.n * len(domain.quasi)))

    def value(self, stats: PriceStats) -> tuple[float, dict[str, float | None]]:
        """1 where nothing was generalised."""
        return 1.0 - _cost(stats) / (stats.n * len(stats.cells)), {}

    def undefined(self, stats: PriceStats) -> str | None:
        """Intervals without a hierarchy have no level."""
        return _without_levels(stats)


@dataclass(frozen=True, kw_only=True)
class Height(Measure):
    """Sum of the levels of a full-domain recoding (Samarati)."""

    name: ClassVar[str] = "height"
    needs: ClassVar[Trait | None] = Trait.COVERING

    def prices(self, domain: Domain) -> Prices:
        """The levels themselves, whatever is suppressed."""
        columns = domain.quasi
        leaf = leaf_prices(columns, lambda cells: cells.levels().astype(np.float64))
        none = np.zeros(len(columns))
        full = [np.zeros(column.card) for column in columns]
        return Prices(leaf=leaf, full=full, factor=none + 1, offset=none, weight=none + 1, levels_only=True)

    def value(self, stats: PriceStats) -> tuple[float, dict[str, float | None]]:
        """The sum, and each column's level beside it."""
        assert stats.levels is not None
        return float(sum(stats.levels.values())), {name: float(level) for name, level in stats.levels.items()}

    def bounds(self, stats: PriceStats) -> tuple[float, float]:
        """Nothing to every column at its top."""
        return 0.0, float(np.sum([max(cells.height, 1) for cells in stats.cells]))

    def undefined(self, stats: PriceStats) -> str | None:
        """Only full-domain recodings have one level a column."""
        return None if stats.levels is not None else "only a full-domain recoding has a height"
