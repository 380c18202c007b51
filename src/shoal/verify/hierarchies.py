"""Cells that hold several items, read and held against what they come from: the verifier's own reading.

A cell is its labels in order, each once, with the column's mark between two; ``<none>`` where there is none. A label is
an item, or a node above some in the manifest's hierarchy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from shoal.verify.coverage import value_texts
from shoal.verify.manifest_column import Column, lowest
from shoal.verify.manifest_schema import Claims
from shoal.verify.report import Check
from shoal.verify.values import MISSING, Held, canonical

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


# ----------------------------------------
# Whether the hierarchies of a manifest are parts of those behind the release, and show no more than stands in it.


# Ends the labels of groups without a released value, which no cell can have.
_UNRELEASED = "\0"


def shown_parts(public: Claims, hierarchies: Mapping[str, Sequence[Sequence[str]]]) -> list[str]:
    """Columns of whose hierarchy the manifest shows a part, so that their cells have to be known."""
    return [column.name for column in shown_columns(public) if column.name in hierarchies]


def check_hierarchies(
    public: Claims, hierarchies: Mapping[str, Sequence[Sequence[str]]], cells: Mapping[str, pl.Series]
) -> Check:
    """Every row that a manifest shows is the path of a label that stands in the release.

    Parameters
    ----------
    hierarchies
        Whole ones, by column.
    cells
        The different cells of columns of the release.
    """
    problems = []
    for column in public.columns:
        whole = hierarchies.get(column.name)
        if column.hierarchy is None or whole is None:
            continue
        if column.whole:
            if _written_down(column.hierarchy) != _written_down(whole):
                problems.append(f"the hierarchy of '{column.name}' is not the whole one")
            continue
        untrue = len(_strange(column.hierarchy, whole))
        untrue += sum(label is not None and _UNRELEASED in label for row in column.hierarchy for label in row)
        more = _unused(column, cells)
        if untrue:
            problems.append(f"{untrue:,} rows of the hierarchy of '{column.name}' are not in the one behind it")
        elif more:
            problems.append(f"{more:,} labels of '{column.name}' stand in the manifest and in no cell")
    fine = "The hierarchies of the manifest show what stands in the release."
    detail = f"What the manifest shows is too much or untrue: {'; '.join(problems)}." if problems else fine
    return Check(name="hierarchies", passed=not problems, detail=detail)


def check_labels(claims: Claims, cells: Mapping[str, pl.Series]) -> Check:
    """Every label of a hierarchy that is not whole stands in a cell, or is above one that does.

    Nothing else tells at a re-check that a label is one: a reader would believe any text there.
    """
    found = {column.name: _unused(column, cells) for column in shown_columns(claims)}
    problems = [
        f"{more:,} labels of '{name}' stand in the manifest and in no cell" for name, more in found.items() if more
    ]
    fine = "The hierarchies of the manifest show what stands in the release."
    detail = f"{'; '.join(problems)}." if problems else fine
    return Check(name="hierarchies", passed=not problems, detail=detail)


def shown_columns(claims: Claims) -> list[Column]:
    """List the columns whose hierarchy is not whole, so that only labels of the release may stand in it."""
    return [column for column in claims.columns if column.hierarchy is not None and not column.whole]


def _unused(column: Column, cells: Mapping[str, pl.Series]) -> int:
    """Count the rows of a hierarchy whose lowest label stands in no cell; the root is always there."""
    rows = column.hierarchy or ()
    standing = {*_standing(cells, column), *(row[-1] for row in rows[:1])}
    return sum(lowest(row) not in standing for row in rows)


def _written_down(rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """The rows that somebody wrote: that of missing cells is there only where some are released."""
    return [list(row) for row in rows if row[0] != MISSING]


def _strange(rows: Sequence[Sequence[Any]], whole: Sequence[Sequence[str]]) -> list[Sequence[Any]]:
    """Rows that are no path of the whole hierarchy."""
    depth = len(whole[0])
    paths: dict[tuple[int, str], Sequence[str]] = {}
    for path in whole:
        for level, label in enumerate(path):
            paths.setdefault((level, label), path)
    found = []
    for row in rows:
        label = lowest(row)
        level = list(row).index(label)
        whose = paths.get((level, label)) if len(row) == depth else None
        if whose is None or any(row[at] not in (None, whose[at]) for at in range(level, depth)):
            found.append(row)
    return found


def _standing(cells: Mapping[str, pl.Series], column: Column) -> set[str]:
    """Texts of a column's cells, a missing one as it is written."""
    if column.name not in cells:
        return set()
    texts = cells[column.name]
    if column.cells == "items":
        return {label for text in texts.cast(pl.String).to_list() for label in labels(text, column.mark or "")}
    if column.cells != "label":
        texts = canonical(texts, column.type)[0]
        return {*_written(column, texts), MISSING}
    return {*texts.cast(pl.String).drop_nulls().to_list(), MISSING}


def _written(column: Column, texts: pl.Series) -> list[str]:
    """Labels of the hierarchy that are these values, in whatever spelling it has them."""
    leaves = pl.Series([row[0] for row in column.hierarchy or ()], dtype=pl.String)
    same = canonical(leaves, column.type)[0]
    return leaves.filter(same.is_in(texts.drop_nulls().unique().to_list())).to_list()
