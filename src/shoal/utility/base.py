"""What a measure is, and what makes one the objective of a search.

Most measures add up one price a record and attribute, which depends on the record's value and the attribute's
level alone; a suppressed record costs the full price. That is all a full-domain search needs to know.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from shoal.data.column import Column
from shoal.data.domain import Domain
from shoal.data.texts import spelling_facts
from shoal.data.workload import NO_CUTS
from shoal.recoding.cells import CellColumn
from shoal.recoding.kinds import Trait
from shoal.recoding.lattice import level_cells, top_level
from shoal.recoding.recoded import PriceStats, Released
from shoal.registry import load, spared, working
from shoal.results import Score


@dataclass(frozen=True, eq=False, kw_only=True)
class Prices:
    """An objective that a search can bound; smaller is better, whatever the measure's own orientation.

    Attributes
    ----------
    leaf
        One array a column, of shape (levels, codes): what a record costs at each level.
    full
        One array a column, of shape (codes): what a record costs when it is suppressed.
    factor, offset, weight
        An attribute's sum x adds weight * (offset + factor x) to the cost.
    log
        The cost adds up weight * log(offset + factor x) instead.
    levels_only
        The cost of a node is the price of its levels, whatever is suppressed; ``leaf`` is constant over codes.
    """

    leaf: Sequence[np.ndarray]
    full: Sequence[np.ndarray]
    factor: np.ndarray
    offset: np.ndarray
    weight: np.ndarray
    log: bool = False
    levels_only: bool = False


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A figure for a release, with its orientation and bounds; a corner case gives None and a reason.

    Class attributes
    ----------------
    name
        As in recipes and on the command line.
    better
        ``"down"`` when smaller is better.
    needs
        What it looks at that not every kind of release has; None for what classes and counts give.
    """

    name: ClassVar[str]
    better: ClassVar[str] = "down"
    needs: ClassVar[Trait | None] = None

    def score(self, stats: PriceStats) -> Score:
        """Price a release."""
        lacking = None if self.needs is None else stats.kind.lacks.get(self.needs)
        low, high = (0.0, math.inf) if lacking else self.bounds(stats)
        value: float | None
        also: dict[str, float | None] = {}
        reason = lacking or self.undefined(stats)
        if reason is None:
            value, also = self.value(stats)
        else:
            value = None
        if value is not None and not math.isfinite(value):
            value, reason = None, "the figure is not finite on this release"
        return Score(
            name=self.name,
            value=value,
            better=self.better,
            low=low,
            high=high,
            also=also,
            reason=reason,
            suppression=stats.n_suppressed / stats.n if stats.n else 0.0,
        )

    def value(self, stats: PriceStats) -> tuple[float, dict[str, float | None]]:
        """The figure, and related figures to show beside it."""
        raise NotImplementedError

    def prices(self, domain: Domain) -> Prices | None:
        """The measure as an objective that searches can bound, or None when it has no such form."""
        return None

    def tuples(self, domain: Domain) -> list[tuple[str, ...]]:
        """Tuples of columns whose joint counts it needs, beside the columns' own."""
        return []

    def spread_weights(self, domain: Domain, spreads: np.ndarray | None) -> np.ndarray | None:
        """Weights of the columns under which the measure falls as the weighted sum of spreads does, to first order.

        ``spreads`` is each column's mean spread at the moment (None: not known yet). None says there are none.
        """
        return None

    def node_prices(self, domain: Domain) -> list[np.ndarray | None] | None:
        """What the cells of each column cost, where that is not their spread; None where all of them cost that.

        From 0 to 1: by level and code for a column with a hierarchy, by size for sets, None for spreads.
        """
        return None

    def bounds(self, stats: PriceStats) -> tuple[float, float]:
        """What the figure cannot leave."""
        return 0.0, 1.0

    def undefined(self, stats: PriceStats) -> str | None:
        """Why the figure does not exist, or None."""
        return None


