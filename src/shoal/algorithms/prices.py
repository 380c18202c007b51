"""What cells cost, column by column, and packed in the whole ticks of the kernels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from shoal.data.column import Column, closeness
from shoal.data.domain import Domain
from shoal.data.stats import unknown_flags
from shoal.data.workload import NO_CUTS, Cuts, lifts
from shoal.kernels.prices import FLAT, INTERVAL, TREE, Prices, list_pairs
from shoal.kernels.rules import LEAVES, POSITIONS
from shoal.recoding.snap import published_ends

# Ticks of the whole loss of a record, and how many of them the records of a table may have together.
ONE, _MOST = 1 << 38, 1 << 62
# Prices that are compared and never summed over records may have more ticks.
FINE = 1 << 50
# Columns of up to this many codes list the prices of all pairs: a list that fits the cache beats working them out.
_LISTED = 200
# Digits behind the first that counts that the ends of intervals may have for their widths to be whole ticks.
_DIGITS = 6
_SIMPLE = 10**6
_NONE = np.empty(0)


@dataclass(frozen=True, eq=False, kw_only=True)
class ColumnPrices:
    """Prices of one column's cells, from 0 to 1.

    ``steps`` is the price of every code's node on every level, ``sizes`` that of sets by their size, ``width`` the
    domain's as it stands. Every price is a multiple of 1 / ``parts`` (0: of nothing in particular).
    """

    kind: int
    card: int
    missing: int = -1
    width: float
    parts: int = 0
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


def prices_of(domain: Domain, loss: str = "spread") -> Prices:
    """The quasi-identifiers' prices under the attribute weights, tolls of a workload included."""
    return weighted(quasi_columns(domain, loss), quasi_weights(domain), domain.n)


def weighted(columns: Sequence[ColumnPrices], weights: Sequence[float | Fraction] | np.ndarray, n: int) -> Prices:
    """Columns packed, each with its share of the weights, for groups of up to ``n`` records."""
    return pack(columns, *units_of(columns, weights, ticks_of(n)))


def ticks_of(n: int) -> int:
    """Ticks that the whole loss of a record may have: fewer for more than 2**24 records, whose sum has to fit."""
    return min(ONE, _MOST >> max(n - 1, 1).bit_length())


def quasi_weights(domain: Domain) -> np.ndarray:
    """Attribute weights; a column's grows by what its widest cell pays, so that cells that pay none cost as before."""
    return domain.quasi_weights * lifts(domain.quasi, domain.cuts)


def quasi_columns(
    domain: Domain, loss: str = "spread", *, tolls: bool = True, own: Sequence[np.ndarray | None] | None = None
) -> list[ColumnPrices]:
    """What a group's published cells cost, snapping included.

    ``height`` is the level of a node over its tree's height, ``spread`` leaves (values) less one over domain less one,
    ``penalty`` NCP's leaves over domain; flat columns have no height, and take the penalty. ``byun`` takes them for
    trees of height 1, as Byun et al. do: two values cost as much as all. One value costs nothing.
    Tolls of a workload come on top, in shares of what everything costs. ``own`` prices of a measure take the place of
    the loss, column by column.
    """
    cuts = domain.cuts if tolls else {}
    given = own or [None] * len(domain.quasi)
    return [
        _quasi(column, loss, cuts.get(column.name, NO_CUTS), mine)
        for column, mine in zip(domain.quasi, given, strict=True)
    ]


def _quasi(column: Column, loss: str, cuts: Cuts, own: np.ndarray | None) -> ColumnPrices:
    card, lift = column.card, 1.0 + cuts.total
    if column.kind == "interval":
        place, top = published_ends(column)
        return _interval(column, place, top, column.span, cuts)
    one = {"card": card, "width": (card - 1.0) * lift}
    if column.kind == "flat":
        sizes, parts = _sized(np.arange(card + 1, dtype=np.float64), card, loss) if own is None else (own, 0)
        exact = 0 if cuts.total else parts
        return ColumnPrices(kind=FLAT, missing=column.missing, sizes=sizes / lift, parts=exact, **one)  # type: ignore[arg-type]
    tree = column.hierarchy
    assert tree is not None
    if own is not None:
        steps, parts = own, 0
    elif loss in ("height", "byun"):
        parts = max(tree.height, 1)
        steps = np.repeat(np.arange(tree.height + 1)[:, None] / parts, card, axis=1)
    else:
        steps, parts = _sized(tree.leaf_counts.astype(np.float64), card, loss)
    if cuts.total:
        steps, parts = (steps + cuts.levels(column)) / lift, 0
    return ColumnPrices(kind=TREE, tree=tree.ancestors.ravel(), steps=steps.ravel(), parts=parts, **one)  # type: ignore[arg-type]


def _interval(column: Column, place: np.ndarray, top: np.ndarray, width: float, cuts: Cuts = NO_CUTS) -> ColumnPrices:
    scale = 1.0 / width if width > 0 else 0.0
    parts = _parts(np.append(place, top), width)
    if cuts.total and scale:
        place, top = (ends + cuts.below(ends) / scale for ends in (place, top))
        scale, parts = scale / (1.0 + cuts.total), 0
    return ColumnPrices(
        kind=INTERVAL, card=column.card, missing=column.missing, width=1.0 / scale if scale else 0.0, parts=parts,
        scale=scale, place=place, top=top,
    )  # fmt: skip


