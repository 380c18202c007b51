"""Projects: a new one from an upload or a source on offer, its files, and its end."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Form, Query
from sqlalchemy import select
from sqlalchemy.orm import Session as Db
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from shoal.web.errors import Refused, invalid
from shoal.web.jobs import queue
from shoal.web.permissions import ADMIN, AUDITOR, CUSTODIAN
from shoal.web.projects.project import delete_project, files_of, folder_of, keep_file, make_project, offered, use_offer
from shoal.web.projects.uploads import INCOMING, Incoming, check_file, receive_form
from shoal.web.questions.log_chain import exported, shown_problem
from shoal.web.request import Here, Streams, needs, streams
from shoal.web.store.tables import Job, LogEntry, Project

router = APIRouter()


@router.get("/projects/new")
def show_new(here: Annotated[Here, needs("project.create")]) -> Response:
    return here.page("project-new.html", most=here.settings.upload_bytes, offers=here.settings.offers)


@router.post("/projects/new/files")
async def upload_new(request: Request, here: Annotated[Here, streams("project.create")]) -> Response:
    """A project from an upload: the file is written before there is a project, so that none is left empty."""
    incoming = await _incoming(request, here, "project.create")
    return await run_in_threadpool(_made, here, incoming)


def _made(here: Here, incoming: Incoming) -> Response:
    try:
        check_file(incoming, "source")
        with here.writing() as db:
            # First of all: what is refused later leaves rows of people behind that no project has.
            queue.refuse_more(db, here.me.id, here.settings.jobs_waiting)
            name = incoming.fields.get("name", "").strip() or incoming.name.partition(".")[0]
            project = make_project(db, name, here.me.id, here.settings)
            keep_file(db, project, incoming, "source", folder_of(project.id, here.settings))
            job = _look_at(db, here, project)
            here.log(db, "project made", project=project.id, bytes=incoming.bytes, sha256=incoming.sha256)
    finally:
        incoming.drop()
    return here.see(f"/jobs/{job.id}")


@router.post("/projects/new")
def new(
    here: Annotated[Here, needs("project.create")], name: Annotated[str, Form()], offer: Annotated[str, Form()]
) -> Response:
    """A project on a source that the server offers, which a job looks at."""
    here.counted("jobs")
    chosen = offered(here.settings, offer)
    with here.writing() as db:
        queue.refuse_more(db, here.me.id, here.settings.jobs_waiting)
        project = make_project(db, name, here.me.id, here.settings)
        use_offer(db, project, chosen, folder_of(project.id, here.settings))
        job = _look_at(db, here, project)
        here.log(db, "project made", project=project.id, offer=chosen.name)
    return here.see(f"/jobs/{job.id}")


@router.get("/projects/{project}")
def show(here: Annotated[Here, needs("project.read")]) -> Response:
    """The data page, or, before there is a recipe, what the first look at the source came to."""
    space = here.workspace
    if space.version:
        return here.see(f"/projects/{space.project.id}/data")
    with here.reading() as db:
        jobs = _jobs(db, space.project.id)
    return here.page("project-empty.html", project=space.project, jobs=jobs)


@router.get("/projects/{project}/files")
def show_files(here: Annotated[Here, needs("project.read")]) -> Response:
    project = here.workspace.project
    with here.reading() as db:
        files, jobs = files_of(db, project.id), _jobs(db, project.id)
    return here.page(
        "project-files.html", project=project, files=files, jobs=jobs, most=here.settings.upload_bytes
    )


@router.post("/projects/{project}/files")
async def upload(request: Request, here: Annotated[Here, streams("project.edit")]) -> Response:
    """Another file of a project: a hierarchy, a table of values, or a newer source."""
    incoming = await _incoming(request, here, "project.edit")
    return await run_in_threadpool(_kept, here, incoming)


def _kept(here: Here, incoming: Incoming) -> Response:
    project, folder = here.workspace.project, here.workspace.folder
    job: Job | None = None
    try:
        check_file(incoming, incoming.fields.get("kind", ""))
        with here.writing() as db:
            if incoming.fields.get("kind") == "source" and not here.workspace.version:
                queue.refuse_more(db, here.me.id, here.settings.jobs_waiting, project.id)
            row = keep_file(db, project, incoming, incoming.fields.get("kind", ""), folder)
            here.log(db, "file uploaded", project=project.id, kind=row.kind, bytes=row.bytes, sha256=row.sha256)
            if row.kind == "source" and not here.workspace.version:
                job = _look_at(db, here, project)
    finally:
        incoming.drop()
    return here.see(f"/projects/{project.id}/files" if job is None else f"/jobs/{job.id}")


@router.post("/projects/{project}/delete")
def delete(here: Annotated[Here, needs("project.edit")], sure: Annotated[str, Form()] = "") -> Response:
    if sure != "yes":
        raise invalid("Say that you are sure: the project's files cannot be brought back.", "sure")
    delete_project(here)
    return here.see("/")


async def _incoming(request: Request, here: Here, action: str) -> Incoming:
    """The file of a form; its token is checked before a byte of the file is written."""
    checked = False

    def check(fields: dict[str, str]) -> None:
        nonlocal checked
        Streams(action).check_form(here, fields)
        checked = True

    incoming = await receive_form(request, here.settings.folder / INCOMING, check)
    if not checked:
        incoming.drop()
        raise Refused(400, "bad-request", "The form brought no file: choose one.")
    return incoming


def _look_at(db: Db, here: Here, project: Project) -> Job:
    """The job that looks at a source."""
    return queue.add(db, project, "start", recipe=0, author=here.me.id, most=here.settings.jobs_waiting)


def _jobs(db: Db, project: str) -> list[Job]:
    return list(db.scalars(select(Job).where(Job.project == project).order_by(Job.created.desc()).limit(20)))


# ----------------------------------------
# The first page: what there is, and what to do next.


@router.get("/")
def home(here: Annotated[Here, needs("home")]) -> Response:
    first = {ADMIN: "/users", AUDITOR: "/log"}.get(here.me.role, "/releases")
    if here.me.role != CUSTODIAN:
        return here.see(first)
    with here.reading() as db:
        projects = list(db.scalars(select(Project).order_by(Project.created.desc())))
    return here.page("home.html", projects=projects)


# ----------------------------------------
# The log: its last lines, whether its chain holds, its head to keep elsewhere, and all of it as a file.


_PAGE = 100
Read = Annotated[Here, needs("log.read")]


@router.get("/log")
def show_log(
    here: Read, before: Annotated[int | None, Query(ge=1, le=2**62)] = None, check: Literal["all"] | None = None
) -> Response:
    # One more than is shown, which the oldest of them follows.
    chosen = select(LogEntry).order_by(LogEntry.number.desc()).limit(_PAGE + 1)
    if before is not None:
        chosen = chosen.where(LogEntry.number < before)
    checked = here.request.app.state.log.look(here.reading, every=check == "all")
    with here.reading() as db:
        lines = list(db.scalars(chosen))
    problem = shown_problem(lines[::-1]) or checked.problem
    return here.page("log.html", lines=lines[:_PAGE], checked=checked, problem=problem, every=check == "all")


@router.get("/log/file")
def export_log(here: Read) -> Response:
    """All lines as a file that ``shoal log verify`` checks."""
    headers = {"content-disposition": 'attachment; filename="server.log"', "cache-control": "no-store"}
    return StreamingResponse(exported(here.reading), media_type="application/x-ndjson", headers=headers)
