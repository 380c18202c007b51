"""What a check of the recipe found, for its page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shoal.release.check import findings, warnings

HEADINGS = ("Column", "Role", "Type", "Kind", "Distinct", "Missing", "Levels", "Leaves")


@dataclass(frozen=True, kw_only=True)
class CheckView:
    """Sentences as ``shoal check`` prints them, and what the table has; counts alone, no cell.

    Warnings stand apart: promises that promise nothing, and spellings that count as different values.
    """

    free: bool
    warnings: tuple[str, ...]
    sentences: tuple[str, ...]
    table: str
    columns: tuple[tuple[str, ...], ...]


def check_view(found: Mapping[str, Any]) -> CheckView:
    """What a job of the kind ``check`` found."""
    warned = tuple(warnings(found))
    likely = (found.get("foreseen") or {}).get("likely")
    return CheckView(
        free=not found["problems"] and not likely, warnings=warned, table=_table(found),
        sentences=tuple(one for one in findings(found) if one not in warned),
        columns=tuple(_column(one) for one in found.get("columns", ())),
    )  # fmt: skip


def codes_of(found: Mapping[str, Any]) -> list[str]:
    """Warning codes that would lift what a check was refused for, each once."""
    return list(dict.fromkeys(code for one in found.get("refusals", ()) for code in one["codes"]))


def _table(found: Mapping[str, Any]) -> str:
    if "rows" not in found:
        return ""
    people = f" about {found['people']:,} people" if found["people"] else ""
    dropped = f" ({found['rows_dropped']:,} more dropped for missing cells)" if found["rows_dropped"] else ""
    return f"{found['rows']:,} rows{people}{dropped}"


def _column(one: Mapping[str, Any]) -> tuple[str, ...]:
    tree = one["hierarchy"] or {}
    counts = [one["distinct"], one["missing"], tree.get("height"), tree.get("leaves")]
    told = ("–" if each is None else f"{each:,}" for each in counts)
    return one["name"], one["role"], one["type"] or "–", one["kind"] or "–", *told