def _parts(ends: np.ndarray, width: float) -> int:
    """How many equal steps the domain has, if all ends lie on them; 0 where there are too many."""
    known = ends[np.isfinite(ends)]
    # Of numbers below 1 the zeros do not count: all of them would be next to a whole number.
    first = max(0, -math.floor(math.log10(width))) if width > 0 else 0
    for digits in range(first, first + _DIGITS + 1):
        steps = known * 10.0**digits
        if width * 10.0**digits > ONE:
            break
        if np.abs(np.append(steps, width * 10.0**digits) % 1.0 - 0.5).min(initial=0.5) > 0.5 - 1e-6:
            return max(1, round(width * 10.0**digits))
    return 0


def _sized(values: np.ndarray, card: int, loss: str) -> tuple[np.ndarray, int]:
    """Prices of sets or nodes of so many values, and the parts they are multiples of."""
    if loss == "byun":
        return np.where(values > 1, 1.0, 0.0), 1
    parts = max(card - 1, 1) if loss == "spread" else card
    return np.where(values > 1, (values - 1.0 if loss == "spread" else values) / parts, 0.0), parts


def sensitive_columns(columns: Sequence[Column]) -> list[ColumnPrices]:
    """How far apart the known values of sensitive columns are (1 - S-diversity): they are published as they are."""
    found = []
    for column in columns:
        near = closeness(column, unknown_flags(column))
        scale = 1.0 / near.scale if near.scale > 0 else 0.0
        one = {"card": column.card, "width": near.scale, "parts": max(1, round(near.scale))}
        if near.kind == POSITIONS:
            parts = _parts(near.ref, near.scale)
            found.append(
                ColumnPrices(
                    kind=INTERVAL, scale=scale, place=near.ref, top=near.ref, **one | {"parts": parts}  # type: ignore[arg-type]
                )
            )
        elif near.kind == LEAVES:
            steps = np.maximum(near.ref - 1.0, 0.0) * scale
            found.append(ColumnPrices(kind=TREE, tree=near.tree.ravel(), steps=steps, **one))  # type: ignore[arg-type]
        else:
            sizes = np.maximum(np.arange(column.card + 1) - 1.0, 0.0) * scale
            found.append(ColumnPrices(kind=FLAT, sizes=sizes, **one))  # type: ignore[arg-type]
    return found


def units_of(
    columns: Sequence[ColumnPrices], weights: Sequence[float | Fraction] | np.ndarray, most: int
) -> tuple[np.ndarray, int]:
    """Ticks of the whole loss of each column, by its share of the weights, and of all; at most ``most``.

    Where there is such a number of ticks, every price is a whole number of them, and cells that cost the same in sum
    tie exactly. Otherwise, with very many values or odd weights, prices are rounded to ticks.
    """
    exact = [one if isinstance(one, Fraction) else fraction(float(one)) for one in weights]
    total = sum(map(abs, exact))
    if not total:
        return np.zeros(len(columns)), most
    step = 1
    for column, weight in zip(columns, exact, strict=True):
        if weight:
            step = math.lcm(step, (weight / total / column.parts).denominator) if column.parts else most + 1
        if step > most:
            shares = np.array([float(one) for one in weights])
            return most * (shares / np.abs(shares).sum()), most
    one = step * (most // step)
    return np.array([float(weight / total * one) for weight in exact]), one


def fraction(value: float) -> Fraction:
    """The simple fraction that a float stands for, such as a third or 0.3, else its own digits."""
    simple = Fraction(value).limit_denominator(_SIMPLE)
    return simple if math.isclose(simple, value, rel_tol=1e-12) else Fraction(repr(value))


def pack(columns: Sequence[ColumnPrices], units: np.ndarray, one: int) -> Prices:
    """All columns in flat arrays, in ticks."""
    ticks = [
        (np.rint(column.steps * unit), np.rint(column.sizes * unit), np.asarray(column.tree, dtype=np.int32))
        for column, unit in zip(columns, units, strict=True)
    ]
    kind = np.array([column.kind for column in columns], dtype=np.int64)
    card = np.array([column.card for column in columns], dtype=np.int64)
    listed = (kind != FLAT) & (card <= _LISTED)
    squares = np.where(listed, card**2, 0)
    prices = Prices(
        one=one,
        kind=kind,
        card=card,
        missing=np.array([column.missing for column in columns], dtype=np.int64),
        scale=np.array([column.scale for column in columns], dtype=np.float64),
        unit=np.asarray(units, dtype=np.float64),
        place=np.concatenate([_NONE, *(column.place for column in columns)]),
        top=np.concatenate([_NONE, *(column.top for column in columns)]),
        place_at=_starts([column.place.size for column in columns]),
        tree=np.concatenate([np.empty(0, dtype=np.int32), *(tree for _, _, tree in ticks)]),
        steps=np.concatenate([_NONE, *(steps for steps, _, _ in ticks)]).astype(np.int64),
        tree_at=_starts([column.steps.size for column in columns]),
        sizes=np.concatenate([_NONE, *(sizes for _, sizes, _ in ticks)]).astype(np.int64),
        size_at=_starts([column.sizes.size for column in columns]),
        word_at=_starts([column.words for column in columns]),
        pair=np.empty(0, dtype=np.int64),
        pair_at=np.full(len(columns), -1, dtype=np.int64),
    )
    pair_at = np.where(listed, np.cumsum(squares) - squares, -1)
    return prices._replace(pair=list_pairs(prices, pair_at, int(squares.sum())), pair_at=pair_at)


def _starts(sizes: Sequence[int]) -> np.ndarray:
    return np.cumsum([0, *sizes], dtype=np.int64)
