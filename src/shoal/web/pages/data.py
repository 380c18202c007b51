"""Data and roles: the first rows, what each column holds, and what it is."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.responses import Response

from shoal.errors import RecipeError
from shoal.recipe.edit import ROLES, TYPES, with_types
from shoal.web.context import Here, Needs, needs
from shoal.web.pages.bench import Base, Bench, Problem
from shoal.web.views.data import changed_roles, data_view, proposed_roles
from shoal.web.views.looks import SHOWN
from shoal.web.views.place import Place

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
Read = Annotated[Here, needs("project.read")]
Edit = Annotated[Here, needs("project.edit")]


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
