"""What jobs measure of a recipe: risk before, other methods beside it, original and release, and attacks."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form
from starlette.responses import Response

from shoal.errors import ParameterError, RecipeError
from shoal.recipe.edit import with_point
from shoal.web.jobs import queue
from shoal.web.jobs.results import cancel_job, compared, once_more, start_again
from shoal.web.pages.models import models_view
from shoal.web.pages.project_page import Base, Bench, Edit, Problem, Read, Run
from shoal.web.pages.results_view import attacks_view, compare_view, explore_view, risk_view
from shoal.web.preview.place import Place
from shoal.web.request import Here, needs
from shoal.web.store.tables import Job, Project

router = APIRouter()
# Methods that a first exploration offers: quick, and unlike each other.
_OFFERED = ("mondrian", "top-down", "k-members", "upc", "optimal", "top-down-subtree", "local-suppression")


@router.get("/projects/{project}/risk")
def show_risk(here: Read) -> Response:
    bench = Bench(here)
    newest, done = bench.jobs("risk")
    view = None if done is None or done.result is None else risk_view(done.result)
    return bench.page("risk.html", "risk", job=newest, done=done, view=view)


@router.post("/projects/{project}/risk")
def run_risk(here: Run) -> Response:
    return Bench(here).start("risk", "risk")


@router.get("/projects/{project}/attacks")
def show_attacks(here: Read) -> Response:
    bench = Bench(here)
    newest, done = bench.jobs("attack")
    view = None if done is None or done.result is None else attacks_view(done.result)
    return bench.page("attacks.html", "attacks", job=newest, done=done, view=view, seeded=bench.has_seed(done))


@router.post("/projects/{project}/attacks")
def run_attacks(here: Run) -> Response:
    return Bench(here).start("attack", "attacks")


@router.get("/projects/{project}/compare")
def show_compare(here: Read) -> Response:
    bench = Bench(here)
    newest, done = bench.jobs("compare")
    found = None if done is None else compared(done, here.settings, here.keyring)
    view = None if found is None else compare_view(found)
    return bench.page("compare.html", "compare", job=newest, done=done, view=view, seeded=bench.has_seed(done))


@router.post("/projects/{project}/compare")
def run_compare(here: Run) -> Response:
    return Bench(here).start("compare", "compare")


@router.get("/projects/{project}/explore")
def show_explore(here: Read) -> Response:
    return _explore(here, None)


def _explore(here: Here, problem: Problem | None) -> Response:
    bench = Bench(here)
    newest, done = bench.jobs("explore")
    view = None if done is None or done.result is None else explore_view(done.result)
    models = models_view(bench.place)
    own = models.algorithm.name
    return bench.page(
        "explore.html", "explore", problem, job=newest, done=done, view=view, own=own,
        offered=list(dict.fromkeys([own, *_OFFERED])), algorithms=models.algorithms,
    )  # fmt: skip


@router.post("/projects/{project}/explore")
def run_explore(here: Run, k: Annotated[str, Form()] = "") -> Response:
    algorithms = [str(one) for one in Bench(here).form.getlist("algorithm")]
    try:
        sizes = [int(one) for one in k.replace(",", " ").split()]
    except ValueError:
        return _explore(here, Problem("The values of k must be whole numbers with blanks between them."))
    if not algorithms or not sizes or min(sizes) < 2:
        return _explore(here, Problem("Choose at least one algorithm, and one k of at least 2."))
    return Bench(here).start("explore", "explore", {"algorithms": algorithms, "k": sizes})


@router.post("/projects/{project}/explore/pick")
def pick_point(
    here: Edit, base: Base, job: Annotated[str, Form()], point: Annotated[int, Form()]
) -> Response:
    """Write the algorithm and the models of a point into the recipe."""
    bench = Bench(here)

    def make(place: Place) -> tuple[str, str]:
        _, done = bench.jobs("explore")
        if done is None or done.id != job or done.result is None:
            raise RecipeError("There is a newer exploration: look at it, then choose again.")
        found = next((one for one in done.result["points"] if one["number"] == point), None)
        if found is None or found["status"] != "done":
            raise ParameterError("There is no release at this point: choose another.")
        return with_point(place.text, found["algorithm"], found["models"]), f"point {found['label']}"

    return bench.change("models", base, make, _explore)


# ----------------------------------------
# One job: what it does, how far it is, what came of it, and how to stop it.


WORDS = {
    "start": "Looking at the source", "check": "Trying the recipe", "risk": "Measuring the risk before",
    "explore": "Comparing methods", "compare": "Comparing original and release", "attack": "Attacking a release",
    "run": "Making the release",
}  # fmt: skip
_NEXT = {
    "start": "data", "check": "release", "risk": "risk", "explore": "explore", "compare": "compare",
    "attack": "attacks",
}  # fmt: skip


@router.get("/jobs/{job}")
def show(here: Annotated[Here, needs("job.read")]) -> Response:
    return _page(here, "job.html")


@router.get("/jobs/{job}/status")
def status(here: Annotated[Here, needs("job.read")], seen: str = "") -> Response:
    """The same as a fragment, which a page asks for again until the job has ended; nothing if it has ``seen`` that."""
    job = here.named(Job)
    if seen == f"{job.state} {job.share} {job.progress}":
        return Response(status_code=204)
    response = _page(here, "job-status.html")
    if job.state in queue.ENDED:
        response.headers["hx-refresh"] = "true"
    return response


@router.post("/jobs/{job}/cancel")
def cancel(here: Annotated[Here, needs("job.cancel")]) -> Response:
    return here.see(f"/jobs/{cancel_job(here).id}")


@router.post("/jobs/{job}/again")
def again(here: Annotated[Here, needs("project.run")]) -> Response:
    """The same job once more, after it failed or was cancelled."""
    return here.see(f"/jobs/{once_more(here).id}")


@router.post("/jobs/{job}/answers")
def answers(here: Annotated[Here, needs("project.run")]) -> Response:
    """Answers to what only people can know of a source."""
    fields = [] if here.form is None else here.form.items()
    given = {key.removeprefix("answer:"): str(value) for key, value in fields if key.startswith("answer:")}
    return here.see(f"/jobs/{start_again(here, given).id}")


def _page(here: Here, template: str) -> Response:
    job = here.named(Job)
    with here.reading() as db:
        project = db.get_one(Project, job.project)
    if job.kind == "run" and job.result:
        after = f"/releases/{job.result['release']}"
    else:
        after = f"/projects/{project.id}/{_NEXT.get(job.kind, 'data')}"
    ended = job.state in queue.ENDED
    questions = (job.result or {}).get("questions", [])
    return here.page(
        template, job=job, project=project, words=WORDS[job.kind], ended=ended, after=after, questions=questions
    )
