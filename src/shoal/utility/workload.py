"""From a declared workload to what algorithms see: weights of quasi-identifiers and tolls at cuts of their axes.

Both follow from the input, so they are the publisher's alone; a release shows only the groups that came of them.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.data.coding import canonical_text, code_numbers, infer_type
from shoal.data.column import FLAT, INTERVAL, Column
from shoal.data.domain import Domain
from shoal.data.hierarchy import MISSING
from shoal.data.table import Table, iso_dates
from shoal.data.workload import Cuts, Workload, boundary_cuts, changes
from shoal.errors import ParameterError
from shoal.recoding.kinds import GENERALISED
from shoal.utility.domains import Feature, Reading
from shoal.utility.queries import Condition, as_number, parse_queries
from shoal.utility.reading import read_published

# ----------------------------------------
# What quasi-identifiers tell about a column that will be predicted: how much, and where their axes should be cut.
#
# Cuts of an ordered column are Fayyad & Irani's (1993): the one that leaves the least entropy, again on both sides,
# while it saves more than it takes to describe it.


# A target of numbers is cut into quarters above this many distinct values; one of texts is refused above the other.
_FEW, _MANY = 20, 200
_BITS = 1.0 / math.log(2.0)


def target_classes(table: Table, name: str) -> np.ndarray:
    """int64 class of every row: the target's values, or quarters of its rows where it has many numbers."""
    series = table.series(name)
    spec = table.schema.spec(name)
    if infer_type(name, series, spec) == "numeric" and series.n_unique() > _FEW:
        codes, numbers = code_numbers(name, series)
        below = np.cumsum(np.bincount(codes, minlength=len(numbers) + 1)) / codes.size
        quarter = np.minimum((np.concatenate([[0.0], below[:-1]]) * 4).astype(np.int64), 3)
        quarter[len(numbers) :] = 4  # missing is a class of its own
        return np.unique(quarter[codes], return_inverse=True)[1]
    texts = canonical_text(series).fill_null("")
    found = texts.unique().sort()
    if found.len() > _MANY:
        raise ParameterError(
            f"The target '{name}' of the workload has {found.len()} distinct values, and {_MANY} is the most that can "
            "be told apart: choose a coarser column."
        )
    return found.search_sorted(texts).to_numpy().astype(np.int64)


