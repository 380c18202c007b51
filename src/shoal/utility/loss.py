"""Measures of what cells no longer say."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.data.column import Column
from shoal.data.domain import Domain
from shoal.recoding.cells import CellColumn
from shoal.recoding.kinds import Trait
from shoal.recoding.recoded import PriceStats
from shoal.utility.base import NOTHING_RELEASED, Measure, Prices, additive, leaf_prices


def _weighted_sum(stats: PriceStats, price: Callable[[CellColumn], np.ndarray]) -> float:
    """Sum over released records and columns of weight times price."""
    return float(
        sum(
            weight * float((stats.sizes * price(cells)).sum())
            for weight, cells in zip(stats.weights, stats.cells, strict=True)
        )
    )


@dataclass(frozen=True, kw_only=True)
class NormalisedCertaintyPenalty(Measure):
    """NCP (Xu et al.): weighted share of the domain that each cell covers, 0 for a single value."""

    name: ClassVar[str] = "ncp"
    needs: ClassVar[Trait | None] = Trait.COVERING

    def prices(self, domain: Domain) -> Prices:
        """Weighted penalties."""
        return additive(domain.quasi, domain.quasi_weights, lambda cells: cells.penalty())

    def value(self, stats: PriceStats) -> tuple[float, dict[str, float | None]]:
        """The sum, and its share of the largest possible."""
        total = float(stats.weights.sum())
        penalty = _weighted_sum(stats, lambda cells: cells.penalty()) + stats.n_suppressed * total
        return penalty, {"normalised": penalty / (stats.n * total)}

    def bounds(self, stats: PriceStats) -> tuple[float, float]:
        """Every cell exact to every cell everything."""
        return 0.0, float(stats.n * stats.weights.sum())


@dataclass(frozen=True, kw_only=True)
class LossMetric(Measure):
    """Mean loss of a cell (Iyengar): width or leaves less one over the domain's; 1 for a suppressed record."""

    name: ClassVar[str] = "lm"
    needs: ClassVar[Trait | None] = Trait.COVERING

    def prices(self, domain: Domain) -> Prices:
        """Weighted spreads, averaged."""
        weights = domain.quasi_weights
        return additive(domain.quasi, weights / (weights.sum() * domain.n), lambda cells: cells.spread())

    def spread_weights(self, domain: Domain, spreads: np.ndarray | None) -> np.ndarray:
        """The attribute weights."""
        return domain.quasi_weights

    def value(self, stats: PriceStats) -> tuple[float, dict[str, float | None]]:
        """Weighted mean over all cells; the mean over released records stands beside."""
        total = float(stats.weights.sum())
        loss = _weighted_sum(stats, lambda cells: cells.spread())
        released = loss / (stats.n_released * total) if stats.n_released else None
        return (loss + stats.n_suppressed * total) / (stats.n * total), {"released": released}


@dataclass(frozen=True, kw_only=True)
class InformationLoss(Measure):
    """Weighted sum over cells of (values covered - 1) / domain size (Xiao & Tao)."""

    name: ClassVar[str] = "ilm"
    needs: ClassVar[Trait | None] = Trait.COVERING

    def prices(self, domain: Domain) -> Prices:
        """Weighted leaf prices."""
        return additive(domain.quasi, domain.quasi_weights, _leaf_price, _whole_column)

    def spread_weights(self, domain: Domain, spreads: np.ndarray | None) -> np.ndarray:
        """The attribute weights; a column of few values cannot lose as large a share of them."""
        return domain.quasi_weights * np.array([_whole_column(column) for column in domain.quasi])

    def value(self, stats: PriceStats) -> tuple[float, dict[str, float | None]]:
        """The sum; a suppressed record costs what a cell that covers everything does."""
        suppressed = sum(
            weight * _whole_column(cells.column) for weight, cells in zip(stats.weights, stats.cells, strict=True)
        )
        return _weighted_sum(stats, _leaf_price) + stats.n_suppressed * float(suppressed), {}

    def bounds(self, stats: PriceStats) -> tuple[float, float]:
        """Every cell exact to every cell everything."""
        return 0.0, float(stats.n * stats.weights.sum())


def _uncountable(stats: PriceStats) -> str | None:
    for cells in stats.cells:
        if cells.column.kind == "interval" and not cells.column.whole:
            return f"column '{cells.column.name}' has real numbers, whose intervals cover no countable set"
    return None


def _leaf_price(cells: CellColumn) -> np.ndarray:
    covered = cells.covered()
    if np.isnan(covered).any():
        return cells.spread()
    return (covered - 1.0) / cells.column.domain_size


def _whole_column(column: Column) -> float:
    if column.kind == "interval" and not column.whole:
        return 1.0
    return (column.domain_size - 1.0) / column.domain_size


@dataclass(frozen=True, kw_only=True)
class Ambiguity(Measure):
    """Mean number of value combinations that a record's cells could stand for (Loukides, Sec. 2.1.1)."""

    name: ClassVar[str] = "am"
    needs: ClassVar[Trait | None] = Trait.COVERING

    def value(self, stats: PriceStats) -> tuple[float, dict[str, float | None]]:
        """Mean product of values covered; its share of the whole domain and its log10 beside it."""
        logs = np.zeros(stats.sizes.size)
        whole = 0.0
        for cells in stats.cells:
            logs += np.log(cells.covered())
            whole += math.log(cells.column.domain_size)
        # Shares of the whole domain stay finite where the products themselves would not.
        share = (float((stats.sizes * np.exp(logs - whole)).sum()) + stats.n_suppressed) / stats.n
        log10 = (math.log(share) + whole) / math.log(10)
        return math.exp(math.log(share) + whole) if log10 < 300 else math.inf, {
            "normalised": share,
            "log10": log10,
        }

    def bounds(self, stats: PriceStats) -> tuple[float, float]:
        """One combination to all of them."""
        logs = sum(math.log(cells.column.domain_size) for cells in stats.cells)
        return 1.0, math.exp(logs) if logs < 690 else math.inf

    def undefined(self, stats: PriceStats) -> str | None:
        """Intervals of real numbers cover no countable set."""
        return _uncountable(stats)


