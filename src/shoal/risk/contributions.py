"""What each quasi-identifier adds to the risk: classes are counted again without it."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from shoal.risk.classes import Classes, group_table
from shoal.risk.report import Contribution
from shoal.table.table import Table


def contributions(table: Table, classes: Classes, *, pairs: bool = False) -> list[Contribution]:
    """One a quasi-identifier, and one a pair with ``pairs``; the largest drop of the mean risk first.

    The risk is the prosecutor's. One grouping of the rows each.
    """
    names = list(table.schema.quasi)
    left_out = [(name,) for name in names]
    if pairs and len(names) > 2:
        left_out += list(combinations(names, 2))  # type: ignore[arg-type]
    mean, unique = _figures(classes.sizes)
    found = []
    for out in left_out:
        sizes = group_table(table, [column for column in table.quasi if column.name not in out])[2]
        without = _figures(sizes)
        found.append(
            Contribution(
                columns=tuple(out),
                mean=without[0],
                unique=without[1],
                mean_drop=mean - without[0],
                unique_drop=unique - without[1],
            )
        )
    return sorted(found, key=lambda one: (len(one.columns), -one.mean_drop))


def _figures(sizes: np.ndarray) -> tuple[float, float]:
    """Mean risk and share of unique records."""
    n = sizes.sum()
    return float(sizes.size / n), float((sizes == 1).sum() / n)
