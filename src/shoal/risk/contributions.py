"""What each quasi-identifier adds to the risk: classes are counted again without it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np

from shoal.data.classes import Cells
from shoal.data.rows import Frequency, Rows
from shoal.kernels.grouping import group_rows
from shoal.risk.report import Contribution


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
        without = _without(rows, cells, [place for place, name in enumerate(names) if name not in out])
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


def _without(rows: Rows, cells: Frequency, kept: list[int]) -> tuple[float, float]:
    """Mean risk and share of unique records by some of the quasi-identifiers."""
    cards = np.array([rows.domain.quasi[place].card for place in kept], dtype=np.int64)
    of, first, met = group_rows(np.ascontiguousarray(cells.codes[kept]), cards)
    if rows.domain.by_people:  # who do not add up
        return _figures(rows.stats(Cells(of, first.size), []).sizes)
    # Whoever is alone in a class is so in its only cell.
    n, alone = cells.rows.sum(), (met == 1) & (cells.rows[first] == 1)
    return float(first.size / n), float(alone.sum() / n)


def _figures(sizes: np.ndarray) -> tuple[float, float]:
    """Mean risk and share of unique records."""
    n = sizes.sum()
    return float(sizes.size / n), float((sizes == 1).sum() / n)
