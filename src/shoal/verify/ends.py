"""Whether the ends of published intervals are anybody's own values."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from shoal.verify.cells import Cells
from shoal.verify.claims import Claims, Column
from shoal.verify.terms.base import size_asked
from shoal.verify.types import Check, GateCase
from shoal.verify.values import read_values

_CLOSE = 1e-9


def check_ends(case: GateCase, claims: Claims, cells: Mapping[str, Cells]) -> Check:
    """Every end is on its column's grid, at the end of a declared domain, or the value of at least k people.

    Only columns whose grid the gate was given are looked at: others are published as the recipe says, by ``W-TIGHT``.
    """
    crowd = max([2, *(size_asked(model) for model in claims.models)])
    problems = []
    for column in claims.role("quasi"):
        if column.name in case.grids and column.name in cells and column.cells in ("interval", "bounds"):
            rare = _rare_ends(case, column, cells[column.name], crowd)
            if rare:
                few = f"fewer than {crowd} people"
                problems.append(f"{rare:,} ends of intervals of '{column.name}' are values of {few}")
    way = 'generalise these columns, or give them snap = "off" and acknowledge W-TIGHT'
    found = "; ".join(problems)
    detail = f"{found}: {way}." if found else "No end of an interval is a value that only few people have."
    return Check(name="ends", passed=not problems, detail=detail)


def _rare_ends(case: GateCase, column: Column, cells: Cells, crowd: int) -> int:
    values = read_values(case.original[column.name], column.type)
    rows = pl.DataFrame({"value": values.codes, "who": np.arange(len(values.codes))})
    if case.subject is not None:
        rows = rows.with_columns(case.subject.alias("who"))
    people = rows.group_by("value").agg(pl.col("who").n_unique())
    few = people.filter(pl.col("who") < crowd)["value"].to_numpy()
    rare = values.numbers[few]
    ends = np.unique(np.concatenate([cells.low, cells.high]))
    ends = ends[np.isin(ends, rare)]  # which the nan of a cell without ends is not
    width = case.grids[column.name]
    if width is not None:
        steps = ends / width
        ends = ends[np.abs(steps - np.round(steps)) > _CLOSE * np.maximum(1.0, np.abs(steps))]
    return int((~np.isin(ends, column.domain or ())).sum())
