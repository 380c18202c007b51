"""Files and the rows that tell of them change together, or not at all: where a transaction fails, and after a kill."""

from __future__ import annotations

import errno
import hashlib
import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from fastapi import FastAPI
from sqlalchemy import Connection, event
from sqlalchemy.orm import Session as Db

from shoal.io.atomic import locked
from shoal.web.errors import API
from shoal.web.jobs import queue
from shoal.web.pages.project_page import Bench
from shoal.web.projects import transaction
from shoal.web.projects.project import folder_of
from shoal.web.request import Here
from shoal.web.store.tables import File, Project
from tests.web.conftest import ADDRESS, TestClient, program, sign_in
from tests.web.killed import every_end
from tests.web.test_nothing_left import fail
from tests.web.working import Gate, add_job, add_project, people

OLD, NEW = people(60).encode(), people(80).encode()


@contextmanager
def uncommitted(app: FastAPI) -> Iterator[None]:
    """No transaction that writes comes to its end."""

    def refuse(_: object) -> None:
        raise RuntimeError("in the middle of the commit")

    event.listen(app.state.store.engine, "commit", refuse)
    try:
        yield
    finally:
        event.remove(app.state.store.engine, "commit", refuse)


def told(app: FastAPI, project: str, path: str) -> tuple[str | None, str | None]:
    """The hash of a file by its row, and that of what lies in its place."""
    place = folder_of(project, app.state.settings) / path
    with app.state.store.reading() as db:
        row = db.get(File, (project, path))
    lies = hashlib.sha256(place.read_bytes()).hexdigest() if place.exists() else None
    return None if row is None else row.sha256, lies


def left(app: FastAPI, project: str) -> list[str]:
    """What lies about: hidden files of the project, and files without a place."""
    folder = folder_of(project, app.state.settings)
    incoming = app.state.settings.folder / "incoming"
    hidden = [one.name for one in folder.rglob(".*") if one.name not in (".files.lock", ".beginnings")]
    return hidden + ([one.name for one in incoming.iterdir()] if incoming.exists() else [])


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def source(app: FastAPI) -> tuple[str, str, TestClient]:
    """A project with a source that was uploaded, where another one goes, and who sends it."""
    return add_source(app)


def add_source(app: FastAPI) -> tuple[str, str, TestClient]:
    """The same on any database."""
    project, client = add_project(app).id, program(app, "custodian")
    address = f"{API}/projects/{project}/files/source/people.csv"
    assert client.put(address, content=OLD).status_code == 201
    return project, address, client


@pytest.mark.parametrize("late", [False, True])
def test_a_source_whose_replacement_fails_is_the_old_one(
    app: FastAPI, source: tuple[str, str, TestClient], monkeypatch: pytest.MonkeyPatch, late: bool
) -> None:
    project, address, client = source
    with monkeypatch.context() as broken:
        if late:
            with uncommitted(app):
                assert client.put(address, content=NEW).status_code == 500
        else:
            broken.setattr(Here, "log", fail)
            assert client.put(address, content=NEW).status_code == 500
    assert told(app, project, "source/people.csv") == (sha(OLD), sha(OLD))
    assert left(app, project) == []
    assert client.put(address, content=NEW).status_code == 201
    assert told(app, project, "source/people.csv") == (sha(NEW), sha(NEW))
    assert left(app, project) == []


