"""Projects, uploads and a worker, for tests of what they do together."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from threading import Barrier, BrokenBarrierError
from typing import Any

import httpx
from fastapi import FastAPI

from shoal.web.jobs.worker import Worker
from shoal.web.store.tables import Job, Project
from tests.web.conftest import ADDRESS, Browser

ROWS = 60
MARKED = "zyzzyva"  # a cell that may stand nowhere but in the source and what shows it


def people(rows: int = ROWS) -> str:
    """A small table: ages, places and illnesses."""
    ills = ("flu", "gout", "cold", MARKED)
    lines = [f"{20 + 7 * i % 40},{'fm'[i % 2]},{1000 + 11 * i % 7},{ills[i % 4]}" for i in range(rows)]
    return "\n".join(["age,sex,zip,illness", *lines]) + "\n"


RECIPE = """
acknowledge = ["W-UNMODELLED:illness"]
[source]
path = "source/people.csv"
[roles]
quasi = ["age", "sex", "zip"]
sensitive = ["illness"]
[[models]]
name = "k"
k = 5
[algorithm]
name = "mondrian"
"""


class Gate:
    """Where two wait for each other; ``met`` says whether they did. Behind that, and behind the wait, it stands open.

    Who never meets where code is right, since a lock keeps one of them out, waits for ``DWELL`` seconds.
    """

    DWELL = 0.7

    def __init__(self, seconds: float = 30.0) -> None:
        self.met = False
        self._barrier, self._seconds = Barrier(2), seconds

    def come(self) -> None:
        if not self.met:
            try:
                self._barrier.wait(self._seconds)
            except BrokenBarrierError:
                return
            self.met = True

    def before(self, do: Callable[..., Any]) -> Callable[..., Any]:
        """The same function, for those who have come here."""

        def done(*given: Any, **more: Any) -> Any:
            self.come()
            return do(*given, **more)

        return done

    def after(self, do: Callable[..., Any]) -> Callable[..., Any]:
        """The same function, behind which they come here."""

        def done(*given: Any, **more: Any) -> Any:
            found = do(*given, **more)
            self.come()
            return found

        return done


def upload(
    browser: Browser, content: str | bytes, name: str = "people.csv", to: str = "/projects/new", **fields: str
) -> httpx.Response:
    """Send a file by the form of a page."""
    data = {"csrf": browser.token(), **fields}
    body = content.encode() if isinstance(content, str) else content
    return browser.post(f"{to}/files", data=data, files={"file": (name, body)}, headers={"origin": ADDRESS})


def project_of(app: FastAPI, answer: httpx.Response) -> tuple[Project, Job]:
    """The project and the job that an upload made."""
    assert answer.status_code == 303, answer.text
    job = job_of(app, answer.headers["location"].rpartition("/")[2])
    with app.state.store.reading() as db:
        return db.get_one(Project, job.project), job


def job_of(app: FastAPI, key: str) -> Job:
    """A job as it is now."""
    with app.state.store.reading() as db:
        return db.get_one(Job, key)


def worker_of(app: FastAPI, lease: float = 30.0) -> Worker:
    """A worker on the application's database, in this process."""
    return Worker(app.state.settings, app.state.store, app.state.keys, lease=lease)


def work_off(app: FastAPI, seconds: float = 120.0) -> None:
    """Let a worker do all jobs there are."""
    worker, until = worker_of(app), time.monotonic() + seconds
    while worker.step() or worker.running:
        assert time.monotonic() < until, "a job does not end"
        time.sleep(0.02)


def add_project(app: FastAPI, recipe: str = RECIPE) -> Project:
    """A project of the custodian's with a source and a recipe, without a job."""
    from shoal.web.projects.project import Fit, Workspace, folder_of, make_project
    from tests.web.conftest import user_of

    owner = user_of(app, "custodian").id
    with app.state.store.writing() as db:
        project = make_project(db, "People", owner, app.state.settings)
        folder: Path = folder_of(project.id, app.state.settings)
        (folder / "source" / "people.csv").write_text(people())
        Workspace.newest(db, project, app.state.settings).save(db, Fit(recipe), base=0, author=owner)
    return project


def add_job(app: FastAPI, project: Project, kind: str, by: str = "custodian", **parameters: object) -> Job:
    """A job on the first version of a project's recipe."""
    from shoal.web.jobs import queue
    from tests.web.conftest import user_of

    with app.state.store.writing() as db:
        return queue.add(
            db, project, kind, recipe=1, author=user_of(app, by).id, parameters=dict(parameters),
            most=app.state.settings.jobs_waiting,
        )
