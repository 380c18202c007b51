"""``shoal audit``: how well any file is protected, whichever tool made it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from shoal.cli.options import (
    Columns,
    DatabaseTable,
    Encoding,
    EngineName,
    FileOrUrl,
    Json,
    Key,
    Markers,
    Memory,
    Quasi,
    Query,
    Scratch,
    Sensitive,
    Separator,
    Subject,
)
from shoal.cli.show import figure, say, share, show_json, show_table, steps
from shoal.grammar import separator_character, split_columns

if TYPE_CHECKING:
    from shoal.risk.audit import Audit, AuditFigures


def audit(
    file: FileOrUrl,
    quasi: Quasi = None,
    sensitive: Sensitive = None,
    subject: Subject = None,
    columns: Columns = None,
    separator: Separator = None,
    encoding: Encoding = None,
    missing_markers: Markers = None,
    engine: EngineName = None,
    memory: Memory = None,
    scratch: Scratch = None,
    table: DatabaseTable = None,
    query: Query = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Say how well any file is protected: k, l, t and alpha of its cells as they stand."""
    with steps() as step:
        step("loading")
        from shoal.cli.targets import Keeping, Reading, Roles, called, open_target
        from shoal.risk.audit import audit_rows

        roles = Roles(quasi=quasi or (), sensitive=sensitive or (), subject=subject)
        reading = Reading(
            columns=split_columns(columns), separator=separator_character(separator), encoding=encoding,
            markers=missing_markers or (),
        )  # fmt: skip
        keeping = Keeping(engine=engine, memory=memory, scratch=scratch, table=table, query=query, key=key)
        with open_target(file, roles, reading, keeping, step=step) as (rows, notes):
            found = audit_rows(rows, step)
        name = called(file)
    if as_json:
        show_json({"file": name, "notes": notes, **found.as_dict()})
    else:
        for note in notes:
            say(f"Note: {note}")
        _show(found, Path(name).name)


def _show(found: Audit, name: str) -> None:
    people = f" about {found.people:,} people" if found.people != found.rows else ""
    say(f"{name}: {found.rows:,} rows{people}; quasi-identifiers: {', '.join(found.quasi)}")
    readings = [found.own_value] if found.wildcard is None else [found.own_value, found.wildcard]
    headings = [">missing is a value", ">missing is a wildcard"][: len(readings)]
    labelled = [_rows(reading) for reading in readings]
    rows = [(name, *(figures[name] for figures in labelled)) for name in labelled[0]]
    show_table(["figure", *headings], rows)
    if found.wildcard is None:
        say("No quasi-identifier has a missing cell, so both readings of missing cells agree.")


def _rows(figures: AuditFigures) -> dict[str, str]:
    """Every figure under the name that the table gives it."""
    found = {
        "k (smallest class)": figure(figures.k),
        "classes": figure(figures.classes),
        "rows that are unique": share(figures.unique_share),
    }
    for name, one in figures.sensitive.items():
        found |= {
            f"{name}: distinct l": figure(one.distinct_l),
            f"{name}: entropy l": figure(one.entropy_l),
            f"{name}: recursive c for l = 2 (must be below c)": figure(one.recursive_c),
            f"{name}: t ({one.distance} distance)": figure(one.t),
            f"{name}: alpha (largest share of a value)": figure(one.alpha),
            f"{name}: rows in classes of one value": share(one.homogeneous_share),
        }
    return found
