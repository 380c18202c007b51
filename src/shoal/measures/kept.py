"""Which rules a release keeps, and which of its cells break the others."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.data.column import Column
from shoal.measures.constraints import Constraint
from shoal.measures.published import Labels, Side, meet, reach
from shoal.recoding.cells import CellColumn, IntervalCells, SetCells, TreeCells


def breaking_cells(rule: Constraint, cells: CellColumn) -> list[str]:
    """Different published cells that reach into both sides of a rule, in the order of the column."""
    labels = Labels(cells.column)
    if isinstance(cells, TreeCells):
        tree = cells.column.hierarchy
        assert tree is not None
        broken = np.concatenate(rule.breaking(labels))
        found = np.unique(cells.nodes[broken[cells.nodes]])
        return list(dict.fromkeys(tree.node_labels[node] for node in found.tolist()))
    sides = rule.sides(labels)
    _, first = np.unique(cells.keys, return_index=True)
    few = cells.take(first)
    texts = few.texts().to_list()
    return [texts[at] for at in range(len(texts)) if all(_touches(few, at, side, texts[at], labels) for side in sides)]


def _touches(cells: CellColumn, at: int, side: Side, text: str, labels: Labels) -> bool:
    """Whether one cell of a column without a hierarchy reaches into a side, by its published ends where it has some."""
    if isinstance(cells, IntervalCells) and labels.numbers and not (cells.star[at] or cells.missing[at]):
        mine = reach(cells.column.type, text, labels.whole)
        if mine is not None:
            return bool(labels.inside(mine)[side.codes].any()) or any(
                meet(mine, one, labels.whole) for one in side.stretches
            )
    return bool(_members(cells, at)[side.codes].any())


def _members(cells: CellColumn, at: int) -> np.ndarray:
    """Flags of the codes that a cell covers."""
    column: Column = cells.column
    flags = np.zeros(column.card, dtype=bool)
    if isinstance(cells, SetCells):
        flags[cells.members(at)] = True
        return flags
    assert isinstance(cells, IntervalCells)
    if cells.star[at]:
        return ~flags
    flags[cells.low[at] : cells.high[at] + 1] = True
    return flags


def rule_facts(rule: Constraint, cells: CellColumn, shown: int = 3) -> dict[str, Any]:
    """Whether a release keeps a rule, and some of the cells that break it."""
    broken = breaking_cells(rule, cells)
    return {
        **rule.parameters(), "keep": rule.keep, "text": rule.text, "kept": not broken, "breaking": len(broken),
        "such_as": broken[:shown],
    }  # fmt: skip
