"""Data and roles: the first rows, what each column holds, and what it is."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.responses import Response

from shoal.errors import RecipeError
from shoal.recipe.edit import ROLES, TYPES, roles_of, with_roles, with_types
from shoal.web.pages.project_page import Base, Bench, Edit, Problem, Read
from shoal.web.preview.cache import apart_in_turn
from shoal.web.preview.looks import SHOWN, Look, draft_of, try_look
from shoal.web.preview.place import Place
from shoal.web.request import Here, Needs

# ----------------------------------------
# The page of data and roles: what each column is, what was proposed and why, and the first rows.


_SHORT = {"numeric": "number", "date": "date", "ordinal": "ordered", "categorical": "category"}


@dataclass(frozen=True, kw_only=True)
class ColumnView:
    """A column with what is known of it and what the recipe says."""

    name: str
    role: str
    proposed: str
    why: str
    sure: bool
    found: str
    type: str
    format: str
    distinct: int
    missing: int
    missing_share: float
    unique: float


@dataclass(frozen=True, kw_only=True)
class DataView:
    """The source of a project; ``more`` of its columns are not shown."""

    title: str
    look: Look | None
    problem: str
    columns: tuple[ColumnView, ...]
    more: int
    differing: int


def data_view(place: Place) -> DataView:
    """What is known of a project's source, and what its recipe says of it."""
    look, problem = try_look(place)
    roles = roles_of(place.text)
    names = look.names if look is not None else tuple(roles)
    return DataView(
        title=place.recipe.source.title, look=look, problem=problem, more=max(0, len(names) - SHOWN),
        columns=tuple(_column(place, look, name, roles.get(name, "")) for name in names[:SHOWN]),
        differing=len(_differing(look, roles)),
    )  # fmt: skip


def _column(place: Place, look: Look | None, name: str, role: str) -> ColumnView:
    settings = place.recipe.columns.get(name)
    said = {"type": (settings and settings.type) or "", "format": (settings and settings.format) or ""}
    if look is None or name not in look.facts:
        return ColumnView(
            name=name, role=role, proposed="", why="", sure=True, found="", distinct=0, missing=0, missing_share=0.0,
            unique=0.0, **said,
        )  # fmt: skip
    facts, proposal = look.facts[name], look.proposals[name]
    return ColumnView(
        name=name, role=role, proposed=proposal.role, why=proposal.why, sure=proposal.sure,
        found=_SHORT.get(facts.type, facts.type), distinct=facts.distinct, missing=facts.missing,
        missing_share=facts.missing / max(facts.rows, 1), unique=facts.unique, **said,
    )  # fmt: skip


def proposed_roles(place: Place) -> dict[str, str]:
    """Column to the role that was proposed for it, where the recipe says another."""
    return _differing(try_look(place)[0], roles_of(place.text))


def _differing(look: Look | None, roles: Mapping[str, str]) -> dict[str, str]:
    proposals = {} if look is None else look.proposals
    return {name: one.role for name, one in proposals.items() if roles.get(name) != one.role}


def changed_roles(place: Place, wanted: Mapping[str, str]) -> tuple[str, bool]:
    """The recipe with other roles for some columns, and with what their values suggest; whether these could be read."""
    known = roles_of(place.text)
    same = all(known.get(name) == role for name, role in wanted.items())
    if same or try_look(place)[0] is None:
        return with_roles(place.text, wanted, {}), same
    given = (place.stamp[0], place.seen.model_dump_json(exclude_unset=True), place.text, dict(wanted))
    return apart_in_turn(place.folder, roles_changed, *given), True


def roles_changed(path: str, said: str, text: str, wanted: Mapping[str, str]) -> str:
    """The same of a file that was looked at already."""
    return with_roles(text, wanted, draft_of(path, said).facts)


_FIELDS = 4 * SHOWN + 100  # four of each column, and those of every form


class _Wide(APIRoute):
    """A form with as many fields as a wide table needs, of whoever may send it; its bytes are limited as all are."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        inner = super().get_route_handler()

        async def handle(request: Request) -> Response:
            if request.method == "POST":
                await run_in_threadpool(Needs("project.edit").let_in, request)  # so many fields take seconds
                await request.form(max_fields=_FIELDS)  # kept, and read again by what comes after
            return await inner(request)

        return handle


router = APIRouter(route_class=_Wide)


@router.get("/projects/{project}/data")
def show_data(here: Read) -> Response:
    return _page(here, None)


def _said(form: FormData, field: str) -> str | None:
    """What a field says, None where the page had no such field."""
    return str(form[field]).strip() if field in form else None


def _note(what: str, read: bool) -> str:
    """What a version says was changed; without a look, nothing was added that values suggest."""
    return what if read else f"{what}, without a look at the data"


def _page(here: Here, problem: Problem | None) -> Response:
    bench = Bench(here)
    return bench.page("data.html", "data", problem, view=data_view(bench.place), roles=ROLES, types=TYPES)


@router.post("/projects/{project}/data")
def change_columns(here: Edit, base: Base) -> Response:
    """Roles and types of all columns at once."""
    bench = Bench(here)
    form = bench.form

    def make(place: Place) -> tuple[str, str]:
        names = [str(one) for one in form.getlist("column")]
        chosen = {name: str(form.get(f"role-{at}", "")) for at, name in enumerate(names)}
        kinds = {
            name: (str(form.get(f"type-{at}", "")), _said(form, f"format-{at}"))
            for at, name in enumerate(names)
            if chosen[name] in ("quasi", "sensitive", "neutral", "weight")
        }
        text, read = changed_roles(place, {name: role for name, role in chosen.items() if role})
        text = with_types(text, kinds)
        if text == place.text:
            raise RecipeError("Nothing was changed: choose another role or type first.")
        return text, _note("roles and types", read)

    return bench.change("data", base, make, _page)


@router.post("/projects/{project}/data/proposals")
def accept_proposals(here: Edit, base: Base) -> Response:
    """All roles as they were proposed."""

    def make(place: Place) -> tuple[str, str]:
        text, read = changed_roles(place, proposed_roles(place))
        return text, _note("roles as proposed", read)

    return Bench(here).change("data", base, make, _page)
