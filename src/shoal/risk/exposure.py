"""What stands beside the figures before and after: sizes of classes, curves of risk, and what each column adds.

All of it follows from sizes of classes, which any engine counts. What would take long is left out, and said to be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from shoal.data.classes import Cells, Grouped
from shoal.data.rows import Frequency, PeopledRows, Rows
from shoal.kernels.grouping import group_rows
from shoal.recoding.population_match import matching_people
from shoal.recoding.recoded import Released
from shoal.results import Risk
from shoal.risk.attackers import journalist_figures, risk_curve
from shoal.risk.classes import Classes, contributions, merged_classes

# Where each bar of a plot of class sizes begins.
BINS = (1, 2, 3, 4, 5, 6, 8, 11, 16, 21, 51, 101, 501, 1001)
# Cells times columns, and pairs of a class and a combination, beyond which somebody would wait.
_MOST = 30_000_000


def shape(sizes: np.ndarray) -> dict[str, Any]:
    """Classes and records by size of class, and the share of records at every risk; nothing of an empty release."""
    if not sizes.size:
        return {}
    place = np.searchsorted(BINS, sizes, side="right") - 1
    classes = np.bincount(place, minlength=len(BINS))
    records = np.bincount(place, weights=sizes, minlength=len(BINS))
    return {
        "records": int(sizes.sum()),
        "classes": int(sizes.size),
        "smallest": int(sizes.min()),
        "median": float(np.median(sizes)),
        "largest": int(sizes.max()),
        "sizes": [
            {"from": low, "to": high, "classes": int(count), "records": int(people)}
            for low, high, count, people in zip(
                BINS, [*(one - 1 for one in BINS[1:]), None], classes, records, strict=True
            )
        ],  # fmt: skip
        "curve": risk_curve(sizes, sizes, None),
    }


def by_column(released: Released, cells: Frequency | None) -> dict[str, Any]:
    """What leaving each quasi-identifier out would change: of the table as read, and as it is released.

    Parameters
    ----------
    cells
        The frequency table, None where memory does not hold it.
    """
    rows = released.rows
    width, n = len(rows.domain.quasi), rows.domain.n
    slow = rows.domain.by_people and n * width > _MOST
    before = None
    if cells is not None and cells.rows.size * width <= _MOST and not slow:
        before = {
            one.columns[0]: {"mean": one.mean_drop, "unique": one.unique_drop} for one in contributions(rows, cells)
        }
    after = None if slow else _released_drops(released)
    notes = [
        f"What each column adds to the risk {when} was not counted: it would take long, or there are no cells."
        for when, found in (("before", before), ("after", after))
        if found is None
    ]
    return {"before": before, "after": after, "notes": notes}


def _released_drops(released: Released) -> dict[str, Any] | None:
    """By how much mean risk and uniqueness of the released rows fall without each of their columns."""
    cells = released.cells
    if not cells or not released.n_classes or released.changed & set(cells):
        return None
    keys = {name: np.unique(one.keys, return_inverse=True)[1].astype(np.int32) for name, one in cells.items()}
    sizes = released.rows.stats(released.classmap, []).sizes
    whole = _figures(sizes)
    found = {}
    for out in keys:
        kept = [mine for name, mine in keys.items() if name != out]
        without = _figures(_merged(released, sizes, kept))
        found[out] = {"mean": whole[0] - without[0], "unique": whole[1] - without[1]}
    return found


def _merged(released: Released, sizes: np.ndarray, kept: Sequence[np.ndarray]) -> np.ndarray:
    """Sizes of the classes by some of their columns."""
    if not kept:
        of = np.zeros(sizes.size, dtype=np.int32)
    else:
        of = group_rows(np.stack(kept), np.array([one.max(initial=0) + 1 for one in kept]))[0].astype(np.int32)
    groups = int(of.max(initial=-1)) + 1
    if released.domain.by_people:  # who do not add up
        return released.rows.stats(merged_classes(released, of, groups), []).sizes
    return np.bincount(of, weights=sizes, minlength=groups).astype(np.int64)


def _figures(sizes: np.ndarray) -> tuple[float, float]:
    n = max(int(sizes.sum()), 1)
    return sizes.size / n, float((sizes == 1).sum() / n)


def journalist(released: Released, cells: Frequency | None, threshold: float) -> dict[str, Mapping[str, Risk]]:
    """Figures of whoever picks somebody of the population, before and after; none where nothing is known of it."""
    domain, rows = released.domain, released.rows
    if domain.population is None and (domain.schema.weight is None or domain.by_people):
        return {}
    found: dict[str, Mapping[str, Risk]] = {}
    if cells is not None:
        mine = Cells(np.arange(cells.rows.size, dtype=np.int32), cells.rows.size)
        found["before"] = _against(rows, mine, cells.sizes, lambda: _people_of_cells(released, cells), threshold)
    if released.cells and released.n_classes and not released.changed & set(released.cells):
        sizes = rows.stats(released.classmap, []).sizes
        found["after"] = _against(rows, released.classmap, sizes, lambda: _people_of_classes(released), threshold)
    return {when: figures for when, figures in found.items() if figures}


def _against(
    rows: Rows, classes: Grouped, sizes: np.ndarray, people: Callable[[], np.ndarray | None], threshold: float
) -> dict[str, Risk]:
    population = rows.domain.population
    if population is not None:
        there = people()
        if there is None or (there < sizes).any():
            return {}
        return journalist_figures(Classes(sizes=sizes, population=there, everybody=population.people), threshold)
    if not isinstance(rows, PeopledRows):
        return {}
    total = _weights(rows, classes, sizes.size)
    if not np.isfinite(total).all() or (total < sizes).any():
        return {}
    return journalist_figures(Classes(sizes=sizes, shares=sizes / total), threshold)


def _weights(rows: PeopledRows, classes: Grouped, groups: int) -> np.ndarray:
    """Sum of the survey weights of every class where rows are people, not a number where one of them is none."""
    name, total = rows.domain.schema.weight or "", np.zeros(groups)
    for batch in rows.listed(classes, [name]):
        weights = batch.cells[name].cast(pl.Float64, strict=False).fill_null(np.nan)
        np.add.at(total, batch.classes, weights.to_numpy())  # row by row, so that batches make no difference
    return total


def _people_of_classes(released: Released) -> np.ndarray | None:
    population = released.domain.population
    if population is None or released.n_classes * population.counts.size > _MOST:
        return None
    return matching_people(list(released.cells.values()), released.n_classes, population)


def _people_of_cells(released: Released, cells: Frequency) -> np.ndarray:
    """People of the population who have the very values of each combination."""
    population, quasi = released.domain.population, released.domain.quasi
    assert population is not None
    theirs = np.stack([population.codes[column.name] for column in quasi])
    known = (theirs >= 0).all(axis=0)
    both = np.concatenate([cells.codes, theirs[:, known].astype(cells.codes.dtype)], axis=1)
    ids, _, _ = group_rows(np.ascontiguousarray(both), np.array([column.card for column in quasi]))
    counts = np.bincount(ids[cells.rows.size :], weights=population.counts[known], minlength=int(ids.max()) + 1)
    return counts[ids[: cells.rows.size]].astype(np.int64)
