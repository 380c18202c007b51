"""What cells cost the clustering methods, column by column, in the ticks of their kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from shoal.kernels.judge.ranges import LEAVES, POSITIONS
from shoal.kernels.price.geometry import FLAT, INTERVAL, TREE
from shoal.kernels.price.ticks import ONE, Prices
from shoal.recoding.snap import published_ends
from shoal.table.closeness import closeness
from shoal.table.column import Column
from shoal.table.stats import unknown_flags
from shoal.table.table import Table
from shoal.table.workload import NO_CUTS, Cuts, lifts

LOSSES = ("height", "spread", "penalty")
_NONE = np.empty(0)
# Range diversity sums over all pairs of a group, which takes room: 2**32 pairs at 2**30 ticks each.
_SENSITIVE_ONE = 1 << 30


@dataclass(frozen=True, eq=False, kw_only=True)
class ColumnPrices:
    """One column: ``steps`` is the price of every code's node on every level, ``sizes`` that of sets by their size."""

    kind: int
    card: int
    missing: int = -1
    unit: float
    scale: float = 0.0
    place: np.ndarray = field(default_factory=lambda: _NONE)
    top: np.ndarray = field(default_factory=lambda: _NONE)
    tree: np.ndarray = field(default_factory=lambda: _NONE)
    steps: np.ndarray = field(default_factory=lambda: _NONE)
    sizes: np.ndarray = field(default_factory=lambda: _NONE)

    @property
    def words(self) -> int:
        """Words of bits a set needs."""
        return (self.card + 63) // 64 if self.kind == FLAT else 0


def quasi_prices(table: Table, loss: str) -> list[ColumnPrices]:
    """What a group's published cells cost, snapping included; attribute weights are shares of one.

    ``height`` is the level of a node over its tree's height, ``spread`` leaves (values) less one over domain less one,
    ``penalty`` NCP's leaves over domain; flat columns have no height, and take the penalty. One value costs nothing.
    Tolls of a workload come on top.
    """
    weights = table.domain.quasi_weights * lifts(table.quasi, table.domain.cuts)
    shares = weights / weights.sum()
    return [
        _quasi(column, loss, ONE * share, table.domain.cuts.get(column.name, NO_CUTS))
        for column, share in zip(table.quasi, shares.tolist(), strict=True)
    ]


def _quasi(column: Column, loss: str, unit: float, cuts: Cuts) -> ColumnPrices:
    card = column.card
    if column.kind == "interval":
        place, top = published_ends(column)
        scale = 1.0 / column.span if column.span > 0 else 0.0
        if cuts.total and scale:
            place, top = (ends + cuts.below(ends) / scale for ends in (place, top))
            scale /= 1.0 + cuts.total
        return ColumnPrices(
            kind=INTERVAL, card=card, missing=column.missing, unit=unit, scale=scale, place=place, top=top
        )
    if column.kind == "flat":
        values = np.arange(card + 1, dtype=np.float64)
        return ColumnPrices(kind=FLAT, card=card, missing=column.missing, unit=unit, sizes=_sized(values, card, loss))
    tree = column.hierarchy
    assert tree is not None
    if loss == "height":
        steps = np.repeat(np.arange(tree.height + 1)[:, None] / max(tree.height, 1), card, axis=1)
    else:
        steps = _sized(tree.leaf_counts.astype(np.float64), card, loss)
    if cuts.total:
        steps = (steps + cuts.levels(column)) / (1.0 + cuts.total)
    return ColumnPrices(kind=TREE, card=card, unit=unit, tree=tree.ancestors.ravel(), steps=steps.ravel())


def _sized(values: np.ndarray, card: int, loss: str) -> np.ndarray:
    """Price of a set or node of so many values."""
    shares = (values - 1.0) / max(card - 1, 1) if loss == "spread" else values / card
    return np.where(values > 1, shares, 0.0)


def sensitive_prices(columns: Sequence[Column]) -> list[ColumnPrices]:
    """How far apart the known values of sensitive columns are (1 - S-diversity), all columns alike."""
    found = []
    for column in columns:
        near = closeness(column, unknown_flags(column))
        one = {"card": column.card, "unit": _SENSITIVE_ONE / len(columns)}
        scale = 1.0 / near.scale if near.scale > 0 else 0.0
        if near.kind == POSITIONS:
            found.append(ColumnPrices(kind=INTERVAL, scale=scale, place=near.ref, top=near.ref, **one))  # type: ignore[arg-type]
        elif near.kind == LEAVES:
            steps = np.maximum(near.ref - 1.0, 0.0) * scale
            found.append(ColumnPrices(kind=TREE, tree=near.tree.ravel(), steps=steps, **one))  # type: ignore[arg-type]
        else:
            sizes = np.maximum(np.arange(column.card + 1) - 1.0, 0.0) * scale
            found.append(ColumnPrices(kind=FLAT, sizes=sizes, **one))  # type: ignore[arg-type]
    return found


def pack(columns: Sequence[ColumnPrices]) -> Prices:
    """All columns in flat arrays, in ticks."""
    ticks = [
        (np.rint(one.steps * one.unit), np.rint(one.sizes * one.unit), np.asarray(one.tree, dtype=np.int32))
        for one in columns
    ]
    return Prices(
        kind=np.array([one.kind for one in columns], dtype=np.int64),
        card=np.array([one.card for one in columns], dtype=np.int64),
        missing=np.array([one.missing for one in columns], dtype=np.int64),
        scale=np.array([one.scale for one in columns], dtype=np.float64),
        unit=np.array([one.unit for one in columns], dtype=np.float64),
        place=np.concatenate([_NONE, *(one.place for one in columns)]),
        top=np.concatenate([_NONE, *(one.top for one in columns)]),
        place_at=_starts([one.place.size for one in columns]),
        tree=np.concatenate([np.empty(0, dtype=np.int32), *(tree for _, _, tree in ticks)]),
        steps=np.concatenate([_NONE, *(steps for steps, _, _ in ticks)]).astype(np.int64),
        tree_at=_starts([one.steps.size for one in columns]),
        sizes=np.concatenate([_NONE, *(sizes for _, sizes, _ in ticks)]).astype(np.int64),
        size_at=_starts([one.sizes.size for one in columns]),
        word_at=_starts([one.words for one in columns]),
    )


def _starts(sizes: Sequence[int]) -> np.ndarray:
    return np.cumsum([0, *sizes], dtype=np.int64)
