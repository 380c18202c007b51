"""The recipe itself: its text, its versions, taking an earlier one again, and taking one from a file."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Form
from starlette.responses import Response

from shoal.errors import RecipeError, ShoalError
from shoal.web.errors import missing
from shoal.web.pages.project_page import TABS, Base, Bench, Edit, Problem, Read, difference, texts, uploaded, whole
from shoal.web.preview.place import Place
from shoal.web.preview.values_view import rule_from, values_view, with_rule, with_values, without_rule
from shoal.web.projects.project import Workspace, versions
from shoal.web.request import Here
from shoal.web.store.tables import User

router = APIRouter()
_LARGEST = 1 << 20


@router.get("/projects/{project}/recipe")
def show_recipe(here: Read) -> Response:
    return _recipe_page(here, None)


def _recipe_page(here: Here, problem: Problem | None, typed: str | None = None) -> Response:
    bench = Bench(here)
    space = here.workspace
    with here.reading() as db:
        before = here.request.query_params.get("before", "")
        listed = versions(db, space.project.id, whole(before) if before else None)
        names = {one.author: (db.get(User, one.author) or User(name="?")).name for one in listed}
        asked = here.request.query_params.get("version", "")
        older = Workspace.at(db, space.project, whole(asked), here.settings) if asked else None
    changed = [] if older is None else difference(older.text, space.text)
    mine = [] if typed is None or problem is None or problem.status != 409 else difference(space.text, typed)
    return bench.page(
        "recipe.html", "recipe", problem, text=space.text if typed is None else typed, versions=listed, names=names,
        older=older, difference=changed, mine=mine,
    )  # fmt: skip


@router.get("/projects/{project}/recipe.toml")
def download_recipe(here: Read) -> Response:
    """The newest recipe as a file."""
    if not here.workspace.version:
        raise missing()
    headers = {"content-disposition": 'attachment; filename="recipe.toml"'}
    return Response(here.workspace.text, media_type="application/toml", headers=headers)


@router.post("/projects/{project}/recipe")
def save_recipe(here: Edit, base: Base, text: Annotated[str, Form()] = "") -> Response:
    """A recipe that was typed, or that comes as a file."""
    file = uploaded(Bench(here).form, "file")
    typed = text.replace("\r\n", "\n")

    def make(place: Place) -> tuple[str, str]:
        wanted, note = typed, "edited by hand"
        if file is not None:
            data = file.file.read(_LARGEST + 1)
            if len(data) > _LARGEST:
                raise RecipeError("The recipe is larger than a MiB: keep lists of values in files of their own.")
            try:
                wanted, note = data.decode("utf-8-sig").replace("\r\n", "\n"), "uploaded"
            except UnicodeDecodeError:
                raise RecipeError("The recipe is not UTF-8: save it as UTF-8.") from None
        if wanted == place.text:
            raise RecipeError("Nothing was changed: edit the recipe first.")
        return wanted, note

    def show(here: Here, problem: Problem | None) -> Response:
        # What was typed stays in its field.
        return _recipe_page(here, None if problem is None else replace(problem, lost=None), None if file else typed)

    return Bench(here).change("recipe", base, make, show)


@router.post("/projects/{project}/recipe/restore")
def restore(here: Edit, base: Base, version: Annotated[str, Form()], tab: Annotated[str, Form()] = "") -> Response:
    """An earlier version once more, as the newest; back to the page that it was asked on."""
    with here.reading() as db:
        older = Workspace.at(db, here.workspace.project, whole(version), here.settings)

    def make(place: Place) -> tuple[str, str]:
        return older.text, f"version {version} again"

    return Bench(here).change(tab if tab in dict(TABS) else "recipe", base, make, _recipe_page)


# ----------------------------------------
# Research values: what levels are worth to researchers, and rules that experts want kept.


@router.get("/projects/{project}/values")
def show_values(here: Read) -> Response:
    return _values_page(here, None)


def _values_page(here: Here, problem: Problem | None) -> Response:
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

    return Bench(here).change("values", base, make, _values_page)