def test_a_disk_without_hard_links_does_too(
    app: FastAPI, source: tuple[str, str, TestClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    project, address, client = source
    monkeypatch.setattr(os, "link", refused)
    with uncommitted(app):
        assert client.put(address, content=NEW).status_code == 500
    assert told(app, project, "source/people.csv") == (sha(OLD), sha(OLD))
    assert client.put(address, content=NEW).status_code == 201
    assert told(app, project, "source/people.csv") == (sha(NEW), sha(NEW))
    assert left(app, project) == []


def test_a_source_without_a_row_comes_back_too(app: FastAPI) -> None:
    project, client = add_project(app).id, program(app, "custodian")
    place = folder_of(project, app.state.settings) / "source" / "people.csv"
    before = place.read_bytes()
    assert client.get(f"{API}/projects").status_code == 200  # the first use of a token is written down
    with uncommitted(app):
        assert client.put(f"{API}/projects/{project}/files/source/people.csv", content=NEW).status_code == 500
    assert (place.read_bytes(), left(app, project)) == (before, [])


def send(address: str, headers: dict[str, str], app: FastAPI) -> None:
    client = TestClient(app, base_url=ADDRESS, headers=headers)
    assert client.put(address, content=NEW).status_code == 201


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", ["people.csv", "more.csv"])
def test_wherever_an_upload_is_killed_the_next_start_finds_file_and_row_together(
    every_app: FastAPI, name: str
) -> None:
    """A source that takes the place of another, and one that is the first of its name."""
    project, address, client = add_source(every_app)
    path, act = f"source/{name}", partial(send, address.replace("people.csv", name), dict(client.headers))
    before = sha(OLD) if name == "people.csv" else None
    found = []
    for one in every_end(every_app, act):
        row, lies = told(one, project, path)
        assert row == lies
        assert left(one, project) == []
        found.append(row)
        with one.state.store.reading() as db:
            assert db.get_one(Project, project).source["bytes"] == len(NEW if row == sha(NEW) else OLD)
    assert (found[0], found[-1], set(found)) == (before, sha(NEW), {before, sha(NEW)})
    assert found == sorted(found, key=lambda one: one == sha(NEW))  # from the commit on it is the new one


def test_two_who_replace_a_source_at_once_undo_nothing_of_each_other(
    every_app: FastAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of them fails, and is about to put back what was there when the other comes."""
    project, clients = add_project(every_app).id, [program(every_app, "custodian") for _ in range(2)]
    address, third = f"{API}/projects/{project}/files/source/people.csv", people(70).encode()
    assert clients[0].put(address, content=OLD).status_code == 201
    failed, settled, gate = Event(), Event(), Gate(Gate.DWELL)
    log, settle = Here.log, transaction.settle

    def logged(here: Here, db: Db, what: str, **facts: object) -> None:
        if facts["sha256"] == sha(NEW):
            fail()
        log(here, db, what, **facts)
        gate.come()
        settled.wait(30)

    def late(db: Db, folder: Path) -> None:
        failed.set()
        gate.come()
        settle(db, folder)
        settled.set()

    monkeypatch.setattr(Here, "log", logged)
    monkeypatch.setattr(transaction, "settle", late)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(clients[0].put, address, content=NEW)
        assert failed.wait(30)
        second = clients[1].put(address, content=third)
    assert not gate.met
    assert (first.result().status_code, second.status_code) == (500, 201)
    assert told(every_app, project, "source/people.csv") == (sha(third), sha(third))
    assert left(every_app, project) == []


def test_who_changes_files_at_the_same_time_is_told_so_and_a_full_disk_too(
    app: FastAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, client = add_project(app), program(app, "custodian")
    address, folder = f"{API}/projects/{project.id}/files/source/people.csv", folder_of(project.id, app.state.settings)
    monkeypatch.setattr(transaction, "_PATIENCE", 0.0)
    with locked(folder / "files"):
        answer = client.put(address, content=NEW)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "conflict")
    assert str(folder) not in answer.text
    opened = os.open

    def full(path: Any, *given: Any, **named: Any) -> int:
        if str(path).endswith(".files.lock"):
            raise OSError(errno.ENOSPC, "No space left on device")
        return opened(path, *given, **named)

    with monkeypatch.context() as broken:
        broken.setattr(os, "open", full)
        assert client.put(address, content=NEW).status_code == 507
    assert left(app, project.id) == []
    assert client.put(address, content=NEW).status_code == 201


def test_a_hierarchy_that_a_page_made_goes_with_its_version(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    project, browser = add_project(app).id, sign_in(app, "custodian")
    kept, write = folder_of(project, app.state.settings) / "hierarchies", Bench._write

    def late(bench: Bench, db: object) -> None:
        write(bench, db)  # type: ignore[arg-type]
        fail()

    def send() -> int:
        form, file = {"base": "1", "do": "upload", "csrf": browser.token()}, {"file": ("sex.csv", b"f;*\nm;*\n")}
        address = f"/projects/{project}/hierarchies/sex"
        return browser.post(address, data=form, files=file, headers={"origin": ADDRESS}).status_code

    with monkeypatch.context() as broken:
        broken.setattr(Bench, "_write", late)
        assert send() == 500
    assert (list(kept.iterdir()), left(app, project)) == ([], [])
    assert send() == 303
    assert len(list(kept.iterdir())) == 1
    assert left(app, project) == []


def test_a_commit_that_nobody_was_told_of_keeps_its_files(app: FastAPI) -> None:
    """The connection breaks behind it: to whoever wrote, it looks like a failure."""
    client = program(app, "custodian")
    assert client.get(f"{API}/projects").json() == []

    def broken(connection: Connection) -> None:
        connection.exec_driver_sql("COMMIT")
        fail()

    event.listen(app.state.store.engine, "commit", broken)
    assert client.post(f"{API}/projects", json={"name": "p"}).status_code == 500
    event.remove(app.state.store.engine, "commit", broken)
    listed = client.get(f"{API}/projects").json()
    assert [(folder_of(one["id"], app.state.settings) / "source").is_dir() for one in listed] == [True]
    assert left(app, listed[0]["id"]) == []


def test_a_project_whose_job_begins_at_the_same_moment_stays(every_app: FastAPI) -> None:
    project, client = add_project(every_app), program(every_app, "custodian")
    add_job(every_app, project, "risk")
    assert client.get(f"{API}/projects").status_code == 200  # which takes longest the first time
    with ThreadPoolExecutor(1) as pool:
        with every_app.state.store.writing() as db:
            assert queue.claim(db, "worker") is not None
            answer = pool.submit(client.delete, f"{API}/projects/{project.id}")
            time.sleep(Gate.DWELL)
        assert answer.result().status_code == 409
    source = folder_of(project.id, every_app.state.settings) / "source" / "people.csv"
    assert (source.exists(), left(every_app, project.id)) == (True, [])
