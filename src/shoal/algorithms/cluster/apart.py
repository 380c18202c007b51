"""Rows by the sides of rules that they are on: clusters within such regions mix no two sides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shoal.algorithms.base import Problem
from shoal.data.table import Table


def regions(problem: Problem, rules: Sequence[Any]) -> np.ndarray | None:
    """Region of every row (-1: of none, as too few are on the same sides); None where there is just one.

    Whoever is on no side of a rule may be with either. Regions of fewer than k join the largest that they may.
    """
    k = problem.judge.k
    kinds, region = np.unique(_signs(problem.table, rules), axis=0, return_inverse=True)
    region = region.ravel()
    sizes = np.bincount(region)
    names = np.arange(sizes.size)
    for small in np.argsort(sizes, kind="stable").tolist():
        if not 0 < sizes[small] < k:
            continue
        fits = ~((kinds > 0) & (kinds[small] > 0) & (kinds != kinds[small])).any(axis=1) & (sizes > 0)
        fits[small] = False
        if fits.any():
            into = int(np.where(fits, sizes, -1).argmax())
            kinds[into] = np.maximum(kinds[into], kinds[small])
            sizes[into] += sizes[small]
            names[names == small] = into
            sizes[small] = 0
    found = np.where(sizes[names[region]] >= k, names[region], -1)
    return found if np.unique(found[found >= 0]).size > 1 else None


def _signs(table: Table, rules: Sequence[Any]) -> np.ndarray:
    """By row and rule the side that the row is on, 0 for none."""
    columns = [table.columns[rule.column] for rule in rules]
    return np.stack(
        [rule.signs(column)[table.codes[column.name]] for rule, column in zip(rules, columns, strict=True)], axis=1
    )
