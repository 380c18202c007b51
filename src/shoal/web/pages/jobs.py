"""One job: what it does, how far it is, what came of it, and how to stop it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from starlette.responses import Response

from shoal.web.context import Here, needs
from shoal.web.jobs import queue
from shoal.web.jobs.keeping import once_more, start_again
from shoal.web.store.work import Job, Project

router = APIRouter()
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
    job = here.named(Job)
    with here.writing() as db:
        queue.cancel(db, job.id)
        here.log(db, "job cancelled", job=job.id, project=job.project)
    return here.see(f"/jobs/{job.id}")


@router.post("/jobs/{job}/again")
def again(here: Annotated[Here, needs("project.run")]) -> Response:
    """The same job once more, after it failed or was cancelled."""
    job = here.named(Job)
    with here.writing() as db:
        made = once_more(db, job, here.me.id, most=here.settings.jobs_waiting)
    return here.see(f"/jobs/{made.id}")


@router.post("/jobs/{job}/answers")
def answers(here: Annotated[Here, needs("project.run")]) -> Response:
    """Answers to what only people can know of a source."""
    fields = [] if here.form is None else here.form.items()
    given = {key.removeprefix("answer:"): str(value) for key, value in fields if key.startswith("answer:")}
    job = here.named(Job)
    with here.writing() as db:
        made = start_again(db, job, here.me.id, given, most=here.settings.jobs_waiting)
    return here.see(f"/jobs/{made.id}")


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
