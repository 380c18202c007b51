"""Jobs: done by a child process, told of while they run, cancelled, and taken up again when something was killed."""

from __future__ import annotations

import html
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from fastapi import FastAPI
from sqlalchemy import select, update

from shoal.release.entry import verify_release
from shoal.web.accounts.users import make_user
from shoal.web.app import create_app
from shoal.web.errors import API
from shoal.web.jobs import queue
from shoal.web.jobs.results import private_of
from shoal.web.jobs.worker import Worker
from shoal.web.settings import Offer, Settings
from shoal.web.store.tables import Job, LogEntry, Release, Sealed, now
from tests.web.conftest import add_people, program, sign_in, user_of
from tests.web.working import (
    MARKED,
    RECIPE,
    add_job,
    add_project,
    job_of,
    people,
    project_of,
    upload,
    work_off,
    worker_of,
)

CODED = RECIPE.replace('illness"]', 'illness", "W-PP-REV"]', 1) + '\n[columns.illness]\ncode = "mapping"\n'


def until(met: Callable[[], bool], worker: Worker | None = None, seconds: float = 90.0) -> None:
    """Wait, letting a worker go on meanwhile."""
    end = time.monotonic() + seconds
    while not met():
        assert time.monotonic() < end, "it does not come to that"
        if worker is not None:
            worker.step()
        time.sleep(0.02)


def test_an_upload_becomes_a_recipe(every_app: FastAPI) -> None:
    project, job = project_of(every_app, upload(sign_in(every_app, "custodian"), people()))
    work_off(every_app)
    done = job_of(every_app, job.id)
    assert (done.state, done.message) == ("done", None)
    assert done.result == {"version": 1, "rows": 60, "columns": 4}
    recipe = program(every_app, "custodian").get(f"{API}/projects/{project.id}/recipe").json()
    assert 'path = "source/people.csv"' in recipe["text"]


def test_a_run_makes_a_release_whose_private_side_is_sealed(every_app: FastAPI) -> None:
    project = add_project(every_app, CODED)
    job = add_job(every_app, project, "run")
    work_off(every_app)
    done = job_of(every_app, job.id)
    assert (done.state, done.message) == ("done", None)
    with every_app.state.store.reading() as db:
        release = db.get_one(Release, job.id)
        keyring = every_app.state.keys.keyring
        secrets = json.loads(private_of(db, keyring, job.id, "secrets") or b"")
        dossier = private_of(db, keyring, job.id, "dossier/internal.html") or b""
        evidence = private_of(db, keyring, job.id, "evidence") or b""
        sealed = b"".join(db.scalars(select(Sealed.sealed)))
        events = list(db.scalars(select(LogEntry.event)))
    assert MARKED in secrets[0]["mapping"]
    assert b"<h1" in dossier
    assert evidence[:2] == b"\x1f\x8b"
    assert MARKED.encode() not in sealed
    assert events == ["released"]
    folder = every_app.state.settings.projects / project.id
    assert verify_release(folder / release.folder).passed
    kept = [path for path in folder.rglob("*") if path.is_file() and path.parent.name != "source"]
    assert {path.parent for path in kept} == {folder / release.folder}
    assert not [path.name for path in kept if MARKED.encode() in path.read_bytes()]


@pytest.mark.parametrize(
    "change, words",
    [
        (("k = 5", "k = 500"), "500"),
        (('acknowledge = ["W-UNMODELLED:illness"]', ""), "W-UNMODELLED:illness"),
    ],
)
def test_a_job_that_fails_tells_why_and_no_cells(app: FastAPI, change: tuple[str, str], words: str) -> None:
    project = add_project(app, RECIPE.replace(*change))
    job = add_job(app, project, "run")
    work_off(app)
    failed = job_of(app, job.id)
    assert failed.state == "failed"
    assert words in str(failed.message)
    assert MARKED not in str(failed.message)
    assert list((app.state.settings.projects / project.id / "releases").iterdir()) == []


