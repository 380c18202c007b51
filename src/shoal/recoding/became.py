"""What became of each quasi-identifier: how many records still have their own value in it, and how many nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.data.column import TREE
from shoal.data.hierarchy import ROOT
from shoal.recoding.applied import Released
from shoal.recoding.recodings import Subtree

_EVERYTHING = 1 - 1e-12


@dataclass(frozen=True, kw_only=True)
class Became:
    """One quasi-identifier in a release.

    Attributes
    ----------
    level, height
        Its level where the whole column has one, and the highest that it could have.
    exact, coarser, everything
        Released records whose cell is one value, some of the values, or all of them.
    cells
        Different cells.
    width
        Mean width of the cells: 0 for one value, 1 for everything.
    """

    column: str
    level: int | None
    height: int
    exact: int
    coarser: int
    everything: int
    cells: int
    width: float


def what_became(released: Released) -> list[Became]:
    """One entry a quasi-identifier that was generalised, in schema order. Cost: one pass over the classes a column."""
    sizes = released.sizes.astype(np.int64)
    total = max(int(sizes.sum()), 1)
    found = []
    for name, cells in released.cells.items():
        spread = cells.spread()
        exact = int(sizes[spread <= 0].sum())
        everything = int(sizes[spread >= _EVERYTHING].sum())
        found.append(
            Became(
                column=name, level=None if released.levels is None else int(released.levels[name]), height=cells.height,
                exact=exact, everything=everything, coarser=int(sizes.sum()) - exact - everything,
                cells=int(np.unique(cells.keys).size), width=float(spread @ sizes) / total,
            )  # fmt: skip
        )
    return found


def chosen(released: Released) -> dict[str, Any]:
    """What a search decided on: a level a column where there is one, or a cut; else how many groups it made."""
    recoding = released.recoding
    cuts = {"cuts": _cuts(released, recoding)} if isinstance(recoding, Subtree) and not recoding.lifted else {}
    return cuts | {
        "levels": None if released.levels is None else {name: int(level) for name, level in released.levels.items()},
        "clusters": released.groups,
        "columns": what_became(released) if released.made.generalises else [],
    }


def _cuts(released: Released, recoding: Subtree) -> dict[str, list[str]]:
    """Labels in use by column, of those that are not published as they are."""
    found = {}
    for column in released.rows.domain.quasi:
        nodes = np.unique(recoding.nodes[column.name])
        if column.kind == TREE and column.hierarchy is not None:
            if column.hierarchy.node_level[nodes].any():
                found[column.name] = sorted(column.hierarchy.node_labels[node] for node in nodes.tolist())
        elif int(nodes[-1]) == column.card:
            found[column.name] = [ROOT]
    return found
