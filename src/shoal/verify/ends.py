"""Whether the ends of published intervals are anybody's own values."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from shoal.verify.cells import Cells
from shoal.verify.claims import Claims, Column
from shoal.verify.inputs import Inputs
from shoal.verify.terms.base import size_asked
from shoal.verify.types import Check

_CLOSE = 1e-9


def check_ends(
    claims: Claims, grids: Mapping[str, float | None], inputs: Inputs, cells: Mapping[str, Cells]
) -> Check:
    """Every end is on its column's grid, at the end of a declared domain, or the value of at least k people.

    Only columns whose grid the gate was given are looked at: others are published as the recipe says, by ``W-TIGHT``.
    """
    crowd = max([2, *(size_asked(model) for model in claims.models)])
    problems = []
    for column in claims.role("quasi"):
        if column.name in grids and column.name in cells and column.cells in ("interval", "bounds"):
            rare = _rare_ends(column, cells[column.name], inputs.rare(column.name, crowd), grids[column.name])
            if rare:
                few = f"fewer than {crowd} people"
                problems.append(f"{rare:,} ends of intervals of '{column.name}' are values of {few}")
    way = 'generalise these columns, or give them snap = "off" and acknowledge W-TIGHT'
    found = "; ".join(problems)
    detail = f"{found}: {way}." if found else "No end of an interval is a value that only few people have."
    return Check(name="ends", passed=not problems, detail=detail)


def _rare_ends(column: Column, cells: Cells, rare: np.ndarray, width: float | None) -> int:
    ends = np.unique(np.concatenate([cells.low, cells.high]))
    ends = ends[np.isin(ends, rare)]  # which the nan of a cell without ends is not
    if width is not None:
        steps = ends / width
        ends = ends[np.abs(steps - np.round(steps)) > _CLOSE * np.maximum(1.0, np.abs(steps))]
    return int((~np.isin(ends, column.domain or ())).sum())
