"""Release: check the recipe, run it, and what came of it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form
from sqlalchemy import select
from starlette.responses import Response

from shoal.errors import ShoalError
from shoal.web.context import Here, needs
from shoal.web.pages.bench import Bench, Problem, texts
from shoal.web.store.work import Job, Release
from shoal.web.views import review
from shoal.web.views.models import models_view
from shoal.web.views.place import Place
from shoal.web.views.releases import release_view

router = APIRouter()
Read = Annotated[Here, needs("project.read")]
Run = Annotated[Here, needs("project.run")]
Edit = Annotated[Here, needs("project.edit")]
Base = Annotated[int, Form()]


@router.get("/projects/{project}/release")
def show_release(here: Read) -> Response:
    return _page(here, None)


def _page(here: Here, problem: Problem | None) -> Response:
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
        "release.html", "release", problem, job=job, done=done, check=check, checked=checked, listed=listed, view=view,
        why=why, asked=models_view(bench.place),
        review=review.review_view(bench.place.text, _refused(job, check)),
    )  # fmt: skip


def _refused(*jobs: Job | None) -> str | None:
    """Why the newest of some jobs failed, if it did."""
    newest = max((one for one in jobs if one is not None), key=lambda one: one.created, default=None)
    return newest.message if newest is not None and newest.state == "failed" else None


@router.post("/projects/{project}/release")
def run_recipe(here: Run) -> Response:
    return Bench(here).start("run", "release")


@router.post("/projects/{project}/release/check")
def check_recipe(here: Run) -> Response:
    return Bench(here).start("check", "release")


@router.post("/projects/{project}/release/accept")
def accept_warnings(here: Edit, base: Base, reason: Annotated[str, Form(max_length=4000)] = "") -> Response:
    """Accept what the newest run was refused for, or withdraw what was accepted."""
    bench = Bench(here)
    withdrawn = texts(bench.form).get("withdraw", "")

    def make(place: Place) -> tuple[str, str]:
        if withdrawn:
            return review.without_accepted(place.text, withdrawn), f"{withdrawn} not accepted any more"
        codes = review.codes_in(_refused(bench.jobs("run")[0], bench.jobs("check")[0]))
        return review.with_accepted(place.text, codes, reason), f"accepted {', '.join(codes)}"

    return bench.change("release", base, make, _page)


@router.post("/projects/{project}/release/review")
def change_review(here: Edit, base: Base) -> Response:
    """What the dossier states, and who signs it off."""
    bench = Bench(here)
    given = texts(bench.form)

    def make(place: Place) -> tuple[str, str]:
        if given.get("do") == "sign-off":
            text = review.with_sign_off(place.text, given.get("name", ""), given.get("role", ""))
            return text, "signed off"
        return review.with_review(place.text, given), "what the dossier states"

    return bench.change("release", base, make, _page)