def test_a_file_that_is_broken_further_down_fails_its_job(app: FastAPI) -> None:
    browser = sign_in(app, "custodian")
    _, job = project_of(app, upload(browser, people() + f'1,2\n"{MARKED}'))
    work_off(app)
    failed = job_of(app, job.id)
    assert failed.state == "failed"
    assert MARKED not in str(failed.message)
    page = browser.get(f"/jobs/{job.id}").text
    assert "Try again" in page
    assert str(failed.message).split("'")[0] in page


@pytest.mark.usefixtures("own_processes")
def test_a_job_has_no_more_memory_than_it_may(app: FastAPI) -> None:
    object.__setattr__(app.state.settings, "job_memory", 150 << 20)
    job = add_job(app, add_project(app), "run")
    work_off(app)
    failed = job_of(app, job.id)
    assert failed.state == "failed"
    assert "150 MiB" in str(failed.message)


@pytest.mark.usefixtures("own_processes")
def test_a_child_ends_with_its_worker_whatever_it_computes() -> None:
    """Code that holds Python's lock lets no thread hear that the worker is gone."""
    job = (
        "import ctypes, sys; from shoal.web.jobs import sandbox\n"
        "sys.setswitchinterval(600)\n"  # so that nobody else comes in between
        "code = ctypes.PyDLL(None)\n"
        "code.write, code.sleep\n"
        "sandbox._done = lambda asked, more: (code.write(2, b'busy\\n', 5), code.sleep(60))\n"
        "sandbox.main('job', 4 << 30)\n"
    )
    worker = (
        "import os, subprocess, sys; from shoal.web.jobs.sandbox import send\n"
        "pipe = subprocess.PIPE\n"
        "job = subprocess.Popen([sys.executable, '-c', sys.argv[1]], stdin=pipe, stdout=pipe, stderr=pipe)\n"
        "send(job.stdin, b'')\n"
        "assert job.stderr.readline() == b'busy\\n'\n"
        "print(job.pid, flush=True); os._exit(0)\n"
    )
    told = subprocess.run([sys.executable, "-c", worker, job], stdout=subprocess.PIPE, check=True, timeout=60).stdout
    process, end = Path(f"/proc/{int(told)}/exe"), time.monotonic() + 20
    while process.exists():
        assert time.monotonic() < end, "it goes on"
        time.sleep(0.01)


def test_a_child_that_is_killed_fails_its_job(app: FastAPI) -> None:
    job, worker = add_job(app, add_project(app), "run"), worker_of(app)
    until(lambda: bool(worker.running), worker)
    os.kill(worker.running[0].process.pid, signal.SIGKILL)
    until(lambda: not worker.running, worker)
    failed = job_of(app, job.id)
    assert (failed.state, "signal 9" in str(failed.message)) == ("failed", True)


def test_a_running_job_is_told_of_and_cancelled(every_app: FastAPI) -> None:
    browser, project = sign_in(every_app, "custodian"), add_project(every_app)
    job, waiting = add_job(every_app, project, "run"), add_job(every_app, project, "risk")
    worker = worker_of(every_app)
    until(lambda: job_of(every_app, job.id).progress not in ("", "starting"), worker)
    assert "Running: " in browser.get(f"/jobs/{job.id}/status").text
    again = re.search(r'hx-get="([^"]+)"', browser.get(f"/jobs/{waiting.id}").text)
    assert again is not None
    assert browser.get(html.unescape(again[1])).status_code == 204  # nothing new, which nobody has to hear twice
    assert browser.submit(f"/jobs/{waiting.id}/cancel").status_code == 303
    assert job_of(every_app, waiting.id).state == "cancelled"
    child = worker.running[0].process
    assert browser.submit(f"/jobs/{job.id}/cancel").status_code == 303
    until(lambda: job_of(every_app, job.id).state == "cancelled", worker)
    assert child.returncode is not None
    assert browser.submit(f"/jobs/{job.id}/cancel").status_code == 409
    assert browser.get(f"/jobs/{job.id}/status").headers["hx-refresh"] == "true"


