"""Condensation: groups are kept by their moments alone, and records made up anew from these (Aggarwal & Yu 2004)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from shoal.algorithms.base import Problem
from shoal.algorithms.links.numbers import is_number, numbers_of, published, records_of, refuse_missing
from shoal.algorithms.links.people import refuse_repeated_people
from shoal.algorithms.links.swapping import Perturbing, places_of
from shoal.errors import InfeasibleError
from shoal.kernels.microaggregation import mdav
from shoal.params import whole
from shoal.recoding.exact import values_of
from shoal.recoding.recodings import Perturbed

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
