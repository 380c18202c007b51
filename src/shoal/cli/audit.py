"""``shoal audit``: how well any file is protected, whichever tool made it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli.options import Columns, Encoding, Json, Markers, Quasi, Sensitive, Separator, Subject
from shoal.cli.show import figure, say, share, show_json, show_table, steps
from shoal.grammar import separator_character, split_columns

if TYPE_CHECKING:
    from shoal.risk.audit import Audit, AuditFigures


def audit(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A CSV or Parquet file.", show_default=False)],
    quasi: Quasi = None,
    sensitive: Sensitive = None,
    subject: Subject = None,
    columns: Columns = None,
    separator: Separator = None,
    encoding: Encoding = None,
    missing_markers: Markers = None,
    as_json: Json = False,
) -> None:
    """Say how well any file is protected: k, l, t and alpha of its cells as they stand."""
    with steps() as step:
        step("loading")
        from shoal.io.files import read_frame
        from shoal.risk.audit import audit as examine

        step("reading")
        frame = read_frame(
            file,
            columns=split_columns(columns),
            separator=separator_character(separator),
            encoding=encoding or "utf-8",
            missing_markers=missing_markers or (),
        )
        step("counting classes")
        found = examine(frame, quasi=quasi or (), sensitive=sensitive or (), subject=subject)
    if as_json:
        show_json({"file": str(file), **found.as_dict()})
    else:
        _show(found, file)


def _show(found: Audit, file: Path) -> None:
    people = f" about {found.people:,} people" if found.people != found.rows else ""
    say(f"{file.name}: {found.rows:,} rows{people}; quasi-identifiers: {', '.join(found.quasi)}")
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
