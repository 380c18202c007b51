"""Projects, their recipes and files, for programs."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, Field
from sqlalchemy import select
from starlette.concurrency import run_in_threadpool

from shoal.web.api import Given, Name, Row
from shoal.web.errors import conflict, missing
from shoal.web.jobs import queue
from shoal.web.jobs.results import cancel_job, once_more, start_again
from shoal.web.projects.project import (
    delete_project,
    files_of,
    folder_of,
    keep_file,
    make_project,
    offered,
    use_offer,
    versions,
)
from shoal.web.projects.uploads import INCOMING, Incoming, check_file, receive_body
from shoal.web.request import Here, needs, streams
from shoal.web.store.tables import File, Job, Project, RecipeVersion


class ProjectOut(Row):
    id: str
    name: str
    source: dict[str, Any]
    created: str


class NewProject(Given):
    name: Name
    offer: str | None = None


class RecipeOut(BaseModel):
    number: int
    text: str
    note: str
    created: str


class RecipeIn(Given):
    text: Annotated[str, Field(max_length=1 << 20)]
    base: Annotated[int, Field(ge=0, le=2**31 - 1)]
    note: Annotated[str, Field(max_length=200)] = ""


class VersionOut(Row):
    number: int
    note: str
    created: str


class FileOut(Row):
    name: str
    kind: str
    bytes: int
    sha256: str


class JobOut(Row):
    id: str
    project: str
    kind: str
    recipe: int
    state: Literal["queued", "running", "done", "failed", "cancelled"]
    progress: str
    share: float | None
    message: str | None
    result: dict[str, Any] | None
    created: str
    started: str | None
    ended: str | None


_Text = Annotated[str, Field(max_length=1000)]
_Texts = Annotated[list[_Text], Field(max_length=20_000)]
_Named = Annotated[dict[_Text, _Text], Field(max_length=20_000)]
_Size = Annotated[int, Field(strict=True, ge=2, le=2**53 - 1)]


class Nothing(Given):
    """Nothing but the recipe."""


class SourceGiven(Given):
    """What somebody knows of a source; the rest is found out."""

    columns: _Texts | None = None
    separator: _Text | None = None
    encoding: _Text | None = None
    sheet: _Text | None = None
    decimal: _Text | None = None
    thousands: _Text | None = None
    markers: _Texts | None = None
    formats: _Named | None = None
    roles: _Named | None = None
    k: _Size | None = None


class StartGiven(Given):
    given: SourceGiven = SourceGiven()
    answers: _Named = {}


class RiskGiven(Given):
    threshold: Annotated[float, Field(gt=0, le=1)] = 0.2


class ExploreGiven(Given):
    algorithms: Annotated[list[_Text], Field(max_length=40)] = []
    k: Annotated[list[_Size], Field(max_length=40)] = []


class AttackGiven(Given):
    hold_out: Annotated[float, Field(gt=0, lt=1)] = 0.2


class StartJob(Given):
    kind: Literal["start"]
    parameters: StartGiven = StartGiven()


class RiskJob(Given):
    kind: Literal["risk"]
    parameters: RiskGiven = RiskGiven()


class ExploreJob(Given):
    kind: Literal["explore"]
    parameters: ExploreGiven = ExploreGiven()


class AttackJob(Given):
    kind: Literal["attack"]
    parameters: AttackGiven = AttackGiven()


class PlainJob(Given):
    kind: Literal["check", "compare", "run"]
    parameters: Nothing = Nothing()


JobIn = Annotated[StartJob | RiskJob | ExploreJob | AttackJob | PlainJob, Field(discriminator="kind")]


class AnswersIn(Given):
    answers: Annotated[_Named, Field(min_length=1)]


router = APIRouter(tags=["projects"])
Read = Annotated[Here, needs("project.read")]
Edit = Annotated[Here, needs("project.edit")]


@router.get("/projects", response_model=list[ProjectOut])
def list_projects(here: Annotated[Here, needs("project.list")]) -> list[Project]:
    with here.reading() as db:
        return list(db.scalars(select(Project).order_by(Project.created.desc())))


@router.post("/projects", status_code=201, response_model=ProjectOut)
def new_project(here: Annotated[Here, needs("project.create")], given: NewProject) -> Project:
    """An empty project, or one on a source that the server offers; upload a source and start a job 'start' next."""
    here.counted("uploads")  # as pages do, which upload a source with it
    offer = None if given.offer is None else offered(here.settings, given.offer)
    with here.writing() as db:
        project = make_project(db, given.name, here.me.id, here.settings)
        if offer is not None:
            use_offer(db, project, offer, folder_of(project.id, here.settings))
        here.log(db, "project made", project=project.id)
    return project


@router.get("/projects/{project}", response_model=ProjectOut)
def show_project(here: Read, project: str) -> Project:
    return here.named(Project)


@router.delete("/projects/{project}", status_code=204)
def end_project(here: Edit, project: str) -> None:
    """Remove a project that has no releases, with its files."""
    delete_project(here)


@router.get("/projects/{project}/recipe", response_model=RecipeOut)
def show_recipe(
    here: Read, project: str, version: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None
) -> RecipeVersion:
    """The newest version of the recipe, or an earlier one."""
    number = here.workspace.version if version is None else version
    with here.reading() as db:
        found = db.get(RecipeVersion, (project, number))
    if found is None:
        raise missing()
    return found


@router.put("/projects/{project}/recipe", status_code=201, response_model=VersionOut)
def save_recipe(here: Edit, project: str, given: RecipeIn) -> RecipeVersion:
    """A new version, made from version ``base``; 409 where somebody else made one meanwhile."""
    text = here.workspace.fit(given.text, given.base)
    with here.writing() as db:
        number = here.workspace.save(db, text, base=given.base, author=here.me.id, note=given.note)
        return db.get_one(RecipeVersion, (project, number))


@router.get("/projects/{project}/recipe/versions", response_model=list[VersionOut])
def list_versions(
    here: Read, project: str, before: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> list[RecipeVersion]:  # fmt: skip
    """Versions of the recipe, the newest first: those before a number where there are more."""
    with here.reading() as db:
        return versions(db, project, before, limit)


@router.get("/projects/{project}/files", response_model=list[FileOut])
def list_files(here: Read, project: str) -> list[File]:
    with here.reading() as db:
        return files_of(db, project)


@router.put(
    "/projects/{project}/files/{kind}/{name}", status_code=201, response_model=FileOut,
    openapi_extra={"requestBody": {
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}, "required": True,
    }},
)  # fmt: skip
async def upload(
    request: Request,
    here: Annotated[Here, streams("project.edit")],
    project: str,
    kind: Annotated[str, Path(pattern="^(source|hierarchy|values)$")],
    name: Annotated[str, Path(min_length=1, max_length=100)],
) -> File:
    """A file as the body of the request, written as it comes."""
    incoming = await receive_body(request, here.settings.folder / INCOMING, name)
    return await run_in_threadpool(_kept, here, incoming, kind)


def _kept(here: Here, incoming: Incoming, kind: str) -> File:
    project = here.named(Project)
    try:
        check_file(incoming, kind)
        with here.writing() as db:
            row = keep_file(db, project, incoming, kind, folder_of(project.id, here.settings))
            here.log(db, "file uploaded", project=project.id, kind=kind, bytes=row.bytes, sha256=row.sha256)
    finally:
        incoming.drop()
    return row


# ----------------------------------------
# Jobs, for programs.


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
    return cancel_job(here)


@jobs_router.post("/jobs/{job}/again", status_code=201, response_model=JobOut)
def again(here: Annotated[Here, needs("project.run")], job: str) -> Job:
    """The same job once more, after it failed or was cancelled."""
    return once_more(here)


@jobs_router.post("/jobs/{job}/answers", status_code=201, response_model=JobOut)
def answers(here: Annotated[Here, needs("project.run")], job: str, given: AnswersIn) -> Job:
    """Look at the source again, with answers by column to the questions in the job's ``result``."""
    return start_again(here, given.answers)