@dataclass(frozen=True, kw_only=True)
class UtilityMeasure(Measure):
    """UM (Loukides, Def. 3.1.2): mean over classes, whatever their size, of mean Q-diversity.

    Smaller is better despite its name. It ignores suppressed records and class sizes, so the mean weighted by
    records stands beside it.
    """

    name: ClassVar[str] = "um"
    needs: ClassVar[Trait | None] = Trait.COVERING

    def value(self, stats: PriceStats) -> tuple[float, dict[str, float | None]]:
        """Unweighted and record-weighted mean."""
        diversity = stats.spreads
        weighted = float((diversity * stats.sizes).sum() / stats.n_released)
        return float(diversity.mean()), {"tuple-weighted": weighted}

    def undefined(self, stats: PriceStats) -> str | None:
        """An empty release has no classes."""
        return None if stats.sizes.size else NOTHING_RELEASED


@dataclass(frozen=True, kw_only=True)
class WorstGroupLoss(Measure):
    """WGU (Loukides, Def. 5.2.2): the largest mean Q-diversity of a class; at least UM."""

    name: ClassVar[str] = "wgu"
    needs: ClassVar[Trait | None] = Trait.COVERING

    def value(self, stats: PriceStats) -> tuple[float, dict[str, float | None]]:
        """The worst class."""
        return float(stats.spreads.max()), {}

    def undefined(self, stats: PriceStats) -> str | None:
        """An empty release has no classes."""
        return None if stats.sizes.size else NOTHING_RELEASED


@dataclass(frozen=True, kw_only=True)
class NonUniformEntropy(Measure):
    """Bits that cells hide: minus log2 of a value's share among all rows whose value its cell covers."""

    name: ClassVar[str] = "entropy"
    needs: ClassVar[Trait | None] = Trait.COVERING

    def prices(self, domain: Domain) -> Prices:
        """Bits a value at a level; a suppressed record hides all there were."""
        columns = domain.quasi
        bits = [-np.log2(np.maximum(column.frequencies, 1) / domain.n) for column in columns]
        shares = leaf_prices(columns, lambda cells: np.log2(np.maximum(cells.mass(), 1.0) / domain.n))
        m = len(columns)
        leaf = [share + own for share, own in zip(shares, bits, strict=True)]
        return Prices(leaf=leaf, full=bits, factor=np.ones(m), offset=np.zeros(m), weight=np.ones(m))

    def value(self, stats: PriceStats) -> tuple[float, dict[str, float | None]]:
        """Sum over all cells; a suppressed record's cells cover everything."""
        bits = 0.0
        for place, cells in enumerate(stats.cells):
            if stats.kind.generalises:
                shown = stats.sizes @ np.log2(np.maximum(cells.mass(), 1.0) / stats.n)
                bits += float(shown) + stats.surprise(place)
            else:  # a value says all there is, whoever's it is
                bits += stats.surprise(place, suppressed=True)
        most = self.bounds(stats)[1]
        return max(0.0, min(bits, most)), {"normalised": bits / most if most > 0 else 0.0}

    def bounds(self, stats: PriceStats) -> tuple[float, float]:
        """Nothing hidden to everything hidden."""
        return 0.0, sum(stats.surprise(place) for place in range(len(stats.cells)))


@dataclass(frozen=True, kw_only=True)
class ArxLoss(Measure):
    """ARX's loss: geometric mean over attributes of how much of their hierarchies the records' cells cover.

    An attribute's sum x of covered shares (1 for a suppressed record) becomes v = (x - n/d) / (n - n/d) with d the
    number of hierarchy rows; the figure is the weighted geometric mean of 1 + v, less 1.
    """

    name: ClassVar[str] = "arx-loss"
    needs: ClassVar[Trait | None] = Trait.COVERING

    def prices(self, domain: Domain) -> Prices:
        """Covered shares, normalised, under a logarithm."""
        columns, n = domain.quasi, domain.n
        sizes = np.array([float(column.domain_size) for column in columns])
        span = np.where(sizes > 1, n - n / sizes, 1.0)
        return Prices(
            leaf=leaf_prices(columns, lambda cells: cells.covered() / cells.column.domain_size),
            full=[np.ones(column.card) for column in columns],
            factor=np.where(sizes > 1, 1.0 / span, 0.0),
            offset=np.where(sizes > 1, 1.0 - n / sizes / span, 1.0),
            weight=domain.quasi_weights / domain.quasi_weights.sum(),
            log=True,
        )

    def spread_weights(self, domain: Domain, spreads: np.ndarray | None) -> np.ndarray:
        """The derivative of the geometric mean's logarithm."""
        weights = domain.quasi_weights
        return weights if spreads is None else weights / (1.0 + spreads)

    def value(self, stats: PriceStats) -> tuple[float, dict[str, float | None]]:
        """The geometric mean."""
        logs = 0.0
        for weight, cells in zip(stats.weights / stats.weights.sum(), stats.cells, strict=True):
            size = float(cells.column.domain_size)
            if size > 1:
                x = float((stats.sizes * cells.covered()).sum()) / size + stats.n_suppressed
                logs += weight * math.log(1.0 + (x - stats.n / size) / (stats.n - stats.n / size))
        return math.exp(logs) - 1.0, {}

    def undefined(self, stats: PriceStats) -> str | None:
        """Intervals of real numbers cover no countable set."""
        return _uncountable(stats)
