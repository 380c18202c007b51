"""What each quasi-identifier adds to the risk: classes are counted again without it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np

from shoal.kernels.count.grouping import group_rows
from shoal.risk.report import Contribution
from shoal.table.classmap import Cells
from shoal.table.rows import Frequency, Rows


def contributions(
    rows: Rows, cells: Frequency, *, pairs: bool = False, progress: Callable[[str], None] = lambda step: None
) -> list[Contribution]:
    """One a quasi-identifier, and one a pair with ``pairs``; the largest drop of the mean risk first.

    The risk is the prosecutor's. One grouping of the cells each, and of the people where these are counted.
    """
    names = list(rows.domain.schema.quasi)
    left_out: list[tuple[str, ...]] = [(name,) for name in names]
    if pairs and len(names) > 2:
        left_out += list(combinations(names, 2))
    mean, unique = _figures(cells.sizes)
    found = []
    for number, out in enumerate(left_out, 1):
        progress(f"leaving quasi-identifiers out: {number:,} of {len(left_out):,}")
        without = _figures(_sizes(rows, cells, [place for place, name in enumerate(names) if name not in out]))
        found.append(
            Contribution(
                columns=out,
                mean=without[0],
                unique=without[1],
                mean_drop=mean - without[0],
                unique_drop=unique - without[1],
            )
        )
    return sorted(found, key=lambda one: (len(one.columns), -one.mean_drop))


def _sizes(rows: Rows, cells: Frequency, kept: list[int]) -> np.ndarray:
    """People of every class by some of the quasi-identifiers."""
    cards = np.array([rows.domain.quasi[place].card for place in kept], dtype=np.int64)
    if not kept:
        of = np.zeros(cells.rows.size, dtype=np.int32)
    else:
        of = group_rows(np.ascontiguousarray(cells.codes[kept]), cards)[0]
    groups = int(of.max(initial=-1)) + 1
    if rows.domain.by_people:  # who do not add up
        return rows.stats(Cells(of, groups), []).sizes
    total = np.zeros(groups, dtype=np.int64)
    np.add.at(total, of, cells.rows)
    return total


def _figures(sizes: np.ndarray) -> tuple[float, float]:
    """Mean risk and share of unique records."""
    n = sizes.sum()
    return float(sizes.size / n), float((sizes == 1).sum() / n)