@pytest.mark.parametrize("change", [{"role": "custodian"}, {"role": "researcher", "active": "true"}])
def test_jobs_of_somebody_who_may_no_longer_have_them_end(every_app: FastAPI, change: dict[str, str]) -> None:
    """Those that wait at once, those that run soon; those of others stay."""
    with every_app.state.store.writing() as db:
        make_user(db, "other", "custodian")
    project, worker = add_project(every_app), worker_of(every_app)
    running, waiting = add_job(every_app, project, "run"), add_job(every_app, project, "risk")
    theirs = add_job(every_app, project, "risk", by="other")
    until(lambda: bool(worker.running), worker)
    child, admin, user = worker.running[0].process, sign_in(every_app, "admin"), user_of(every_app, "custodian").id
    kept = admin.change_user(user, role="custodian", active="true")
    assert (kept.status_code, job_of(every_app, waiting.id).state) == (303, "queued")
    answer = admin.change_user(user, **change)
    assert answer.status_code == 303, answer.text
    ended = job_of(every_app, waiting.id)
    assert (ended.state, ended.message) == ("cancelled", queue.ORPHANED)
    late = add_job(every_app, project, "run")  # asked for at the same moment
    with every_app.state.store.writing() as db:
        claimed = [queue.claim(db, "w"), queue.claim(db, "w")]
    assert [(one.id, one.state) for one in claimed if one] == [(theirs.id, "running"), (late.id, "cancelled")]
    until(lambda: not worker.running, worker)
    assert (child.returncode is not None, job_of(every_app, running.id).state) == (True, "cancelled")
    assert list((every_app.state.settings.projects / project.id / "releases").iterdir()) == []
    with every_app.state.store.reading() as db:
        lines = [one.facts for one in db.scalars(select(LogEntry).where(LogEntry.event == "user changed"))]
    assert [one["jobs_cancelled"] for one in lines] == [2]  # the first changed nothing


def test_a_job_that_was_cancelled_on_its_last_step_leaves_nothing(app: FastAPI) -> None:
    project = add_project(app)
    job, worker = add_job(app, project, "run"), worker_of(app)
    until(lambda: bool(worker.running), worker)
    worker.running[0].process.wait(60)
    with app.state.store.writing() as db:
        queue.cancel(db, job.id)
    worker.step()
    assert job_of(app, job.id).state == "cancelled"
    assert list((app.state.settings.projects / project.id / "releases").iterdir()) == []


def test_a_job_whose_worker_was_killed_is_taken_up_again(every_app: FastAPI) -> None:
    """The first worker is never heard of again; what it left behind is cleared, and it can end nothing any more."""
    project = add_project(every_app)
    job = add_job(every_app, project, "run")
    lost = worker_of(every_app, lease=0.0)
    until(lambda: bool(lost.running), lost)
    first = lost.running[0]
    releases: Path = every_app.state.settings.projects / project.id / "releases"
    (releases / f"{job.id}-1.evidence").mkdir()
    work_off(every_app)
    done = job_of(every_app, job.id)
    assert (done.state, done.attempts) == ("done", 2)
    first.process.wait(60)
    lost._look_after(first)
    assert job_of(every_app, job.id).attempts == 2
    assert [path.name for path in releases.iterdir() if ".lock" not in path.name] == [f"{job.id}-2"]
    with every_app.state.store.reading() as db:
        assert db.get_one(Release, job.id).folder == f"releases/{job.id}-2"


def test_a_job_that_breaks_every_worker_is_given_up(every_app: FastAPI) -> None:
    job = add_job(every_app, add_project(every_app), "run")
    with every_app.state.store.writing() as db:
        db.execute(
            update(Job).values(state="running", worker="gone", attempts=queue.MOST_ATTEMPTS, lease_until=now(hours=-1))
        )
    work_off(every_app)
    assert (job_of(every_app, job.id).state, job_of(every_app, job.id).message) == ("failed", queue.BROKEN)


def test_a_job_is_claimed_by_one_worker_alone(every_app: FastAPI) -> None:
    project, store = add_project(every_app), every_app.state.store
    ids = {add_job(every_app, project, "risk").id for _ in range(2)}
    with store.writing() as db:
        one = queue.claim(db, "a")
    with store.writing() as db:
        other = queue.claim(db, "b")
        assert queue.claim(db, "c") is None
    assert one is not None
    assert other is not None
    assert {one.id, other.id} == ids
    one.worker = "b"
    with store.writing() as db:
        assert not queue.end(db, one, "done")
        assert queue.renew(db, one, "x") == "lost"


