"""Research values: what levels are worth to researchers, and rules that experts want kept."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from starlette.responses import Response

from shoal.errors import ShoalError
from shoal.web.context import Here, needs
from shoal.web.pages.bench import Base, Bench, Problem, texts, whole
from shoal.web.views.place import Place
from shoal.web.views.values import rule_from, values_view, with_rule, with_values, without_rule

router = APIRouter()
Read = Annotated[Here, needs("project.read")]
Edit = Annotated[Here, needs("project.edit")]


@router.get("/projects/{project}/values")
def show_values(here: Read) -> Response:
    return _page(here, None)


def _page(here: Here, problem: Problem | None) -> Response:
    bench = Bench(here)
    try:
        view, why = values_view(bench.place), ""
    except ShoalError as error:
        view, why = None, str(error)
    return bench.page("values.html", "values", problem, view=view, why=why, quasi=bench.place.recipe.roles.quasi)


@router.post("/projects/{project}/values")
def change_values(here: Edit, base: Base) -> Response:
    """Values of a column, a rule more, or a rule less."""
    given = texts(Bench(here).form)

    def make(place: Place) -> tuple[str, str]:
        what, column = given.get("do"), given.get("column", "")
        if what == "rule":
            text, note = with_rule(place.text, rule_from(given)), f"rule on {column}"
        elif what == "remove":
            text, note = without_rule(place.text, whole(given.get("place", ""))), "a rule less"
        else:
            text = with_values(place.text, column, [str(one) for one in Bench(here).form.getlist("value")])
            note = f"values of {column}"
        values_view(Place(place.folder, text))  # what does not fit the data is told before it is saved
        return text, note

    return Bench(here).change("values", base, make, _page)
