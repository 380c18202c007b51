"""Hierarchies: what each column has, its tree, what could be, and how many look the same on some levels."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from fastapi import APIRouter
from starlette.datastructures import FormData, QueryParams
from starlette.responses import Response

from shoal.errors import HierarchyError, ShoalError
from shoal.recipe.edit import with_hierarchy
from shoal.reports.svg import columns
from shoal.web.pages.project_page import Base, Bench, Edit, Problem, Read, texts, uploaded
from shoal.web.preview import hierarchy_view
from shoal.web.preview.class_counts import class_counts
from shoal.web.preview.place import Place
from shoal.web.request import Here

router = APIRouter()


@router.get("/projects/{project}/hierarchies")
def show_hierarchies(here: Read) -> Response:
    bench = Bench(here)
    lines = hierarchy_view.hierarchy_lines(bench.place)
    return bench.page("hierarchies.html", "hierarchies", lines=lines, address=_address, **_counts(here))


@router.get("/projects/{project}/counts")
def show_counts(here: Read) -> Response:
    """Classes on chosen levels, as a fragment of the page."""
    return here.page("counts.html", **_counts(here))


def _counts(here: Here) -> dict[str, Any]:
    asked = here.request.query_params
    names = asked.getlist("column")
    levels = {name: _level(asked, at) for at, name in enumerate(names)}
    try:
        found = class_counts(Bench(here).place, levels)
    except ShoalError as error:
        return {"counts": None, "drawn": None, "why": str(error)}
    total = max(found.rows, 1)
    who = "people" if found.people else "rows"
    told = f"{found.alone:,} {who} are alone; {found.below:,} are in classes of fewer than {found.k}."
    labels, shares = [name for name, _ in found.sizes], [count / total for _, count in found.sizes]
    drawn = columns(f"{who.capitalize()} by size of class", told, labels, {"": shares})
    return {"counts": found, "drawn": drawn, "why": ""}


def _level(asked: QueryParams, at: int) -> int:
    given = asked.get(f"level-{at}", "")
    return int(given) if given.isdecimal() and len(given) < 4 else 0


@router.get("/projects/{project}/hierarchies/{column:path}")
def show_hierarchy(here: Read, column: str) -> Response:
    return _page(here, _named(here, column), None)


def _page(here: Here, column: str, problem: Problem | None) -> Response:
    bench = Bench(here)
    view = hierarchy_view.tree_view(bench.place, column)
    return bench.page("hierarchy.html", "hierarchies", problem, view=view, column=column)


@router.post("/projects/{project}/hierarchies/{column:path}")
def change_hierarchy(here: Edit, column: str, base: Base) -> Response:
    """Take a proposal, edit by sentences, move a label, take a file, or go without."""
    bench = Bench(here)
    given = texts(bench.form)
    column = _named(here, column)

    def make(place: Place) -> tuple[str, str]:
        if given.get("do") == "remove":
            return with_hierarchy(place.text, column, None), f"no hierarchy of {column}"
        text, data = _changed(place, column, given, bench.form)
        if data is not None:
            bench.keep(hierarchy_view.stored_name(column, data), data)
        return text, f"hierarchy of {column}: {given.get('do', 'edit')}"

    return bench.change(_address(column), base, make, lambda here, problem: _page(here, column, problem))


def _changed(place: Place, column: str, given: dict[str, str], form: FormData) -> tuple[str, bytes | None]:
    what = given.get("do", "")
    if what == "suggest":
        return hierarchy_view.with_proposal(place, column, given.get("how", ""))
    if what == "move":
        labels = [one for one in given.get("label", "").split("\n") if one]
        if not labels or not given.get("under"):
            raise HierarchyError("A move needs a label and the group that it goes under: choose both.")
        return hierarchy_view.edited(place, column, [hierarchy_view.moved(one, given["under"]) for one in labels])
    if what == "edit":
        edits = [line.strip() for line in given.get("edits", "").splitlines() if line.strip()]
        if not edits:
            raise HierarchyError("Nothing was changed: write an edit a line, such as 'rename OLD to NEW'.")
        return hierarchy_view.edited(place, column, edits)
    if what == "upload":
        file = uploaded(form, "file")
        if file is None:
            raise HierarchyError("No file was chosen: choose a CSV file with one line a value.")
        return hierarchy_view.uploaded(place, column, file.file.read())  # no longer than a form may be
    raise HierarchyError("That is no change of a hierarchy: use one of the forms of the page.")


def _address(column: str) -> str:
    """Where the page of a column is; browsers take dots between slashes for a way up, so names with them go behind."""
    dots = {".", ".."} & set(column.split("/"))
    return f"hierarchies/?column={quote(column, safe='')}" if dots else f"hierarchies/{quote(column)}"


def _named(here: Here, column: str) -> str:
    return column or here.request.query_params.get("column", "")
