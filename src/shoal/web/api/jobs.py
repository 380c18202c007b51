"""Jobs, for programs."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from sqlalchemy import select

from shoal.web.api.asked import AnswersIn, JobIn
from shoal.web.api.models import JobOut
from shoal.web.context import Here, needs
from shoal.web.errors import conflict
from shoal.web.jobs import queue
from shoal.web.jobs.keeping import once_more, start_again
from shoal.web.store.work import Job, Project

jobs_router = APIRouter(tags=["jobs"])


@jobs_router.get("/projects/{project}/jobs", response_model=list[JobOut])
def list_jobs(here: Annotated[Here, needs("project.read")], project: str) -> list[Job]:
    with here.reading() as db:
        return list(db.scalars(select(Job).where(Job.project == project).order_by(Job.created.desc()).limit(200)))


@jobs_router.post("/projects/{project}/jobs", status_code=201, response_model=JobOut)
def new_job(here: Annotated[Here, needs("project.run")], project: str, given: JobIn) -> Job:
    """Start a job on the newest version of the recipe; ``start`` makes the first version."""
    version = here.workspace.version
    if not version and given.kind != "start":
        raise conflict("This project has no recipe yet: upload a source and start a job 'start', or put a recipe.")
    if given.kind == "start" and not here.named(Project).source:
        raise conflict("This project has no source yet: upload one first.")
    with here.writing() as db:
        return queue.add(
            db, here.named(Project), given.kind, recipe=version, author=here.me.id,
            parameters=given.parameters.model_dump(exclude_unset=True), most=here.settings.jobs_waiting,
        )  # fmt: skip


@jobs_router.get("/jobs/{job}", response_model=JobOut)
def show_job(here: Annotated[Here, needs("job.read")], job: str) -> Job:
    return here.named(Job)


@jobs_router.post("/jobs/{job}/cancel", response_model=JobOut)
def cancel(here: Annotated[Here, needs("job.cancel")], job: str) -> Job:
    with here.writing() as db:
        queue.cancel(db, job)
        here.log(db, "job cancelled", job=job, project=here.named(Job).project)
        return db.get_one(Job, job)


@jobs_router.post("/jobs/{job}/again", status_code=201, response_model=JobOut)
def again(here: Annotated[Here, needs("project.run")], job: str) -> Job:
    """The same job once more, after it failed or was cancelled."""
    with here.writing() as db:
        return once_more(db, here.named(Job), here.me.id, most=here.settings.jobs_waiting)


@jobs_router.post("/jobs/{job}/answers", status_code=201, response_model=JobOut)
def answers(here: Annotated[Here, needs("project.run")], job: str, given: AnswersIn) -> Job:
    """Look at the source again, with answers by column to the questions in the job's ``result``."""
    with here.writing() as db:
        return start_again(db, here.named(Job), here.me.id, given.answers, most=here.settings.jobs_waiting)
