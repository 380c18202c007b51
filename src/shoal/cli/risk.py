"""``shoal risk``: how likely somebody is found in a file, a recipe's source or a release."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli.console import figure, refuse_values_shown, say, share, show_json, show_table, steps
from shoal.cli.options import READING, ROWS, Json, Page, ReplacePage, ShowValues, takes
from shoal.errors import ParameterError

if TYPE_CHECKING:
    from shoal.data.rows import PeopledRows
    from shoal.results import Risk
    from shoal.risk.audit import Audit, AuditFigures
    from shoal.risk.report import RiskReport

_POPULATION = "What is known about the population"
_KNOWN = {
    None: "Nothing is known about the population: give --population, --fraction or --weight for figures about it.",
    "table": "The population of {size:,.0f} was read from a file.",
    "fraction": "The population is taken to have {size:,.0f} people, by the sampling fraction.",
    "weights": "The population is taken to have {size:,.0f} people, by the survey weights.",
}


Looked = Annotated[
    str,
    typer.Argument(
        metavar="FILE|RECIPE|FOLDER|URL", show_default=False,
        help="A CSV or Parquet file, a recipe, a release, or a database.",
    ),
]  # fmt: skip
Trees = Annotated[
    list[str] | None,
    typer.Option(
        "--hierarchy", metavar="COLUMN=FILE", show_default=False,
        help="Hierarchy of a sensitive column of a file. Can be repeated.",
    ),
]  # fmt: skip
Population = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="A file of everybody, with the same quasi-identifiers.", rich_help_panel=_POPULATION,
        show_default=False,
    ),
]  # fmt: skip
Fraction = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE", help="Share of the population that is in the file.", rich_help_panel=_POPULATION,
        show_default=False,
    ),
]  # fmt: skip
Household = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="Equal values are one household.", show_default=False)
]
Threshold = Annotated[float, typer.Option(metavar="RISK", help="Above it a record is at risk.")]
Suda = Annotated[int, typer.Option(metavar="KEYS", help="Largest minimal unique to look for; 0 for none.")]
InPairs = Annotated[bool, typer.Option("--pairs", help="Leave out pairs of quasi-identifiers as well.")]
Discover = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE", show_default=False,
        help="Find the smallest sets of columns on which this share of the people stand alone; 0 for anybody.",
    ),
]  # fmt: skip
Top = Annotated[int, typer.Option(metavar="ROWS", min=0, help="Rows at most risk to list, by number.")]


@takes(
    "target", "quasi", "sensitive", "subject", "weight", "hierarchies", "policies", "population", "fraction",
    "household", "threshold", "suda", "in_pairs", "discover", "top", "show_values", "html", "replace", *READING, *ROWS,
)  # fmt: skip
def risk(
    target: Looked,
    hierarchies: Trees = None,
    population: Population = None,
    fraction: Fraction = None,
    household: Household = None,
    threshold: Threshold = 0.2,
    suda: Suda = 6,
    in_pairs: InPairs = False,
    discover: Discover = None,
    top: Top = 5,
    show_values: ShowValues = False,
    html: Page = None,
    replace: ReplacePage = False,
    as_json: Json = False,
    **given: Any,
) -> None:
    """Say how likely people are found: risks of attackers, uniqueness, special uniques and what adds to them."""
    refuse_values_shown(show_values, as_json)
    with steps() as step:
        step("loading")
        from shoal.cli.targets import Target, load_population, open_target
        from shoal.io.private import check_private
        from shoal.risk.assess import assess
        from shoal.risk.uniqueness import discover as find_sets

        place = None if html is None else check_private(html, suffix=".html", replace=replace)
        looked = Target(target, {**given, "hierarchies": hierarchies})
        name, every = looked.shown, discover is not None
        with open_target(looked, household=household, every=every, step=step) as (rows, notes):
            _refuse_too_long(rows, top)
            everybody = None if population is None else load_population(population, looked, rows.domain)
            found = assess(
                rows, threshold=threshold, population=everybody, fraction=fraction, household=household, suda=suda,
                pairs=in_pairs, progress=step,
            )  # fmt: skip
            if discover is not None:
                found = dataclasses.replace(found, discovered=find_sets(rows, share=discover, progress=step))
            cells = _cells(rows, found, top) if show_values else None
        title = found.name or Path(name).resolve().stem
        if place is not None:
            step("writing")
            _write_page(place, found, title, notes)
    if as_json:
        show_json({"target": name, "notes": notes, **_told(found, top), "html": html})
    else:
        _show_risk(found, title, notes)
        _show_discovered(found)
        _show_riskiest(found, top, cells)
        _show_page(html)


def _refuse_too_long(rows: PeopledRows, top: int) -> None:
    """Refuse to list more rows than are known by number where an engine keeps them."""
    from shoal.data.rows import ArrayRows
    from shoal.risk.assess import MOST_LISTED

    if top > MOST_LISTED and not isinstance(rows, ArrayRows):
        raise ParameterError(
            f"Of rows that an engine keeps, {MOST_LISTED:,} at most risk are listed: give a smaller --top, or use the "
            "engine 'memory'."
        )


def _cells(rows: PeopledRows, found: RiskReport, top: int) -> dict[int, tuple[Any, ...]]:
    """Quasi-identifiers of the rows at most risk, by their numbers."""
    import numpy as np

    from shoal.risk.classes import every_cell

    wanted = found.by_record.numbers[found.riskiest(top)]
    cells = {}
    for batch in rows.listed(every_cell(rows.frequency([]).rows.size), found.quasi):
        for place in np.flatnonzero(np.isin(batch.numbers, wanted)):
            cells[int(batch.numbers[place])] = batch.cells.row(int(place))
    return cells


def _told(found: RiskReport, top: int) -> dict[str, Any]:
    return {**found.as_dict(), "riskiest": _riskiest(found, top)}


def _show_page(html: Path | None) -> None:
    if html is not None:
        say(f"Private, not for publication: {html}")


def _write_page(place: Path, found: RiskReport, title: str, notes: Sequence[str]) -> None:
    from shoal.io.private import write_private
    from shoal.reports.risk import risk_html

    write_private(place, risk_html(found.as_dict(), title=title, notes=notes))


def _show_risk(found: RiskReport, title: str, notes: Sequence[str]) -> None:
    people = f" ({found.records:,} where a person counts once a class)" if found.people else ""
    say(f"{title}: {found.rows:,} rows{people}; quasi-identifiers: {', '.join(found.quasi)}")
    for note in notes:
        say(f"Note: {note}")
    say(_KNOWN[found.population].format(size=found.population_size))
    headings = ["figure", ">value", ">95 % interval", ">baseline", "meaning"]
    rows = [_figure_row(name, one) for name, one in found.figures.items()]
    counted = all(not one.estimated for one in found.figures.values())
    if counted:  # sentences need the room
        headings, rows = [headings[at] for at in (0, 1, 3, 4)], [(row[0], row[1], row[3], row[4]) for row in rows]
    show_table(headings, rows)
    told = "The baseline is the same figure for somebody who knows no quasi-identifier."
    say(f"{told} All figures are counted, not estimated." if counted else told)
    if found.sensitive:
        headings = ["sensitive", ">distinct l", ">entropy l", ">recursive c, l = 2", ">t", "distance"]
        show_table(headings, [_sensitive_row(name, one) for name, one in found.sensitive.items()])
    _show_contributions(found)


def _show_contributions(found: RiskReport) -> None:
    suda = {} if found.suda is None else found.suda.contributions
    headings = ["left out", ">mean risk then", ">drop", ">unique then", ">drop", *([">share of SUDA"] if suda else [])]
    rows = []
    for one in found.contributions:
        row = [", ".join(one.columns), *map(share, (one.mean, one.mean_drop, one.unique, one.unique_drop))]
        mine = [share(suda[name]) for name in one.columns if len(one.columns) == 1 and name in suda]
        rows.append([*row, *(mine or [""] if suda else [])])
    show_table(headings, rows, title="What each quasi-identifier adds")
    if found.suda is not None:
        sizes = ", ".join(f"{count:,} of {size}" for size, count in found.suda.by_size.items()) or "none"
        say(
            f"Minimal sample uniques of up to {found.suda.most} quasi-identifiers: {sizes}; "
            f"{found.suda.records:,} of {found.rows:,} rows have one."
        )


def _show_discovered(found: RiskReport) -> None:
    if found.discovered is None:
        return
    rows = [[", ".join(one.columns), f"{one.people:,}", share(one.share)] for one in found.discovered]
    if rows:
        show_table(["columns", ">people alone", ">share"], rows, title="Smallest identifying sets")
    else:
        say("No set of up to 4 columns singles out so many people.")


def _figure_row(name: str, one: Risk) -> tuple[str, ...]:
    write = figure if name.endswith("-expected") else share
    low, high = one.interval
    interval = f"{write(low)} to {write(high)}" if one.estimated else "counted"
    return name, write(one.value), interval, "-" if one.baseline is None else write(one.baseline), one.sentence


def _sensitive_row(name: str, one: Mapping[str, Any]) -> tuple[str, ...]:
    numbers = (figure(one[key]) for key in ("distinct_l", "entropy_l", "recursive_c", "t"))
    return name, *numbers, one["distance"]


def _riskiest(found: RiskReport, top: int) -> list[dict[str, Any]]:
    """Rows at most risk, by number alone."""
    records = found.by_record
    known = {key: entry for key, entry in vars(records).items() if entry is not None}
    names = {"numbers": "row"}
    return [{names.get(key, key): entry[place].item() for key, entry in known.items()} for place in found.riskiest(top)]


def _show_riskiest(found: RiskReport, top: int, cells: Mapping[int, tuple[Any, ...]] | None) -> None:
    listed = _riskiest(found, top)
    if not listed:
        return
    keys = list(listed[0])
    rows: list[Sequence[object]] = [[figure(row[key]) if key != "row" else row[key] for key in keys] for row in listed]
    headings = [f">{key}" for key in keys]
    if cells is not None:
        rows = [[*row, *cells[one["row"]]] for row, one in zip(rows, listed, strict=True)]
        headings += found.quasi
    show_table(headings, rows, title="Rows at most risk")


# ----------------------------------------
# ``shoal audit``: how well any file is protected, whichever tool made it.


@takes("file", "quasi", "sensitive", "subject", *READING, *ROWS)
def audit(as_json: Json = False, **given: Any) -> None:
    """Say how well any file is protected: k, l, t and alpha of its cells as they stand."""
    with steps() as step:
        step("loading")
        from shoal.cli.targets import Target, open_target
        from shoal.risk.audit import audit_rows

        target = Target(given.pop("file"), given)
        with open_target(target, step=step) as (rows, notes):
            found = audit_rows(rows, step)
        name = target.shown
    if as_json:
        show_json({"file": name, "notes": notes, **found.as_dict()})
    else:
        for note in notes:
            say(f"Note: {note}")
        _show_audit(found, Path(name).name)


def _show_audit(found: Audit, name: str) -> None:
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
