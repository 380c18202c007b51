"""Jobs: done by a child process, told of while they run, cancelled, and taken up again when something was killed."""

from __future__ import annotations

from fastapi import FastAPI

from tests.web.conftest import sign_in
from tests.web.working import add_job, add_project, job_of, people, project_of, upload, work_off


def test_an_upload_becomes_a_recipe(every_app: FastAPI) -> None:
    project, job = project_of(every_app, upload(sign_in(every_app, "custodian"), people()))
    work_off(every_app)
    done = job_of(every_app, job.id)
    assert (done.state, done.message) == ("done", None)
    assert done.result == {"version": 1, "rows": 60, "columns": 4}


def test_run(app: FastAPI) -> None:
    job = add_job(app, add_project(app), "run")
    work_off(app)
    done = job_of(app, job.id)
    assert (done.state, done.message) == ("done", None)
