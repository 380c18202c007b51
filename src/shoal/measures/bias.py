"""How far random redrawing moves the count of a combination of values (Yang & Qiao 2010, Sec. 5.2).

A *query* maps columns to values, quasi-identifiers and sensitive attributes alike: ``{"job": "clerk", "disease":
"flu"}``. Sensitive values are never redrawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from shoal.errors import ParameterError
from shoal.kernels.attack.posterior import reach
from shoal.kernels.count.grouping import group_rows
from shoal.params import nearest
from shoal.recoding.randomised import Randomised, code_of
from shoal.table.column import Column
from shoal.table.table import Table

Query = Mapping[str, object]


@dataclass(frozen=True, kw_only=True)
class Bias:
    """What redrawing does to the support of one query.

    Attributes
    ----------
    support
        Share of the input's records that have all its values.
    expected
        Mean of the relative difference R = (released support - support) / support over all draws, exactly.
    variance
        Variance of R, exactly: records are redrawn independently. The paper's eq. (11) is not this variance.
    observed
        R of this release.
    """

    support: float
    expected: float
    variance: float
    observed: float

    @property
    def relative(self) -> float:
        """B(q), the absolute value of the mean (eq. 10)."""
        return abs(self.expected)


def support(table: Table, query: Query) -> float:
    """Share of the records that have all values of a query; 1 for an empty one (Def. 9)."""
    return float(_matches(table, _items(table, query)).mean())


def confidence(table: Table, given: Query, then: Query) -> float | None:
    """Of the records that have the values of one query, the share that also have those of another."""
    base = support(table, given)
    return support(table, {**given, **then}) / base if base > 0 else None


def lift(table: Table, query: Query, column: str) -> float | None:
    """Support of a query over what independence of one of its values from the others would give; 1 = independent."""
    if column not in query:
        raise ParameterError(f"The query has no value of '{column}', so it has no lift there.")
    rest = {name: value for name, value in query.items() if name != column}
    expected = support(table, rest) * support(table, {column: query[column]})
    return support(table, query) / expected if expected > 0 else None


def relative_bias(described: Randomised, query: Query) -> Bias | None:
    """Exact mean and variance of a query's relative difference, for any p and lambda; None without support.

    With one column redrawn and p uniform the mean is eq. (10), (1/m) times the sum over quasi-identifier items of
    1/lift - 1.
    """
    table = described.table
    items = _items(table, query)
    share = float(_matches(table, items).mean())
    if share <= 0.0:
        return None
    names = [column.name for column in described.columns]
    drawn = [names[place] for place in described.drawn]
    fixed = [(column, code) for column, code in items if column.name not in drawn]
    moving = {column.name: code for column, code in items if column.name in drawn}
    rows = np.flatnonzero(_matches(table, fixed))
    chances, counts = _chances(described, moving, rows)
    mean = float(counts @ chances) / table.n
    spread = float(counts @ (chances * (1.0 - chances)))
    after = np.flatnonzero(_matches(table, fixed))
    for name, code in moving.items():
        after = after[described.after[names.index(name)][after] == code]
    return Bias(
        support=share,
        expected=mean / share - 1.0,
        variance=spread / (table.n * share) ** 2,
        observed=after.size / table.n / share - 1.0,
    )


def association_bias(described: Randomised, quasi: str, sensitive: str) -> float:
    """Mean of B(q) over all pairs of a value of each of two columns, weighted by their support.

    B of a pair is the probability that the quasi-identifier is redrawn times the absolute value of 1/lift - 1.
    """
    table = described.table
    one, other = table.columns[quasi], table.columns[sensitive]
    together = table.joined((quasi, sensitive))
    joint = together.counts / table.n
    alone = one.frequencies[together.codes[0]] * other.frequencies[together.codes[1]] / float(table.n) ** 2
    place = [column.name for column in described.columns].index(quasi)
    chance = described.p[place] * described.redraw
    return float(chance * np.abs(alone - joint).sum())


def _items(table: Table, query: Query) -> list[tuple[Column, int]]:
    for name in query:
        if name not in table.columns:
            near = nearest(str(name), table.columns)
            hint = f" Did you mean '{near}'?" if near else ""
            raise ParameterError(f"The query names '{name}', which is neither quasi nor sensitive.{hint}")
    return [(table.columns[name], code_of(table.columns[name], value)) for name, value in query.items()]


def _matches(table: Table, items: list[tuple[Column, int]]) -> np.ndarray:
    found = np.ones(table.n, dtype=bool)
    for column, code in items:
        found &= table.codes[column.name] == code
    return found


def _chances(described: Randomised, moving: Mapping[str, int], rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Probability to hold some values after the draw, for each pattern of values that records lack, and its records."""
    columns = [described.columns[place] for place in described.drawn]
    factor = described.p[described.drawn] if described.redraw == 1 else np.ones(len(columns))
    weights, inside = factor.copy(), np.zeros(len(columns), dtype=np.uint8)
    asked = [place for place, column in enumerate(columns) if column.name in moving]
    for place in asked:
        weights[place] *= described.shares[described.drawn[place]][moving[columns[place].name]]
    lacking = np.zeros((len(asked), rows.size), dtype=np.int32)
    for at, place in enumerate(asked):
        lacking[at] = described.table.codes[columns[place].name][rows] != moving[columns[place].name]
    _, first, counts = group_rows(lacking, np.full(len(asked), 2))
    near = lacking[:, first].sum(axis=0) <= described.redraw
    patterns, counts = lacking[:, first[near]], counts[near]
    sums, chances = np.empty(described.redraw + 1), np.empty(counts.size)
    for k in range(counts.size):  # at most the sets of up to lambda of the query's columns
        inside[asked] = patterns[:, k]
        chances[k] = reach(weights, inside, described.redraw, described.scale, sums)
    return chances, counts
