"""What was done to each column: the variable table, and how columns of the release are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.recoding.kinds import CODINGS, made_of
from shoal.reports.dossier.facts import Facts, count, share
from shoal.reports.dossier.model import Items, Plot, Section, Stacks, Table, Text
from shoal.reports.release import cell_words
from shoal.reports.use import use_of_cells

_GONE = {
    "identifiers": ("direct identifier", "removed"),
    "drop": ("not wanted", "removed"),
    "weight": ("survey weight", "not released; used for population risk"),
    "key": ("key of rows", "not released"),
    "guard": ("guard", "not released"),
    "subject": ("whose row it is", "not released; people are counted by it"),
}
_CLASSES = {
    "quasi": "indirect identifier",
    "sensitive": "sensitive",
    "neutral": "neutral",
    "pseudonym": "direct identifier",
}


def variables(facts: Facts) -> Section:
    """Direct and indirect identifiers, technique, and how much each column tells before and after."""
    found, rows = facts.evidence.get("columns", {}), []
    released = {column["name"]: column for column in facts.manifest["columns"]}
    for role, (kind, technique) in _GONE.items():
        told = [*released, *(facts.roles("identifiers") if role == "key" else ())]  # a key may be one of these, too
        rows += [(name, kind, technique, "–", "–") for name in facts.roles(role) if name not in told]
    critical = facts.review.get("critical", ())
    for name, column in released.items():
        mine = found.get(name, {})
        after = "–" if mine.get("cells") is None else count(mine["cells"])
        called = f"{name} (critical)" if name in critical else name
        rows.append(
            (called, _CLASSES[column["role"]], _technique(column, facts), _values(mine), after)
        )
    headings = ("variable", "class", "technique", ">values before", ">cells after")
    blocks: list[Text | Table | Plot] = [Table(headings=headings, rows=rows)]
    levels = _levels(found)
    if levels is not None:
        blocks.append(levels)
    return Section(key="variables", title="Variables and techniques", blocks=blocks)


def columns(facts: Facts) -> Section:
    """How to read the columns of the release, and how to use its cells."""
    manifest = facts.manifest
    rows = [
        (", ".join(column.get("columns", [column["name"]])), _CLASSES[column["role"]], cell_words(column, manifest))
        for column in manifest["columns"]
    ]
    return Section(
        key="columns",
        title="How to read and use the cells",
        blocks=[
            Table(headings=("column", "class", "cells"), rows=rows),
            Text(text="A cell * covers everything; <missing> is a missing value."),
            Items(items=use_of_cells(facts.manifest)),
        ],
    )


def _technique(column: Mapping[str, Any], facts: Facts) -> str:
    if "coded" in column:
        return f"coded ({CODINGS[column['coded']].name})"
    if column["role"] in ("sensitive", "neutral"):
        if column["cells"] == "items":
            return "items generalised or suppressed, class by class"
        return "as collected" if column["cells"] == "value" else "generalised by a hierarchy"
    made = made_of(facts.manifest)
    if not made.generalises:
        return str(made)
    how = {"interval": "intervals", "label": "labels of a hierarchy", "set": "sets of values", "bounds": "bounds"}
    words = f"generalised to {how.get(column['cells'], 'one value for a class')}"
    exact = facts.evidence.get("columns", {}).get(column["name"], {}).get("exact")
    return words if exact is None else f"{words}; exact in {share(exact, 1)} of the rows"


def _values(mine: Mapping[str, Any]) -> str:
    return "–" if mine.get("values") is None else count(mine["values"])


def _levels(found: Mapping[str, Any]) -> Plot | None:
    """Share of the released rows at each level of generalisation."""
    mine = {name: one["levels"] for name, one in found.items() if one.get("levels")}
    if not mine:
        return None
    highest = max(int(level) for levels in mine.values() for level in levels)
    series = {
        ("exact" if level == 0 else f"level {level}"): [levels.get(str(level), 0.0) for levels in mine.values()]
        for level in range(highest + 1)
    }
    return Plot(
        title="Levels used",
        figure=Stacks(labels=list(mine), series=series, across="share of released rows"),
        note="Level 0 is the value itself; a column without a hierarchy has level 1 for everything wider.",
    )
