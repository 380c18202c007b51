"""The rule of what may be published: it follows from released rows, the recipe and public files only.

Values that only suppressed people have must not decide what is published about others. Here are types of columns, ends
of intervals, members of sets and labels of fractions; labels that a manifest may show of a hierarchy or of sensitive
ranges are in `verify/hierarchies.py`, which needs them in the re-check as well.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

import numpy as np
import polars as pl

from shoal.verify.cells import ENDS, Cells, Inputs
from shoal.verify.manifest_column import Column
from shoal.verify.manifest_schema import Claims
from shoal.verify.report import Check
from shoal.verify.terms.base import size_asked

_CLOSE = 1e-9
# Spelt so, a number is one to everybody; a leading zero is lost by a number, so that texts with one are none.
_NUMBER = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?$"
# An interval that leaves its upper end out is one of fractions.
_OPEN = ")"


class Read(Protocol):
    """Values of the input, and of its rows that are not suppressed."""

    @property
    def inputs(self) -> Inputs: ...

    @property
    def left(self) -> Inputs: ...


def check_ends(
    claims: Claims,
    grids: Mapping[str, float | None],
    steps: Mapping[str, float],
    read: Read,
    cells: Mapping[str, Cells],
) -> Check:
    """Every end is on its column's grid, at the end of a declared domain, or the value of at least k released people.

    Where the recipe leaves ends as they are (``W-TIGHT``), it is the value of somebody who is released.
    """
    crowd = max([2, *(size_asked(model) for model in claims.models)])
    problems = []
    for column in claims.role("quasi"):
        name = column.name
        if column.cells not in ENDS or name not in cells or name not in read.inputs:
            continue
        if column.cells == "bounds" and not float(steps.get(name, 1)).is_integer():
            continue  # whole numbers are rounded inward from such a grid, to any of them
        enough = crowd if name in grids else 1
        common = read.left.numbers(name, enough)
        few = np.setdiff1d(read.inputs.numbers(name), common)
        count = _ends_among(column, cells[name], few, grids.get(name, steps.get(name)))
        if count:
            whose = f"fewer than {crowd} released people" if name in grids else "suppressed people alone"
            problems.append(f"{count:,} ends of intervals of '{name}' are values of {whose}")
    way = 'generalise these columns, or give them snap = "off" and acknowledge W-TIGHT'
    found = "; ".join(problems)
    detail = f"{found}: {way}." if found else "No end of an interval is a value that only few people have."
    return Check(name="ends", passed=not problems, detail=detail)


def check_members(claims: Claims, left: Inputs, cells: Mapping[str, Cells]) -> Check:
    """Every member of a set is the value of somebody who is released, or of the declared order."""
    problems = []
    for column in claims.role("quasi"):
        if column.cells == "set" and column.order is None and column.name in cells and column.name in left:
            members = cells[column.name].members["text"].unique()
            count = int((~members.is_in(left.texts(column.name).drop_nulls().implode())).sum())
            if count:
                problems.append(f"{count:,} members of sets of '{column.name}' are values of nobody who is released")
    found = "; ".join(problems)
    detail = f"{found}." if found else "Members of sets are values of released rows."
    return Check(name="members", passed=not problems, detail=detail)


def check_types(claims: Claims, inferred: Collection[str], left: Inputs) -> Check:
    """The type of a column, and whether its labels are those of fractions, follow from released values."""
    problems = []
    for column in claims.columns:
        if column.name not in left:
            continue
        texts = left.texts(column.name).drop_nulls()
        if column.name in inferred and column.type == "categorical" and len(texts) and _is_more_than_text(texts):
            problems.append(f"the type of '{column.name}' is not that of its released values")
        if _open_labels(column) and left.whole(column.name) and not _fractions(column):
            problems.append(f"labels of '{column.name}' are those of fractions, and no released value is one")
    found = "; ".join(problems)
    detail = f"What suppressed rows decide is published: {found}." if found else "Types follow from released rows."
    return Check(name="types", passed=not problems, detail=detail)


def _is_more_than_text(texts: pl.Series) -> bool:
    """Whether all of some texts are numbers, or all are dates."""
    return bool(texts.str.contains(_NUMBER).all()) or texts.str.to_date("%Y-%m-%d", strict=False).null_count() == 0


def _ends_among(column: Column, cells: Cells, few: np.ndarray, width: float | None) -> int:
    """How many ends are among some numbers, and neither on a grid nor at the end of a declared domain."""
    ends = np.unique(np.concatenate([cells.low, cells.high]))
    ends = ends[np.isin(ends, few)]  # which the nan of a cell without ends is not
    if width is not None:
        steps = ends / width
        ends = ends[np.abs(steps - np.round(steps)) > _CLOSE * np.maximum(1.0, np.abs(steps))]
    return int((~np.isin(ends, column.domain or ())).sum())


def _open_labels(column: Column) -> bool:
    """Whether labels that a builder made of numbers leave their upper ends out."""
    if column.builder is None or column.type != "numeric":
        return False
    return any(label is not None and label.endswith(_OPEN) for row in column.hierarchy or () for label in row[1:])


def _fractions(column: Column) -> bool:
    """Whether a builder's own parameters are no whole numbers."""
    told = {} if column.builder is None else column.builder.model_dump(exclude_unset=True)
    return any(number != int(number) for number in _numbers(told))


def _numbers(value: object) -> list[float]:
    """All numbers in nested plain data, those that are written as texts too."""
    if isinstance(value, Mapping):
        return [number for entry in value.values() for number in _numbers(entry)]
    if isinstance(value, list | tuple):
        return [number for entry in value for number in _numbers(entry)]
    try:
        return [float(value)]  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return []
