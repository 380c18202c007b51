"""The recipe itself: its text, its versions, taking an earlier one again, and taking one from a file."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Form
from starlette.responses import Response

from shoal.errors import RecipeError
from shoal.web.context import Here, needs
from shoal.web.errors import missing
from shoal.web.pages.bench import TABS, Base, Bench, Problem, uploaded, whole
from shoal.web.pages.meanwhile import difference
from shoal.web.projects.workspace import Workspace, versions
from shoal.web.store.people import User
from shoal.web.views.place import Place

router = APIRouter()
Read = Annotated[Here, needs("project.read")]
Edit = Annotated[Here, needs("project.edit")]
_LARGEST = 1 << 20


@router.get("/projects/{project}/recipe")
def show_recipe(here: Read) -> Response:
    return _page(here, None)


def _page(here: Here, problem: Problem | None, typed: str | None = None) -> Response:
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
        return _page(here, None if problem is None else replace(problem, lost=None), None if file else typed)

    return Bench(here).change("recipe", base, make, show)


@router.post("/projects/{project}/recipe/restore")
def restore(here: Edit, base: Base, version: Annotated[str, Form()], tab: Annotated[str, Form()] = "") -> Response:
    """An earlier version once more, as the newest; back to the page that it was asked on."""
    with here.reading() as db:
        older = Workspace.at(db, here.workspace.project, whole(version), here.settings)

    def make(place: Place) -> tuple[str, str]:
        return older.text, f"version {version} again"

    return Bench(here).change(tab if tab in dict(TABS) else "recipe", base, make, _page)
