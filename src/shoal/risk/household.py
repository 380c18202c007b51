"""Household risk: somebody of a household is found, which gives the others away.

1 - product of (1 - r_i) over its members (Franconi & Polettini 2004), members found independently of each other.
"""

from __future__ import annotations

import math

import numpy as np

from shoal.data.coding import code_texts
from shoal.data.table import Table
from shoal.errors import InputError, SchemaError
from shoal.params import nearest
from shoal.results import Risk
from shoal.risk.reidentify import counted, estimated


def household_figures(
    table: Table, household: str, ids: np.ndarray, risk: np.ndarray, variance: np.ndarray | None
) -> tuple[dict[str, Risk], np.ndarray]:
    """Figures over households, and the household's risk of every row.

    Parameters
    ----------
    ids
        Class of every row.
    risk, variance
        Risk of each class's records, and its variance where it is an estimate.
    """
    homes, count = _homes(table, household)
    rows = _members(table, homes, risk[ids])
    mine, home = risk[ids[rows]], homes[rows]
    with np.errstate(divide="ignore"):
        logs = np.bincount(home, weights=np.log1p(-mine), minlength=count)
    found = -np.expm1(logs)
    expected = float(found.sum())
    spread = 0.0 if variance is None else _spread(ids[rows], home, logs, mine, variance)
    worst = float(found.max())
    texts = (
        f"The household at most risk has somebody found with a probability of {worst:.0%}.",
        f"In an average household somebody is found with a probability of {expected / count:.1%}.",
        f"Of {count:,} households about {expected:,.1f} have somebody who would be found.",
    )
    figures = {
        "household-max": counted(worst, None, texts[0]),
        "household-mean": estimated(expected / count, spread / count, 1.0, None, texts[1]),
        "household-expected": estimated(expected, spread, float(count), None, texts[2]),
    }
    return figures, found[homes]


def _homes(table: Table, name: str) -> tuple[np.ndarray, int]:
    if name not in table.kept.columns:
        near = nearest(name, table.kept.columns)
        hint = f"Did you mean '{near}'?" if near else f"The columns are: {', '.join(table.kept.columns)}."
        raise SchemaError(f"There is no household column '{name}' in the table. {hint}")
    cells = table.series(name)
    if count := cells.null_count():
        raise InputError(
            f"The household column '{name}' has {count} missing cells: give whoever lives alone a number too."
        )
    codes, values = code_texts(name, cells, None)
    return codes, len(values)


def _members(table: Table, homes: np.ndarray, risk: np.ndarray) -> np.ndarray:
    """One row for each person of each household, the riskiest."""
    if table.subjects is None:
        return np.arange(table.n)
    order = np.lexsort((-risk, table.subjects, homes))
    new = np.ones(order.size, dtype=bool)
    new[1:] = (np.diff(homes[order]) != 0) | (np.diff(table.subjects[order]) != 0)
    return order[new]


def _spread(
    classes: np.ndarray, home: np.ndarray, logs: np.ndarray, mine: np.ndarray, variance: np.ndarray
) -> float:
    """Standard deviation of the expected number of households, by the delta method over the classes' 1/F."""
    # Whoever is found for certain has a risk without variance, so what the division gives does not matter there.
    others = np.exp(logs[home] - np.log1p(-np.minimum(mine, 1.0 - 1e-12)))
    slopes = np.bincount(classes, weights=others, minlength=variance.size)
    return math.sqrt(float((slopes**2 * variance).sum()))
