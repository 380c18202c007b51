"""Cells that hold several items, read and held against what they come from: the verifier's own reading.

A cell is its labels in order, each once, with the column's mark between two; ``<none>`` where there is none. A label is
an item, or a node above some in the manifest's hierarchy.
"""

from __future__ import annotations

import polars as pl

from shoal.verify.claims import Column
from shoal.verify.coded import Held
from shoal.verify.styles import value_texts
from shoal.verify.values import MISSING

NONE = "<none>"


def labels(cell: str | None, mark: str) -> list[str]:
    """The labels of a cell; none of a missing one."""
    return [] if cell is None or cell in (NONE, MISSING) else cell.split(mark)


def well_written(cell: str, mark: str) -> bool:
    """Whether a cell is the only one for its labels."""
    found = labels(cell, mark)
    return cell in (NONE, MISSING) or (found == sorted(set(found)) and "" not in found and NONE not in found)


def paths(column: Column) -> dict[str, set[str]]:
    """Every label, with itself and those above it; nothing of items that no hierarchy names."""
    found: dict[str, set[str]] = {}
    for row in column.hierarchy or ():
        told = [label for label in row if label is not None]
        for place, label in enumerate(told):
            found.setdefault(label, set()).update(told[place:])
    return found


def wrongly_generalised(column: Column, ours: Held, theirs: Held) -> int:
    """Rows with a label that covers none of their items, or with two labels that cover the same one.

    An item may be covered by none: then it is suppressed.
    """
    pairs = pl.DataFrame(
        {"cell": value_texts(ours, "categorical"), "source": value_texts(theirs, "categorical")}
    )
    above, wrong = paths(column), 0
    for cell, source, rows in pairs.group_by("cell", "source").len().iter_rows():
        wrong += 0 if _covers(cell, source, column.mark or "", above) else rows
    return int(wrong)


def _covers(cell: str, source: str, mark: str, above: dict[str, set[str]]) -> bool:
    if (cell == MISSING) != (source == MISSING):
        return False
    shown, used = set(labels(cell, mark)), set()
    for item in labels(source, mark):
        mine = shown & above.get(item, {item})
        if len(mine) > 1:
            return False
        used |= mine
    return used == shown
