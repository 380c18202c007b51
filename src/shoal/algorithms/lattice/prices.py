"""Prices of a measure as the kernels of a lattice need them."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np

from shoal.data.column import Column
from shoal.measures.base import Prices


class PriceTable:
    """Prices of a measure laid out for the kernels: relative to the full price, one row a level.

    Attributes
    ----------
    leaf
        (levels, codes of all columns): price less full price.
    rows
        (attributes, levels): the same summed over all rows.
    """

    def __init__(self, prices: Prices, columns: Sequence[Column]) -> None:
        levels = max(table.shape[0] for table in prices.leaf)
        ends = np.cumsum([0, *(table.shape[1] for table in prices.leaf)])
        self.leaf = np.zeros((levels, ends[-1]))
        padded = [self.leaf[:, start:end] for start, end in zip(ends[:-1], ends[1:], strict=True)]
        for table, leaf, full in zip(padded, prices.leaf, prices.full, strict=True):
            table[: leaf.shape[0]] = leaf - full
        if prices.levels_only:
            self.rows = np.stack([table[:, 0] for table in padded])
            self.leaf[:] = 0.0
        else:
            self.rows = np.stack([table @ column.frequencies for table, column in zip(padded, columns, strict=True)])
        full = np.array([f @ column.frequencies for f, column in zip(prices.full, columns, strict=True)])
        self.factor = np.asarray(prices.factor, dtype=np.float64)
        self.offset = prices.offset + prices.factor * full
        self.weight = np.asarray(prices.weight, dtype=np.float64)
        self.log = prices.log
        self.terms = self.price(self.rows)

    def unsuppressed(self) -> PriceTable:
        """The same prices, but a suppressed row costs what it would if it were kept."""
        other = copy.copy(self)
        other.leaf = np.zeros_like(self.leaf)
        return other

    def price(self, sums: np.ndarray) -> np.ndarray:
        """What each attribute adds to the cost, from its sum of relative prices; one or one a level."""
        terms = (self.offset + self.factor * sums.T).T
        return (self.weight * (np.log(terms) if self.log else terms).T).T
