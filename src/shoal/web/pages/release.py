"""Release: check the recipe, run it, and what came of it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from sqlalchemy import select
from starlette.responses import Response

from shoal.errors import ShoalError
from shoal.web.context import Here, needs
from shoal.web.pages.bench import Bench
from shoal.web.store.work import Release
from shoal.web.views.models import models_view
from shoal.web.views.releases import release_view

router = APIRouter()
Read = Annotated[Here, needs("project.read")]
Run = Annotated[Here, needs("project.run")]


@router.get("/projects/{project}/release")
def show_release(here: Read) -> Response:
    bench = Bench(here)
    job, done = bench.jobs("run")
    check, checked = bench.jobs("check")
    chosen = select(Release).where(Release.project == bench.project.id).order_by(Release.created.desc())
    with here.reading() as db:
        listed = list(db.scalars(chosen))
    view, why = None, ""
    if listed:
        try:
            view = release_view(here.workspace.folder / listed[0].folder, private=False)
        except (ShoalError, OSError):
            why = "The files of the newest release are not there: run the recipe again."
    return bench.page(
        "release.html", "release", job=job, done=done, check=check, checked=checked, listed=listed, view=view, why=why,
        asked=models_view(bench.place),
    )  # fmt: skip


@router.post("/projects/{project}/release")
def run_recipe(here: Run) -> Response:
    return Bench(here).start("run", "release")


@router.post("/projects/{project}/release/check")
def check_recipe(here: Run) -> Response:
    return Bench(here).start("check", "release")
