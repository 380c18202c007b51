"""The public description of a release: what was promised, how to read the cells, and what is not protected."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shoal.hierarchy.values import format_date, format_number
from shoal.recoding.publish import released_columns
from shoal.table.column import Column
from shoal.table.table import Table

_STATEMENTS = {
    "k": "{k}-anonymous",
    "distinct-l": "distinct {l}-diverse",
    "entropy-l": "entropy {l:g}-diverse",
    "recursive-cl": "recursive ({c:g},{l})-diverse",
    "t-closeness": "{t:g}-close",
    "alpha-k-simple": "simply ({alpha:g},{k})-anonymous for one value",
    "alpha-k-general": "generally ({alpha:g},{k})-anonymous",
    "alpha-k-complete": "completely (alpha,{k})-anonymous",
    "p-sensitive": "{p}-sensitive {k}-anonymous",
    "k-e": "({k},{e:g})-anonymous",
    "variance": "of variance at least {v:g}",
    "eps-m": "({eps:g},{m})-anonymous",
    "max-range": "of mean S-diversity at most {limit:g}",
}
_ALWAYS = (
    "Whether a person is in the data: nothing here hides membership.",
    "People who appear in other releases too: releases of overlapping people can be intersected.",
    "An intruder with more knowledge than the quasi-identifiers: no differential privacy is claimed.",
)


def describe(
    table: Table,
    models: Sequence[dict[str, Any]],
    *,
    version: str,
    suppressed: str,
    order: str,
    acknowledged: Sequence[str],
) -> dict[str, Any]:
    """The manifest without verdicts, class figures and the data's hash."""
    return {
        "shoal": version,
        "manifest": 1,
        "kind": "generalised",
        "source": table.name,
        "statement": statement(models, table.schema.sensitive),
        "not_protected": _not_protected(table, models, acknowledged),
        "suppressed": suppressed,
        "order": order,
        "people": table.subjects is not None,
        "columns": [_column(table, name) for name in released_columns(table)],
        "models": list(models),
        "acknowledged": sorted(acknowledged),
    }


def statement(models: Sequence[dict[str, Any]], sensitive: Sequence[str]) -> str:
    """The models met, in words: "5-anonymous, entropy 3-diverse on occupation"."""
    parts = []
    for model in models:
        text = _STATEMENTS[model["name"]].format(**model) if model["name"] in _STATEMENTS else model["name"]
        on = model.get("on", None if model["name"] == "k" else list(sensitive))
        if isinstance(on, str):
            on = [on]
        parts.append(f"{text} on {', '.join(on)}" if on else text)
    return ", ".join(parts) or "no model"


def _not_protected(table: Table, models: Sequence[dict[str, Any]], acknowledged: Sequence[str]) -> list[str]:
    found = []
    for code in acknowledged:
        if code.startswith("W-UNMODELLED:"):
            found.append(f"The values of '{code.partition(':')[2]}' within a class: no model is set on it.")
        if code == "W-NO-K":
            found.append("Identity: no model limits how few records share their quasi-identifiers.")
    if table.schema.neutral:
        found.append("Links through the neutral columns, which are published as they are.")
    if {model["name"] for model in models} <= {"k"} and table.schema.sensitive:
        found.append("Sensitive values: a class whose members share one discloses it (homogeneity).")
    return [*found, *_ALWAYS]


def _column(table: Table, name: str) -> dict[str, Any]:
    column = table.columns.get(name)
    if column is None:
        return {"name": name, "role": "neutral", "type": "categorical", "cells": "value"}
    entry: dict[str, Any] = {"name": name, "role": column.role, "type": column.type, "cells": column.cells}
    if column.hierarchy is not None and (column.cells == "label" or column.role == "sensitive"):
        entry["hierarchy"] = column.hierarchy.rows()
    if column.type == "ordinal":
        entry["order"] = [str(value) for value in column.spec.order or ()]
    if column.declared is not None:
        entry["domain"] = [_bound(column, bound) for bound in column.declared]
    if column.spec.non_answers:
        entry["non_answers"] = [str(value) for value in column.spec.non_answers]
    return entry


def _bound(column: Column, bound: Any) -> str:
    if column.type == "date":
        return format_date(int(bound))
    return format_number(bound.item() if hasattr(bound, "item") else bound)
