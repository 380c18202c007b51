"""Measures of generalisation levels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.data.column import Column
from shoal.data.domain import Domain
from shoal.measures.base import Measure, Prices, additive, leaf_prices
from shoal.recoding.cells import CellColumn, IntervalCells
from shoal.recoding.kinds import Trait
from shoal.recoding.lattice import level_cells
from shoal.recoding.recoded import PriceStats


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