def search_prices(measure: Measure, domain: Domain) -> Prices | None:
    """A measure as the objective of a search, with the tolls that the workload asks for.

    A cell that reaches over a cut pays the cut's toll times what suppressing the record would cost in that column.
    """
    prices = measure.prices(domain)
    if prices is None or not domain.cuts:
        return prices
    cuts = [domain.cuts.get(column.name, NO_CUTS) for column in domain.quasi]
    priced = zip(domain.quasi, cuts, prices.leaf, prices.full, strict=True)
    leaf = [old + mine.levels(column)[: len(old)] * full for column, mine, old, full in priced]
    full = [old * (1.0 + mine.total) for mine, old in zip(cuts, prices.full, strict=True)]
    return replace(prices, leaf=leaf, full=full)


NOTHING_RELEASED = "the release is empty"


def leaf_prices(columns: Sequence[Column], price: Callable[[CellColumn], np.ndarray]) -> list[np.ndarray]:
    """Price of every code of every column at every level, shape (levels, codes) each."""
    return [
        np.stack(
            [
                price(level_cells(column, np.arange(column.card, dtype=np.int32), level))
                for level in range(top_level(column) + 1)
            ]
        )
        for column in columns
    ]


def additive(
    columns: Sequence[Column],
    weights: np.ndarray,
    price: Callable[[CellColumn], np.ndarray],
    full: Callable[[Column], float] = lambda column: 1.0,
) -> Prices:
    """Weighted sum of prices."""
    m = len(columns)
    return Prices(
        leaf=leaf_prices(columns, price),
        full=[np.full(column.card, full(column)) for column in columns],
        factor=np.ones(m),
        offset=np.zeros(m),
        weight=np.asarray(weights, dtype=np.float64),
    )


# ----------------------------------------
# All measures of one release, for its evidence.


def every_score(stats: PriceStats) -> dict[str, Score]:
    """The score of every measure by name, without those of plug-ins that fail."""
    found = {name: spared("measure", name, partial(_score, name, stats)) for name in working("measure")}
    return {name: score for name, score in found.items() if score is not None}


def _score(name: str, stats: PriceStats) -> Score:
    score: Score = load("measure", name)().score(stats)
    figures = [score.value, score.low, score.high, score.suppression, *score.also.values()]
    texts = [score.better, score.reason, *score.also]
    # What a plug-in gives may be anything, and evidence that cannot be written would stop a release that is good.
    if not all(one is None or isinstance(one, Real) for one in figures):
        raise TypeError("A figure is no number.")
    if not all(one is None or isinstance(one, str) for one in texts):
        raise TypeError("What is said of a figure is no text.")
    return score


# ----------------------------------------
# What a release kept of each column, and of whom it tells: facts for its evidence that follow from classes alone.


def release_facts(released: Released) -> dict[str, Any]:
    """Columns (values before, cells after, rows that are exact, rows at each level) and people.

    Cost: the classes, once a quasi-identifier.
    """
    domain = released.domain
    columns: dict[str, Any] = {}
    for name in domain.schema.released:
        column = domain.columns.get(name)
        columns[name] = {"values": None if column is None else int((column.frequencies > 0).sum()), "cells": None}
    if released.n_classes:
        sizes = released.sizes / max(int(released.sizes.sum()), 1)
        for name, cells in released.cells.items():
            if name not in released.changed:
                levels = cells.levels()
                shares = np.bincount(levels, weights=sizes, minlength=int(levels.max(initial=0)) + 1)
                columns[name] |= {
                    "cells": int(np.unique(cells.keys).size),
                    "exact": float(sizes[cells.spread() == 0].sum()),
                    "levels": {str(level): float(one) for level, one in enumerate(shares)},
                }
    people = domain.n_subjects if domain.by_people else None
    spellings = spelling_facts(domain)
    return {"columns": columns, "people": {"rows": domain.n, "people": people}, "spellings": spellings}