def class_counts(column: Column, codes: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Rows by code and class."""
    width = int(classes.max()) + 1
    flat = np.bincount(codes * np.int64(width) + classes, minlength=column.card * width)
    return flat.reshape(column.card, width).astype(np.float64)


def information(counts: np.ndarray) -> float:
    """Mutual information of rows and columns of a table in bits, less what chance alone gives (Miller & Madow)."""
    n = float(counts.sum())
    rows, columns = (int((counts.sum(axis=axis) > 0).sum()) for axis in (1, 0))
    chance = (rows - 1) * (columns - 1) * _BITS / (2.0 * n)
    whole = entropy(counts.sum(axis=0)[None])[0]
    within = float((entropy(counts) * counts.sum(axis=1)).sum()) / n
    return max(0.0, float(whole) - within - chance)


def entropy(counts: np.ndarray) -> np.ndarray:
    """Entropy in bits of every row of counts, 0 for an empty one."""
    total = np.maximum(counts.sum(axis=-1, keepdims=True), 1.0)
    share = counts / total
    return np.asarray(-(share * np.log2(np.where(share > 0, share, 1.0))).sum(axis=-1))


def told(column: Column, codes: np.ndarray, classes: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Bits a column tells about the classes, the codes at which to cut it, and the bits that each cut gives.

    A column without an order has no cuts; that of a hierarchy is the order of its leaves. O(cuts x codes x classes).
    """
    counts = class_counts(column, codes, classes)
    if column.kind == FLAT:
        return information(counts), np.empty(0, dtype=np.int64), np.empty(0)
    known = column.card - (column.missing >= 0)
    found = sorted(_cut(counts[:known], 0, known, classes.size))
    at = np.array([code for code, _ in found], dtype=np.int64)
    gain = np.array([bits for _, bits in found])
    parts = np.add.reduceat(counts, np.concatenate([[0], at]), axis=0)
    return information(parts), at, gain


def _cut(counts: np.ndarray, lo: int, hi: int, n: int) -> list[tuple[int, float]]:
    """Cuts between two codes, each with its gain in bits a row of the whole table."""
    mine = counts[lo:hi]
    size = float(mine.sum())
    if hi - lo < 2 or size < 2:
        return []
    left = np.cumsum(mine, axis=0)[:-1]
    right = mine.sum(axis=0) - left
    sizes = left.sum(axis=1)
    kept = (sizes * entropy(left) + (size - sizes) * entropy(right)) / size
    kept[(sizes == 0) | (sizes == size)] = np.inf
    best = int(np.argmin(kept))
    if not np.isfinite(kept[best]):
        return []
    sides = mine.sum(axis=0), left[best], right[best]
    whole, first, second = (float(entropy(side[None])[0]) for side in sides)
    present, ours, theirs = (int((side > 0).sum()) for side in sides)
    gain = whole - float(kept[best])
    described = math.log2(3.0**present - 2.0) - (present * whole - ours * first - theirs * second)
    if gain <= (math.log2(size - 1.0) + described) / size:
        return []
    middle = lo + best + 1
    return [(middle, gain * size / n), *_cut(counts, lo, middle, n), *_cut(counts, middle, hi, n)]


# What every column keeps of its weight, whatever the workload says of it: nothing is given away for free.
_FLOOR = 0.3


@dataclass(frozen=True, eq=False)
class Preferences:
    """What follows from a workload: weights of mean 1, and cuts with tolls, by quasi-identifier."""

    weights: Mapping[str, float]
    cuts: Mapping[str, Cuts]

    def plain(self) -> dict[str, Any]:
        """As plain data."""
        cuts = {name: [list(pair) for pair in zip(mine.at.tolist(), mine.toll.tolist(), strict=True)]
                for name, mine in self.cuts.items()}  # fmt: skip
        return {"weights": dict(self.weights), "cuts": cuts}


def preference_facts(domain: Domain, preferred: Domain) -> dict[str, Any]:
    """What a workload came to, as plain data for the evidence; nothing without one."""
    if domain.workload is None:
        return {}
    times = preferred.quasi_weights / domain.quasi_weights
    weights = dict(zip(domain.schema.quasi, times.tolist(), strict=True))
    found = Preferences(weights, preferred.cuts)
    return {"workload": {"declared": domain.workload.parameters(), **found.plain()}}


def with_preferences(table: Table) -> Table:
    """The table as algorithms should see it: its own weights times the workload's, and the workload's cuts."""
    if table.domain.workload is None:
        return table
    found = preferences(table)
    weights = {name: table.domain.weights.get(name, 1.0) * weight for name, weight in found.weights.items()}
    return table.knowing(weights=weights, cuts=found.cuts)


def preferences(table: Table) -> Preferences:
    """Weights and cuts that a table's workload asks for.

    A column's weight is 0.3 + 0.7 times the mean, over queries and target where declared, of its share of (columns
    times): the sum over queries that use it of the share of rows their condition leaves out; the bits it tells about
    the target. A cut's toll is the strength times: 1 at a protected boundary; the share of queries that end there; the
    bits that it tells about the target, over those of the most telling column.
    """
    workload = table.domain.workload
    assert workload is not None
    charged: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for name, values in workload.boundaries.items():
        for value in values:
            charged[name] += [(at, 1.0) for at in boundary_cuts(table.columns[name], value).tolist()]
    parts = []
    if workload.queries:
        parts.append(_from_queries(table, workload, charged))
    if workload.target is not None:
        parts.append(_from_target(table, workload.target, charged))
    wanted = np.mean([_to_mean_one(part) for part in parts], axis=0) if parts else np.ones(len(table.quasi))
    weights = _FLOOR + (1.0 - _FLOOR) * wanted
    cuts = {name: Cuts.of(*zip(*pairs, strict=True)) for name, pairs in charged.items() if pairs}
    cuts = {name: Cuts(mine.at, mine.toll * workload.strength) for name, mine in cuts.items()}
    return Preferences(dict(zip(table.schema.quasi, weights.tolist(), strict=True)), cuts)


def _to_mean_one(part: np.ndarray) -> np.ndarray:
    """Shares times columns; all 1 where nothing was asked of any."""
    return part / part.mean() if part.sum() > 0 else np.ones(part.size)


def _from_queries(table: Table, workload: Workload, charged: dict[str, list[tuple[float, float]]]) -> np.ndarray:
    """What conditions leave out of each column, summed over queries; the ends of conditions are charged."""
    use = np.zeros(len(table.quasi))
    places = {name: place for place, name in enumerate(table.schema.quasi)}
    reading = _as_it_is(table)
    queries = parse_queries(workload.queries, reading)
    for query in queries:
        for condition in query.conditions:
            if condition.column not in places:
                continue
            column = table.columns[condition.column]
            inside = _inside(column, reading.features[column.name], condition)
            use[places[column.name]] += 1.0 - float(column.frequencies @ inside) / table.n
            if column.kind != FLAT:
                charged[column.name] += [(at, 1.0 / len(queries)) for at in _ends(column, inside).tolist()]
    return use


def _as_it_is(table: Table) -> Reading:
    """The table as if it were published unchanged, which is what queries are held against."""
    entries = []
    for name in table.schema.released:
        entry: dict[str, Any] = {"name": name, "role": table.schema.role(name), "cells": "value"}
        if name in table.columns:
            column = table.columns[name]
            entry["type"] = column.type
            if column.type == "ordinal" and column.kind == INTERVAL:
                entry["order"] = [text for text in column.texts.to_list() if text != MISSING]
            if column.hierarchy is not None:
                entry["hierarchy"] = column.hierarchy.rows()
        entries.append(entry)
    rows = iso_dates(table)
    return read_published(rows, {"kind": GENERALISED.name, "columns": entries}, rows)


def _inside(column: Column, feature: Feature, condition: Condition) -> np.ndarray:
    """Which codes of a column a condition lets through."""
    texts = column.texts.to_list()
    if condition.values:
        return np.isin(texts, condition.values)
    assert feature.numbers is not None
    numbers = feature.numbers[[feature.place[text] for text in texts]]
    low, high = (as_number(feature, end) for end in (condition.low, condition.high))
    return (numbers >= low) & (numbers <= high)


def _ends(column: Column, inside: np.ndarray) -> np.ndarray:
    """Where a condition begins and ends on the column's axis."""
    codes = changes(inside, np.array(column.texts.to_list()) != MISSING).astype(np.int64)
    return column.positions[codes] if column.kind == INTERVAL else codes.astype(np.float64)


def _from_target(table: Table, target: str, charged: dict[str, list[tuple[float, float]]]) -> np.ndarray:
    """Bits that each column tells about the target; its cuts are charged by theirs."""
    classes = target_classes(table, target)
    found = [told(column, table.codes[column.name], classes) for column in table.quasi]
    bits = np.array([mine for mine, _, _ in found])
    for column, (_, codes, gains) in zip(table.quasi, found, strict=True):
        at = column.positions[codes] if column.kind == INTERVAL else codes.astype(np.float64)
        charged[column.name] += list(zip(at.tolist(), (gains / bits.max()).tolist(), strict=True))
    return bits
