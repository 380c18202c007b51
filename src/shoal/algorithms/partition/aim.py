"""The column that cuts are to serve, as the kernels take it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shoal.algorithms.links.numbers import is_number, numbers_of
from shoal.data.column import Column
from shoal.data.domain import Domain
from shoal.data.rows import Frequency
from shoal.data.stats import Attribute, counted_by_rows
from shoal.data.table import Table
from shoal.errors import ParameterError
from shoal.kernels.mondrian import Aim
from shoal.params import nearest

AIMS = ("info-gain", "lsd")
# Squares of numbers are summed in 64 bits.
_BITS = 61


@dataclass(frozen=True, eq=False)
class Target:
    """What cuts serve: a column counted by rows, and where they go by its numbers, a whole number a code.

    ``unit`` is what the square of one is of the column's variance.
    """

    attribute: Attribute
    numbers: np.ndarray
    unit: float = 1.0

    def of_rows(self, table: Table) -> Aim:
        """As kernels take it that cut rows."""
        labels = table.values(self.attribute).astype(np.int32)
        return Aim(labels, self.attribute.card, self.numbers, self.unit, None, None)

    def of_cells(self, frequency: Frequency) -> Aim:
        """As kernels take it that cut cells."""
        found = frequency.histograms[self.attribute.key]
        labels, counts = found.codes.astype(np.int32), found.counts.astype(np.int64)
        return Aim(labels, self.attribute.card, self.numbers, self.unit, found.indptr, counts)


def target_of(domain: Domain, cut: str, name: str | None) -> Target | None:
    """The named target, the first sensitive attribute when none is named; None for cuts that serve none."""
    if cut not in AIMS:
        return None
    column = domain.columns[_named(domain, name)]
    if cut == "info-gain":
        return Target(counted_by_rows(column), np.empty(0, dtype=np.int64))
    if not is_number(column):
        raise ParameterError(f"The cut 'lsd' is for numbers, and '{column.name}' has none: cut by 'info-gain' instead.")
    return Target(counted_by_rows(column), *_numbers(column))


def _numbers(column: Column) -> tuple[np.ndarray, float]:
    """Numbers of a column's codes about their mean, as whole ones, and what the square of one is of their variance.

    They are as fine as 64 bits allow, and exact where they are whole already and not too large, so that sums do not
    depend on what is added first. A missing number deviates from no mean, as far as that can be said: it stands at the
    column's.
    """
    values = numbers_of(column) if column.numbers is None else column.positions[: column.numbers.size]
    rows, places = column.frequencies[: values.size], values - values.min(initial=np.inf)
    n = max(int(rows.sum()), 1)
    away = places - float(rows @ places) / n
    squares = float(rows @ (away * away))
    if squares <= 0.0:
        return np.zeros(column.card, dtype=np.int64), 1.0
    fine = 2.0 ** min((_BITS - math.frexp(squares)[1]) // 2, 30)
    whole = np.where(rows > 0, np.rint(places * fine) - np.rint(float(rows @ places) / n * fine), 0.0)
    numbers = np.zeros(column.card, dtype=np.int64)
    numbers[: values.size] = whole.astype(np.int64)
    return numbers, n / squares / fine**2


def _named(domain: Domain, target: str | None) -> str:
    known = [*domain.schema.sensitive, *domain.schema.quasi]
    if target is None and domain.schema.sensitive:
        return str(domain.schema.sensitive[0])
    if target is None:
        raise ParameterError("Cuts for a target need one: name a sensitive column or a quasi-identifier as 'target'.")
    if target not in known:
        near = nearest(target, known)
        hint = f"Did you mean '{near}'?" if near else f"There are: {', '.join(known)}."
        raise ParameterError(f"The target '{target}' is no sensitive column and no quasi-identifier. {hint}")
    return target
