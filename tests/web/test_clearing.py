"""What attempts of jobs wrote goes where they came to nothing, and stays where it was kept, whoever is killed when."""

from __future__ import annotations

import time
from pathlib import Path
from threading import Event

import pytest
from fastapi import FastAPI

from shoal.errors import InputError, ShoalError
from shoal.release.entry import verify_release
from shoal.vault.sealed_rows import Strongroom
from shoal.web.jobs import queue, worker
from shoal.web.jobs.worker import Running
from shoal.web.projects.project import folder_of
from shoal.web.store.tables import Job, Release, now
from tests.web.test_nothing_left import fail
from tests.web.working import MARKED, add_job, add_project, job_of, work_off, worker_of


def files(app: FastAPI, job: Job) -> list[str]:
    """Files and folders that attempts of a job have left, without locks."""
    folder = folder_of(job.project, app.state.settings)
    found = [*folder.glob(f"jobs/{job.id}/*"), *folder.glob(f"releases/*{job.id}*")]
    return sorted(one.name for one in found if ".lock" not in one.name)


def plant(app: FastAPI, job: Job, attempt: int) -> None:
    """What a run has on disk in its middle."""
    folder: Path = folder_of(job.project, app.state.settings)
    beside = [f"releases/{job.id}-{attempt}{end}" for end in ("", ".evidence")]
    for one in (f"jobs/{job.id}/temporary-{attempt}", *beside, f"releases/.{job.id}-{attempt}.staged"):
        (folder / one).mkdir(parents=True)
        (folder / one / "rows").write_text(MARKED)


def begun(app: FastAPI, kind: str) -> tuple[Job, worker.Worker]:
    """A job whose process runs, and its worker."""
    job, mine = add_job(app, add_project(app), kind), worker_of(app)
    until = time.monotonic() + 60
    while not mine.running:
        assert time.monotonic() < until
        mine.step()
    return job, mine


def test_a_release_stays_whose_anchor_could_not_be_written(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    """The transaction is there to stay by then: a store ahead of its anchor is no fault."""

    def full(*_: object) -> None:
        raise InputError("The anchor cannot be written: no space left on device.")

    job, mine = begun(app, "run")
    mine.running[0].process.wait(60)
    monkeypatch.setattr(Strongroom, "_write_anchor", full)
    mine.step()
    assert (job_of(app, job.id).state, files(app, job)) == ("done", [f"{job.id}-1"])
    with app.state.store.reading() as db:
        folder = folder_of(job.project, app.state.settings) / db.get_one(Release, job.id).folder
    assert verify_release(folder).passed


def test_a_job_that_is_given_back_leaves_nothing_should_it_be_cancelled(app: FastAPI) -> None:
    job, mine = begun(app, "run")
    mine.running[0].process.wait(60)  # a whole release, which nobody has kept
    assert files(app, job) != []
    mine.give_back()
    with app.state.store.writing() as db:
        queue.cancel(db, job.id)
    work_off(app)
    assert (job_of(app, job.id).state, files(app, job)) == ("cancelled", [])


def test_a_job_that_fails_late_leaves_no_rows(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither in the folder of the attempt nor in that of the job."""
    job, mine = begun(app, "risk")
    (folder_of(job.project, app.state.settings) / "jobs" / job.id / "rows").write_text(MARKED)

    def failing(_: Running) -> None:
        raise ShoalError("The job ended by signal 9 before it was done.")

    monkeypatch.setattr(Running, "outcome", failing)
    mine.running[0].process.wait(60)
    mine.step()
    assert (job_of(app, job.id).state, files(app, job)) == ("failed", [])


def test_a_job_out_of_time_leaves_nothing(app: FastAPI) -> None:
    job, mine = begun(app, "risk")
    plant(app, job, 3)
    mine.running[0].since -= app.state.settings.job_seconds + 1
    mine.step()
    assert "longer than jobs may take" in str(job_of(app, job.id).message)
    assert (job_of(app, job.id).state, files(app, job)) == ("failed", [])


def test_a_job_that_is_given_up_is_cleared_before_it_has_ended(
    app: FastAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = add_job(app, add_project(app), "run")
    with app.state.store.writing() as db:
        row = db.get_one(Job, job.id)
        row.state, row.worker, row.attempts, row.lease_until = "running", "gone", queue.MOST_ATTEMPTS, now(hours=-1)
    plant(app, job, queue.MOST_ATTEMPTS)
    with monkeypatch.context() as killed:
        killed.setattr(worker, "clear", fail)
        with pytest.raises(RuntimeError):
            worker_of(app).step()
    work_off(app)
    assert (job_of(app, job.id).state, files(app, job)) == ("failed", [])


def test_a_worker_that_starts_removes_what_others_left_of_jobs_that_have_ended(app: FastAPI) -> None:
    """Such as one that was killed when it had lost its job. Jobs that run, or are not known, keep their files."""
    project = add_project(app)
    done, failed, running = (add_job(app, project, "run") for _ in range(3))
    compared = add_job(app, project, "compare")
    unknown = Job(id="f" * 32, project=project.id)
    facts = {"statement": "", "kind": "", "rows": 1, "manifest": ""}
    with app.state.store.writing() as db:
        for job, state in ((done, "done"), (failed, "failed"), (running, "running"), (compared, "done")):
            db.get_one(Job, job.id).state = state
            db.get_one(Job, job.id).lease_until = now(hours=1)
        db.add(Release(id=done.id, project=project.id, job=done.id, name="a", folder=f"releases/{done.id}-2", **facts))
    for job in (done, failed, running, unknown):
        plant(app, job, 1)
        plant(app, job, 2)
    table = folder_of(project.id, app.state.settings) / "jobs" / compared.id / "compare.sealed"
    table.parent.mkdir()
    table.touch()
    stop = Event()
    stop.set()
    worker_of(app).run(stop)
    assert (files(app, done), files(app, failed), files(app, compared)) == ([f"{done.id}-2"], [], ["compare.sealed"])
    assert (len(files(app, running)), len(files(app, unknown))) == (8, 8)
