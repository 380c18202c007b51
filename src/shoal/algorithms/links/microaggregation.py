"""Microaggregation: groups of k alike records, each published as its centroid (Domingo-Ferrer & Mateo-Sanz 2002)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from shoal.algorithms.base import Algorithm, Problem
from shoal.algorithms.links.numbers import is_number, is_ordered, numbers_of, records_of, refuse_missing
from shoal.algorithms.links.people import refuse_repeated_people
from shoal.catalogue import load
from shoal.data.column import Column
from shoal.data.table import Table
from shoal.errors import InfeasibleError, ParameterError
from shoal.kernels.microaggregation import mdav, shortest_path
from shoal.models.base import Model, Reference
from shoal.params import choice, whole
from shoal.recoding.kinds import MICROAGGREGATED, Kind
from shoal.recoding.recodings import Averaged

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
