"""The column that cuts are to serve, as the kernels take it."""

from __future__ import annotations

import numpy as np

from shoal.algorithms.base import Problem
from shoal.algorithms.links.numbers import is_number, numbers_of
from shoal.errors import ParameterError
from shoal.kernels.partition.aims import Aim
from shoal.params import nearest
from shoal.table.table import Table

AIMS = ("info-gain", "lsd")
_NO_LABELS, _NO_NUMBERS = np.empty(0, dtype=np.int32), np.empty(0)


def aim_of(problem: Problem, cut: str, target: str | None) -> Aim | None:
    """Labels or numbers of the target, the first sensitive attribute when none is named; None for other cuts."""
    if cut not in AIMS:
        return None
    table = problem.table
    name = _named(table, target)
    column, codes = table.columns[name], table.codes[name]
    if cut == "info-gain":
        return Aim(codes.astype(np.int32), column.card, _NO_NUMBERS)
    if not is_number(column):
        raise ParameterError(f"The cut 'lsd' is for numbers, and '{name}' has none: cut by 'info-gain' instead.")
    values = numbers_of(column) if column.numbers is None else column.positions[: column.numbers.size]
    known = np.append(values, np.nan)[codes]
    known -= np.nanmean(known) if np.isfinite(known).any() else 0.0
    spread = np.sqrt(np.nanmean(known * known)) if np.isfinite(known).any() else 0.0
    # A missing number deviates from no mean, as far as that can be said: it stands at the column's.
    return Aim(_NO_LABELS, 0, np.nan_to_num(known / (spread or 1.0)))


def _named(table: Table, target: str | None) -> str:
    known = [*table.schema.sensitive, *table.schema.quasi]
    if target is None and table.schema.sensitive:
        return str(table.schema.sensitive[0])
    if target is None:
        raise ParameterError("Cuts for a target need one: name a sensitive column or a quasi-identifier as 'target'.")
    if target not in known:
        near = nearest(target, known)
        hint = f"Did you mean '{near}'?" if near else f"There are: {', '.join(known)}."
        raise ParameterError(f"The target '{target}' is no sensitive column and no quasi-identifier. {hint}")
    return target
