"""Microaggregation: groups of k alike records, each published as its centroid (Domingo-Ferrer & Mateo-Sanz 2002)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from shoal.algorithms.base import Algorithm, Problem
from shoal.algorithms.links.anatomy import refuse_repeated_people
from shoal.algorithms.links.swapping import (
    Perturbing,
    is_number,
    is_ordered,
    numbers_of,
    places_of,
    published,
    records_of,
    refuse_missing,
)
from shoal.data.column import Column
from shoal.data.table import Table
from shoal.errors import InfeasibleError, ParameterError
from shoal.kernels.microaggregation import mdav, shortest_path
from shoal.models.base import Model, Reference
from shoal.params import choice, whole
from shoal.recoding.exact import values_of
from shoal.recoding.kinds import MICROAGGREGATED, Kind
from shoal.recoding.recodings import Averaged, Perturbed
from shoal.registry import load

# Rows of a part, of which there are several only where memory does not hold all of them.
_PART = 1 << 16


@dataclass(frozen=True, kw_only=True)
class Microaggregation(Algorithm):
    """Replace every quasi-identifier by the mean, median or mode of a group of k to 2k - 1 records.

    Numbers and dates are compared as z-scores and ordered categories as z-scores of their ranks; other categories are
    1 apart, or as far apart as their lowest common node is wide where there is a hierarchy. Squared distances add up,
    times attribute weights. Published are means of numbers, means of dates to the nearest day, lower medians of
    ordered categories, and the commonest of other categories (of equally common ones the first in the dictionary).

    Parameters
    ----------
    method
        ``mdav`` groups around the records furthest out, O(n^2 / k). ``univariate`` finds the groups of least squared
        deviation, proven, O(n k); it needs a single quasi-identifier, of numbers or dates.
    k
        Shorthand that adds the model ``k``.

    Examples
    --------
    >>> Microaggregation(k=5).parameters()
    {'name': 'microaggregation', 'suppression_limit': 0.0, 'method': 'mdav'}
    """

    name: ClassVar[str] = "microaggregation"
    kind: ClassVar[Kind] = MICROAGGREGATED
    shorthand: ClassVar[tuple[str, ...]] = ("k",)
    method: str = "mdav"
    k: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        choice("Microaggregation", "method", self.method, ("mdav", "univariate"))
        if self.k is not None:
            object.__setattr__(self, "k", whole("Microaggregation", "k", self.k, least=2))

    def models(self) -> list[Model]:
        """The model that ``k`` stands for."""
        return [] if self.k is None else [load("model", "k")(k=self.k)]

    @property
    def in_parts(self) -> bool:
        """Groups of one part are good for the whole."""
        return True

    @property
    def part_rows(self) -> int | None:
        """Where parts are cut, no more than MDAV goes through in seconds."""
        return _PART if self.method == "mdav" else None

    def refuse(self, reference: Reference) -> None:
        """Refuse people with several rows, and cells that have no mean."""
        refuse_repeated_people(reference.domain, "Microaggregation")
        refuse_missing("Microaggregation", reference.domain.quasi)

    def run(self, problem: Problem) -> Averaged:
        """Group the records and compute what each group publishes."""
        table, k = problem.table, problem.judge.k
        if k < 2:
            raise ParameterError("Microaggregation needs to know k: add the model 'k' with a k of at least 2.")
        if table.n < k:
            raise InfeasibleError(f"k = {k} cannot be met: the table has only {table.n} rows; lower k.")
        refuse_repeated_people(problem.domain, "Microaggregation")
        numbers = {column.name: numbers_of(column) for column in table.quasi if is_number(column)}
        refuse_missing("Microaggregation", table.quasi)
        problem.progress("grouping alike records")
        order = problem.shuffled
        if self.method == "univariate":
            found = _along_one_column(table, numbers, order, k)
        else:
            found = mdav(records_of(table, numbers, order), k)
        ids = np.empty(table.n, dtype=np.int32)
        ids[order] = found
        sizes = np.bincount(ids)
        columns = {
            column.name: _centroids(column, table.codes[column.name], numbers.get(column.name), ids, sizes)
            for column in table.quasi
        }
        lost = _sse_share(table, numbers, {name: columns[name].gather(ids) for name in numbers})
        notes = {
            "method": self.method, "groups": sizes.size, "cells_are_representatives": True, "sse_share": lost,
        }  # fmt: skip
        return Averaged(columns=columns, ids=ids, notes=notes)


def _along_one_column(table: Table, numbers: dict[str, np.ndarray], order: np.ndarray, k: int) -> np.ndarray:
    columns = table.schema.quasi
    if len(columns) != 1 or len(numbers) != 1:
        raise ParameterError(
            f"The method 'univariate' needs a single quasi-identifier, of numbers or dates, and got {len(columns)}, "
            f"{len(numbers)} of them numbers: columns grouped one by one are not k-anonymous together; use 'mdav'."
        )
    values = numbers[columns[0]][table.codes[columns[0]][order]]
    ascending = np.argsort(values, kind="stable")
    found = np.empty(values.size, dtype=np.int32)
    found[ascending] = shortest_path(values[ascending] - values[ascending[0]], k)
    return found


def _centroids(
    column: Column, values: np.ndarray, numbers: np.ndarray | None, ids: np.ndarray, sizes: np.ndarray
) -> pl.Series:
    """What is published of one column, an entry a group."""
    if numbers is not None:
        means = np.bincount(ids, weights=numbers[values]) / sizes
        if column.type == "date":
            days = np.floor(means + 0.5).astype(np.int32)
            return pl.Series(column.name, days).cast(pl.Date)
        return pl.Series(column.name, means)
    codes = _medians(values, ids, sizes) if is_ordered(column) else _modes(values, column.card, ids)
    texts = column.texts.gather(codes).alias(column.name)
    return texts if column.missing < 0 else texts.set(pl.Series(codes == column.missing), None)


def _sse_share(table: Table, numbers: dict[str, np.ndarray], published: dict[str, pl.Series]) -> float | None:
    """SSE / SST over numbers and dates, each standardised: the share of their variance that publishing centroids loses.

    A column of one value has no variance and is left out; None where that leaves no column.
    """
    shares = []
    for name, mine in numbers.items():
        cells = published[name].to_physical().to_numpy().astype(np.float64)
        # Differences to one of the values: squares of large numbers would lose their digits.
        origin = mine[0]
        true, made = mine[table.codes[name]] - origin, cells - origin
        total = float(((true - true.mean()) ** 2).sum())
        if total > 0:
            shares.append(float(((true - made) ** 2).sum()) / total)
    return float(np.mean(shares)) if shares else None


def _medians(values: np.ndarray, ids: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Lower median of every group."""
    ordered = values[np.lexsort((values, ids))]
    return ordered[np.cumsum(sizes) - sizes + (sizes - 1) // 2]


def _modes(values: np.ndarray, card: int, ids: np.ndarray) -> np.ndarray:
    """Commonest code of every group, the first among equals."""
    pairs, counts = np.unique(ids.astype(np.int64) * card + values, return_counts=True)
    groups, codes = np.divmod(pairs, card)
    best = np.lexsort((codes, -counts, groups))
    first = np.flatnonzero(np.diff(groups[best], prepend=-1))
    return codes[best[first]]


# ----------------------------------------
# Condensation: groups are kept by their moments alone, and records made up anew from these (Aggarwal & Yu 2004).


# Eigenvalues below this share of the largest are rounding errors.
_NOTHING = 1e-12
# Enough to find a number to its last digit.
_HALVINGS = 64


@dataclass(frozen=True, kw_only=True)
class Condensation(Perturbing):
    """Group alike records, and draw as many new ones from each group's means and covariances as it has.

    Numbers and dates are drawn uniformly along the eigenvectors of their group's correlations, with its variances, and
    moved so that the group keeps its means; they stay within the column's range, whole where the column is. Other
    columns are shuffled within their groups. Sensitive values stay with their records.

    Parameters
    ----------
    size
        Fewest records of a group, the paper's k; groups have up to twice as many less one.

    Examples
    --------
    >>> Condensation(size=20).parameters()
    {'name': 'condensation', 'suppression_limit': 0.0, 'size': 20}
    """

    name: ClassVar[str] = "condensation"
    size: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("Condensation", "size", self.size, least=2)

    def run(self, problem: Problem) -> Perturbed:
        """Group, condense and make records anew; every draw belongs to a place in the keyed order."""
        self.refuse_models(problem)
        table = problem.table
        if table.n < self.size:
            raise InfeasibleError(f"Groups of {self.size} cannot be made of {table.n} rows: lower 'size'.")
        refuse_repeated_people(problem.domain, "Condensation")
        refuse_missing("Condensation", [column for column in table.quasi if is_number(column)])
        numbers = {column.name: numbers_of(column) for column in table.quasi if is_number(column)}
        order = problem.shuffled
        problem.progress("grouping alike records")
        groups = mdav(records_of(table, numbers, order), self.size)
        problem.progress("making records anew")
        made = self._anew(problem, numbers, groups, order)
        sizes = np.bincount(groups)
        notes = {"groups": sizes.size, "smallest": int(sizes.min()), "largest": int(sizes.max())}
        columns = {name: series for name, (series, _) in made.items()}
        places = {name: spots for name, (_, spots) in made.items()}
        true = {column.name: places_of(column, table.codes[column.name]) for column in table.quasi}
        return Perturbed(columns=columns, places=places, true=true, perturbation="condensed", notes=notes)

    def _anew(
        self, problem: Problem, numbers: dict[str, np.ndarray], groups: np.ndarray, order: np.ndarray
    ) -> dict[str, tuple[pl.Series, np.ndarray]]:
        """What is published of every column, and where it lies, one entry an input row."""
        table, random = problem.table, problem.keys.generator("condense")
        by_group = np.argsort(groups, kind="stable")
        starts = np.flatnonzero(np.diff(groups[by_group], prepend=-1))
        rows = order[by_group]
        points = np.stack([mine[table.codes[name][rows]] for name, mine in numbers.items()]) if numbers else None
        drawn = {} if points is None else dict(zip(numbers, regenerated(points, starts, random), strict=True))
        found: dict[str, Any] = {}
        for column in table.quasi:
            spots = np.empty(table.n)
            if column.name in drawn:
                spots[rows] = drawn[column.name]
                found[column.name] = published(column, numbers[column.name], spots)
                continue
            codes = np.empty(table.n, dtype=np.int32)
            # A shuffle within each group: its rows in the order of random numbers.
            shuffled = np.lexsort((random.random(table.n), groups[by_group]))
            codes[rows] = table.codes[column.name][rows[shuffled]]
            found[column.name] = values_of(table, column, codes), codes.astype(np.float64)
        return found


def regenerated(points: np.ndarray, starts: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """New points, shape (d, n): each run from a start on keeps its means and, in expectation, its covariances.

    None leaves the range of all points; a run that would has its covariances only as far as that lets it.
    """
    found = np.empty_like(points)
    low, high = points.min(axis=1), points.max(axis=1)
    for first, stop in zip(starts.tolist(), [*starts[1:].tolist(), points.shape[1]], strict=True):
        mine = points[:, first:stop]
        means = mine.mean(axis=1, keepdims=True)
        # In units of the column's deviation: beside millions, the variance of a share would pass for a rounding error.
        unit = np.maximum(mine.std(axis=1, ddof=1, keepdims=True), np.finfo(np.float64).tiny)
        spread, axes = np.linalg.eigh(np.atleast_2d(np.cov((mine - means) / unit)))
        spread = np.where(spread > _NOTHING * max(float(spread.max()), 0.0), spread, 0.0)
        # A uniform draw of this half width has that variance.
        drawn = (2.0 * random.random(mine.shape) - 1.0) * np.sqrt(3.0 * spread)[:, None]
        made = means + unit * (axes @ (drawn - drawn.mean(axis=1, keepdims=True)))
        for place in np.flatnonzero((made.min(axis=1) < low) | (made.max(axis=1) > high)).tolist():
            made[place] = _within(made[place], float(means[place, 0]), float(low[place]), float(high[place]))
        found[:, first:stop] = made
    return found


def _within(made: np.ndarray, mean: float, low: float, high: float) -> np.ndarray:
    """Numbers cut off at both ends, after a shift that gives them their mean back: cutting off alone moves it."""
    least, most = low - float(made.max()), high - float(made.min())
    for _ in range(_HALVINGS):
        shift = (least + most) / 2.0
        if np.clip(made + shift, low, high).mean() < mean:
            least = shift
        else:
            most = shift
    return np.clip(made + most, low, high)
