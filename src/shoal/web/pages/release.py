"""Release: check the recipe, run it, and what came of it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form
from sqlalchemy import select
from starlette.responses import Response

from shoal.errors import ShoalError
from shoal.web.context import Here, needs
from shoal.web.pages.bench import Base, Bench, Problem, texts
from shoal.web.projects.making import files_of
from shoal.web.projects.signing import is_signed
from shoal.web.store.work import Job, RecipeVersion, Release
from shoal.web.views import review
from shoal.web.views.checked import HEADINGS, CheckView, check_view, codes_of
from shoal.web.views.models import models_view
from shoal.web.views.place import Place
from shoal.web.views.releases import release_view

router = APIRouter()
Read = Annotated[Here, needs("project.read")]
Run = Annotated[Here, needs("project.run")]
Edit = Annotated[Here, needs("project.edit")]


@router.get("/projects/{project}/release")
def show_release(here: Read) -> Response:
    return _page(here, None)


def _page(here: Here, problem: Problem | None) -> Response:
    bench = Bench(here)
    job, done = bench.jobs("run")
    check, _ = bench.jobs("check")
    found, stale = _found(bench)
    chosen = select(Release).where(Release.project == bench.project.id).order_by(Release.created.desc())
    with here.reading() as db:
        listed = list(db.scalars(chosen))
        signed = bool(listed) and is_signed(db, listed[0])
    view, why = None, ""
    if listed:
        try:
            view = release_view(here.workspace.folder / listed[0].folder, signed=signed)
        except (ShoalError, OSError):
            why = "The files of the newest release are not there: run the recipe again."
    return bench.page(
        "release.html", "release", problem, job=job, done=done, check=check, listed=listed, view=view, why=why,
        asked=models_view(bench.place), found=found, stale=stale, headings=HEADINGS,
        review=review.review_view(bench.place.text, _open_codes(bench)),
    )  # fmt: skip


def _found(bench: Bench) -> tuple[CheckView | None, str]:
    """What the newest check found; or nothing, and why that is no longer true."""
    check, checked = bench.jobs("check")
    if checked is None or checked.recipe != bench.here.workspace.version or "problems" not in (checked.result or {}):
        return None, ""  # a check of an earlier version of Shoal has no list
    if check is not None and check.state == "failed":
        return None, ""  # which the page tells
    if _changed_since(bench, checked):
        return None, "Files of this project came in since the recipe was checked: check it again."
    return check_view(checked.result or {}), ""


def _changed_since(bench: Bench, job: Job) -> bool:
    """Whether a file came in, or took the place of another, after a job had begun."""
    with bench.here.reading() as db:
        return any(one.created > (job.started or job.created) for one in files_of(db, bench.project.id))


def _open_codes(bench: Bench) -> list[str]:
    """What the newest run or check asks to be accepted, where the recipe still promises what it was asked of."""
    jobs = [one for one in (bench.jobs("run")[0], bench.jobs("check")[0]) if one is not None]
    newest = max(jobs, key=lambda one: one.created, default=None)
    if newest is None or _changed_since(bench, newest):
        return []
    with bench.here.reading() as db:
        asked = db.get(RecipeVersion, (bench.project.id, newest.recipe))
    if asked is None or not review.promises_the_same(asked.text, bench.place.text):
        return []
    return review.codes_in(newest.message) if newest.state == "failed" else codes_of(newest.result or {})


@router.post("/projects/{project}/release")
def run_recipe(here: Run) -> Response:
    return Bench(here).start("run", "release")


@router.post("/projects/{project}/release/check")
def check_recipe(here: Run) -> Response:
    return Bench(here).start("check", "release")


@router.post("/projects/{project}/release/accept")
def accept_warnings(here: Edit, base: Base, reason: Annotated[str, Form(max_length=4000)] = "") -> Response:
    """Accept what the newest run or check was refused for, or withdraw what was accepted."""
    bench = Bench(here)
    withdrawn = texts(bench.form).get("withdraw", "")

    def make(place: Place) -> tuple[str, str]:
        if withdrawn:
            return review.without_accepted(place.text, withdrawn), f"{withdrawn} not accepted any more"
        # Those that the page showed: another run or check may have ended since.
        shown = review.review_view(place.text, _open_codes(bench)).open_codes
        codes = [code for code in shown if code in bench.form.getlist("code")]
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
