"""From a declared workload to what algorithms see: weights of quasi-identifiers and tolls at cuts of their axes.

Both follow from the input, so they are the publisher's alone; a release shows only the groups that came of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.data.column import FLAT, INTERVAL, Column
from shoal.data.hierarchy import MISSING
from shoal.data.table import Table, iso_dates
from shoal.data.workload import Cuts, Workload, boundary_cuts, changes
from shoal.evaluation.grammar import as_number, parse_queries
from shoal.evaluation.queries import Condition
from shoal.evaluation.reading import read_published
from shoal.evaluation.targets import target_classes, told
from shoal.evaluation.view import Feature, Reading
from shoal.recoding.kinds import GENERALISED

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


def preference_facts(table: Table, preferred: Table) -> dict[str, Any]:
    """What a workload came to, as plain data for the evidence; nothing without one."""
    if table.domain.workload is None:
        return {}
    times = preferred.domain.quasi_weights / table.domain.quasi_weights
    weights = dict(zip(table.schema.quasi, times.tolist(), strict=True))
    found = Preferences(weights, preferred.domain.cuts)
    return {"workload": {"declared": table.domain.workload.parameters(), **found.plain()}}


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
