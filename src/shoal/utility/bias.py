"""How far random redrawing moves the count of a combination of values (Yang & Qiao 2010, Sec. 5.2).

A *query* maps columns to values, quasi-identifiers and sensitive attributes alike: ``{"job": "clerk", "disease":
"flu"}``. Sensitive values are never redrawn.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from shoal.data.domain import Domain
from shoal.data.rows import Rows
from shoal.errors import ParameterError
from shoal.kernels.posterior import reach
from shoal.params import nearest
from shoal.recoding.randomised import Randomised, code_of

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


def support(rows: Rows, query: Query) -> float:
    """Share of the records that have all values of a query; 1 for an empty one (Def. 9)."""
    items = _items(rows.domain, query)
    if not items:
        return 1.0
    joint = rows.joined(tuple(items))
    return float(joint.counts[_matches(joint.codes, items.values())].sum() / rows.domain.n)


def confidence(rows: Rows, given: Query, then: Query) -> float | None:
    """Of the records that have the values of one query, the share that also have those of another."""
    base = support(rows, given)
    return support(rows, {**given, **then}) / base if base > 0 else None


def lift(rows: Rows, query: Query, column: str) -> float | None:
    """Support of a query over what independence of one of its values from the others would give; 1 = independent."""
    if column not in query:
        raise ParameterError(f"The query has no value of '{column}', so it has no lift there.")
    rest = {name: value for name, value in query.items() if name != column}
    expected = support(rows, rest) * support(rows, {column: query[column]})
    return support(rows, query) / expected if expected > 0 else None


def relative_bias(described: Randomised, query: Query) -> Bias | None:
    """Exact mean and variance of a query's relative difference, for any p and lambda; None without support.

    With one column redrawn and p uniform the mean is eq. (10), (1/m) times the sum over quasi-identifier items of
    1/lift - 1.
    """
    domain = described.domain
    items, n = _items(domain, query), domain.n
    drawn = {described.columns[place].name for place in described.drawn}
    names = [name for name in items if name not in drawn] + [name for name in items if name in drawn]
    moving = {name: code for name, code in items.items() if name in drawn}
    wanted = np.array([items[name] for name in names])[:, None]
    codes, counts = described.together(names)
    lacking, fixed = codes != wanted, np.array([name not in drawn for name in names], dtype=bool)
    share = float(counts[~lacking.any(axis=0)].sum() / n)
    if share <= 0.0:
        return None
    there = ~lacking[fixed].any(axis=0)
    chances = _chances(described, moving, lacking[~fixed][:, there])
    mean = float(counts[there] @ chances) / n
    spread = float(counts[there] @ (chances * (1.0 - chances)))
    after, released = described.together(names, moving)
    return Bias(
        support=share,
        expected=mean / share - 1.0,
        variance=spread / (n * share) ** 2,
        observed=float(released[(after == wanted).all(axis=0)].sum()) / n / share - 1.0,
    )


def association_bias(described: Randomised, quasi: str, sensitive: str) -> float:
    """Mean of B(q) over all pairs of a value of each of two columns, weighted by their support.

    B of a pair is the probability that the quasi-identifier is redrawn times the absolute value of 1/lift - 1.
    """
    domain = described.domain
    one, other = domain.columns[quasi], domain.columns[sensitive]
    codes, counts = described.together([quasi, sensitive])
    alone = one.frequencies[codes[0]] * other.frequencies[codes[1]] / float(domain.n) ** 2
    place = [column.name for column in described.columns].index(quasi)
    chance = described.p[place] * described.redraw
    return float(chance * np.abs(alone - counts / domain.n).sum())


def _items(domain: Domain, query: Query) -> dict[str, int]:
    for name in query:
        if name not in domain.columns:
            near = nearest(str(name), domain.columns)
            hint = f" Did you mean '{near}'?" if near else ""
            raise ParameterError(f"The query names '{name}', which is neither quasi nor sensitive.{hint}")
    return {name: code_of(domain.columns[name], value) for name, value in query.items()}


def _matches(codes: np.ndarray, wanted: Collection[int]) -> np.ndarray:
    return (codes == np.array(list(wanted))[:, None]).all(axis=0)


def _chances(described: Randomised, moving: Mapping[str, int], lacking: np.ndarray) -> np.ndarray:
    """Probability to hold some values after the draw, for each pattern of values that records lack."""
    columns = [described.columns[place] for place in described.drawn]
    factor = described.p[described.drawn] if described.redraw == 1 else np.ones(len(columns))
    weights = factor.copy()
    asked = [[column.name for column in columns].index(name) for name in moving]
    for place in asked:
        weights[place] *= described.shares[described.drawn[place]][moving[columns[place].name]]
    patterns, of = np.unique(lacking.T.astype(np.uint8), axis=0, return_inverse=True)
    sums, chances = np.empty(described.redraw + 1), np.zeros(len(patterns))
    for k, pattern in enumerate(patterns):  # at most the sets of up to lambda of the query's columns
        if pattern.sum() <= described.redraw:
            inside = np.zeros(len(columns), dtype=np.uint8)
            inside[asked] = pattern
            chances[k] = reach(weights, inside, described.redraw, described.scale, sums)
    return chances[of.ravel()]
