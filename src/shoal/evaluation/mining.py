"""Apriori for rules from items of quasi-identifiers to a sensitive value, on exact cells or on cells of several values.

Cells that cover several values count for each by its share. Supports are then expected ones under uniform spread, and
they still fall with every further item, so that sets without support are not extended.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from shoal.evaluation.view import Feature
from shoal.kernels.grouping import group_rows
from shoal.kernels.itemsets import cross_counts, narrow

# Sums of shares may fall short of a limit that they reach.
_EDGE = 1e-9

Items = tuple[tuple[str, str], ...]
Rule = tuple[Items, str]


@dataclass(frozen=True)
class Strength:
    """Share of the records that have a rule's items and its sensitive value, and the share that have its items."""

    support: float
    items: float


@dataclass(frozen=True, eq=False)
class Mined:
    """Rules of one table; and the values of every column that have support, with their shares.

    Where only a rule's items need support, ``targets`` are all sensitive values, and else those that have it.
    """

    rules: Mapping[Rule, Strength]
    items: Mapping[tuple[str, str], float]
    targets: Mapping[str, float]


def mine(
    quasi: Sequence[Feature],
    target: Feature,
    *,
    original: bool,
    support: float,
    confidence: float,
    longest: int,
    antecedent: bool = False,
) -> Mined:
    """Every rule of at most ``longest`` items with enough support and confidence.

    Parameters
    ----------
    original
        Whether of the original rows, else of the released ones.
    support, confidence
        Least shares of the records, and of the records with the items.
    antecedent
        Whether the items alone have to have the support, not the items and the sensitive value together.
    """
    records, sides = _records(quasi, target, original, support, antecedent)
    rules: dict[Rule, Strength] = {}
    for found, counts in records.walk(support, longest, antecedent):
        total = float(counts.sum())
        least = _EDGE if antecedent else support - _EDGE  # a rule has a record, whatever the limit
        for place, text in enumerate(records.targets):
            if counts[place] >= least and counts[place] >= (confidence - _EDGE) * total:
                rules[found, text] = Strength(float(counts[place]), total)
    shares = {(side.name, side.values[code]): float(side.shares[code]) for side in sides for code in side.often}
    items = {item: share for item, share in shares.items() if share >= support - _EDGE}
    return Mined(rules, items, {text: share for (name, text), share in shares.items() if name == target.name})


@dataclass(frozen=True, eq=False, kw_only=True)
class _Records:
    """Distinct records with their shares of the table, and the items that their cells stand for.

    Only items with support are numbered, column by column. Sensitive values without any share the last target.
    """

    names: Sequence[tuple[str, str]]
    column: Sequence[int]
    targets: Sequence[str]
    cells: np.ndarray
    at: np.ndarray
    item: np.ndarray
    share: np.ndarray
    target: np.ndarray
    weight: np.ndarray

    def walk(self, support: float, longest: int, antecedent: bool) -> Iterator[tuple[Items, np.ndarray]]:
        """Sets of items, depth first, with their share of the table for each target."""
        counts = np.empty((len(self.names), len(self.targets) + 1))
        stack: list[tuple[Items, int, np.ndarray, np.ndarray]] = [((), 0, np.arange(self.weight.size), self.weight)]
        while stack:
            items, begin, rows, weight = stack.pop()
            cross_counts(rows, weight, begin, self.cells, self.at, self.item, self.share, self.target, counts)
            often = counts.sum(axis=1) if antecedent else counts[:, :-1].max(axis=1, initial=0.0)
            for place in np.flatnonzero(often >= support - _EDGE).tolist():
                column = self.column[place]
                more = (*items, self.names[place])
                yield more, counts[place]
                if len(more) < longest and column + 1 < len(self.cells):
                    kept = narrow(rows, weight, self.cells[column], self.at, self.item, self.share, place)
                    stack.append((more, column + 1, *kept))


def _records(
    quasi: Sequence[Feature], target: Feature, original: bool, support: float, antecedent: bool
) -> tuple[_Records, list[_Side]]:
    sides = [_Side(one, original, support) for one in quasi]
    sides.append(_Side(target, original, 0.0 if antecedent else support))
    first = np.cumsum([0, *(side.cells for side in sides[:-1])])
    numbers = np.cumsum([0, *(len(side.often) for side in sides[:-1])])
    lengths = np.concatenate([np.diff(side.at) for side in sides[:-1]])
    last = sides[-1]
    # A sensitive cell of several values is as many records, each with a part of the weight.
    wide = np.diff(last.at)[last.cell]
    rows = np.repeat(np.arange(last.cell.size), wide)
    within = np.arange(rows.size) - np.repeat(np.cumsum(wide) - wide, wide) + last.at[last.cell][rows]
    cells = np.stack([side.cell[rows] + at for side, at in zip(sides[:-1], first, strict=False)]).astype(np.int32)
    both = np.concatenate([cells, last.item[within][None, :].astype(np.int32)])
    ids, alone, _ = group_rows(both, both.max(axis=1) + 1)
    records = _Records(
        names=[(side.name, side.values[code]) for side in sides[:-1] for code in side.often],
        column=[place for place, side in enumerate(sides[:-1]) for _ in side.often],
        targets=[last.values[code] for code in last.often],
        cells=np.ascontiguousarray(cells[:, alone]),
        at=np.concatenate([[0], np.cumsum(lengths)]),
        item=np.concatenate([side.item + at for side, at in zip(sides[:-1], numbers, strict=False)]),
        share=np.concatenate([side.share for side in sides[:-1]]),
        target=both[-1, alone],
        weight=np.bincount(ids, last.share[within]) / last.cell.size,
    )
    return records, sides


class _Side:
    """The cells of one column, with items numbered among its values that have support.

    Values without support are left out of quasi-identifiers; those of the sensitive attribute, which has to account
    for every record, are numbered after the others, all alike.
    """

    def __init__(self, feature: Feature, original: bool, support: float) -> None:
        self.name, self.values = feature.name, feature.values
        count = len(feature.values)
        at, code, share = feature.at, feature.code, feature.share
        self.cell = feature.original if original else feature.cell
        if original:
            at, code, share = np.arange(count + 1), np.arange(count, dtype=np.int32), np.ones(count)
        of = np.repeat(np.arange(at.size - 1), np.diff(at))
        rows = np.bincount(self.cell, minlength=at.size - 1)
        self.shares = np.bincount(code, rows[of] * share, count) / self.cell.size
        often = np.flatnonzero(self.shares >= support - _EDGE)
        self.often: list[int] = often.tolist()
        number = np.full(count, often.size)
        number[often] = np.arange(often.size)
        kept = number[code] < often.size if feature.role == "quasi" else np.ones(code.size, dtype=bool)
        self.item, self.share = number[code][kept], share[kept]
        self.at = np.concatenate([[0], np.cumsum(np.bincount(of[kept], minlength=at.size - 1))])
        self.cells = at.size - 1