@pytest.mark.usefixtures("own_processes")
def test_a_worker_that_stops_gives_its_jobs_back(app: FastAPI) -> None:
    job, worker = add_job(app, add_project(app), "risk"), worker_of(app)
    until(lambda: bool(worker.running), worker)
    child = worker.running[0].process
    worker.give_back()
    assert child.returncode is not None
    assert (job_of(app, job.id).state, job_of(app, job.id).attempts) == ("queued", 0)


def test_sources_on_offer_are_read_where_they_are(tmp_path: Path) -> None:
    """A file and a folder of Parquet files; nothing of them is copied."""
    import polars as pl

    table = pl.read_csv(people().encode())
    parts = tmp_path / "parts"
    parts.mkdir()
    table[:30].write_parquet(parts / "a.parquet")
    table[30:].write_parquet(parts / "b.parquet")
    table.write_parquet(tmp_path / "one.parquet")
    offers = (Offer(name="parts", place=str(parts)), Offer(name="one", place=str(tmp_path / "one.parquet")))
    app = create_app(Settings(folder=tmp_path / "data", offers=offers))
    add_people(app)
    browser, client = sign_in(app, "custodian"), program(app, "custodian")
    for name in ("one", "parts"):
        project, job = project_of(app, browser.submit("/projects/new", name=name, offer=name))
        work_off(app)
        assert (job_of(app, job.id).state, job_of(app, job.id).message) == ("done", None)
        made = client.post(f"{API}/projects/{project.id}/jobs", json={"kind": "run"}).json()
        work_off(app)
        assert (job_of(app, made["id"]).state, job_of(app, made["id"]).message) == ("done", None)
    assert browser.submit("/projects/new", name="x", offer="/etc").status_code == 422
    assert not list((tmp_path / "data").rglob("*.parquet")) or all(
        path.is_symlink() for path in (tmp_path / "data").rglob("*.parquet")
    )
    app.state.store.close()


@pytest.mark.usefixtures("own_processes")
@pytest.mark.parametrize("kind", ["check", "risk", "compare"])
def test_every_kind_of_job_is_done(app: FastAPI, kind: str) -> None:
    job = add_job(app, add_project(app), kind)
    work_off(app)
    done = job_of(app, job.id)
    assert (done.state, done.message) == ("done", None)
    assert MARKED not in json.dumps(done.result)


@pytest.mark.parametrize(
    "entry",
    [
        '"hierarchies/illness.csv"', "{ widths = [5, 10] }", '{ groups = [{ a = ["flu"], b = ["gout", "cold"] }] }',
        '"hierarchies/circle.csv"', '"hierarchies/parents.csv"', '"hierarchies/paths.csv"',
    ],
)  # fmt: skip
def test_what_a_job_tells_of_values_names_none(app: FastAPI, entry: str) -> None:
    """Messages stand in the database, in backups and in answers to programs."""
    roles = RECIPE.replace('quasi = ["age", "sex", "zip"]', 'quasi = ["age", "illness"]')
    text = roles.replace('sensitive = ["illness"]', 'drop = ["sex", "zip"]') + f"\n[hierarchies]\nillness = {entry}\n"
    assert text.count("illness") >= 2
    project = add_project(app, text)
    trees = app.state.settings.projects / project.id / "hierarchies"
    (trees / "illness.csv").write_text("flu;*\ngout;*\ncold;*\n")
    (trees / "circle.csv").write_text(f"{MARKED};b;*\nb;{MARKED};*\n")
    (trees / "parents.csv").write_text(f"flu;a;{MARKED};*\ngout;a;c;*\n")
    (trees / "paths.csv").write_text(f"{MARKED};a;*\n{MARKED};b;*\n")
    jobs = [add_job(app, project, kind) for kind in ("run", "check")]
    work_off(app)
    told = [(job_of(app, one.id).message, job_of(app, one.id).result) for one in jobs]
    assert "'illness'" in str(told[0][0])
    assert "'illness'" in str(told[1])
    assert MARKED not in str(told).lower()
